// For whom ranks wait, so that a rank that waits long is not mistaken for the cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "analysis/metrics/kernels/tails.h"
#include "analysis/metrics/summary/summary.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// The rank that certainly caused at least half of all waiting in what was asked for. Borrows the input.
class MostAwaited {
 public:
  MostAwaited(const ViewInput& input, const LateArrivalsSum& late);
  // Nobody, where that rank belongs to none of the culprits.
  MostAwaited(const ViewInput& input, const LateArrivalsSum& late, const std::vector<Culprit>& named);

  // Its long instances mostly wait for a later rank.
  [[nodiscard]] static bool Waits(const TailRow& tail);

  // That rank, where the member is another member of one of its groups.
  [[nodiscard]] std::optional<int32_t> By(size_t member) const;
  // The same for the member that loses most to a tail, where the tail is mostly waiting.
  [[nodiscard]] std::optional<int32_t> By(const TailRow& tail) const;

 private:
  const ViewInput& input_;
  std::optional<int32_t> rank_;
};

}  // namespace lockstep
