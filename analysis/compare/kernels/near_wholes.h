// Kernels near a kernel whose names say that it is a part of them, or they of it. Inside of this room; borrows the
// state and the order, and speaks of what was unmatched when it was first asked. Not thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/compare/kernels/match_state.h"
#include "analysis/compare/kernels/step_order.h"

namespace lockstep::compare {

// A kernel may have become a part of a fused one, or have been one. Then a kernel of its own with a similar name is
// easily another one.
class NearWholes {
 public:
  NearWholes(const MatchState& state, const StepOrder& order);

  // Whether an unmatched kernel of the other side, near it, names all of its operations and more.
  [[nodiscard]] bool MayBePartBefore(size_t b) const;
  [[nodiscard]] bool MayBePartAfter(size_t a) const;
  // Whether it names all operations of an unmatched kernel of the other side, near it, and more.
  [[nodiscard]] bool MayHoldBefore(size_t b) const;
  [[nodiscard]] bool MayHoldAfter(size_t a) const;

 private:
  struct Side {
    explicit Side(size_t size) : is_part(size), holds(size) {}
    std::vector<size_t> unmatched;
    std::vector<size_t> wholes;  // those whose name the other side does not have
    mutable std::vector<std::optional<bool>> is_part;
    mutable std::vector<std::optional<bool>> holds;
  };

  [[nodiscard]] bool Near(size_t b, size_t a) const;

  const MatchState& state_;
  const StepOrder& order_;
  Side before_;
  Side after_;
};

}  // namespace lockstep::compare
