// Ranges that both sides have, and which are therefore not renamed. Inside of this room; borrows the state.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_set>

#include "analysis/compare/kernels/match_state.h"

namespace lockstep::compare {

class RangesOfBoth {
 public:
  explicit RangesOfBoth(const MatchState& state);

  // Whether the ranges around two kernels are two that both sides have.
  [[nodiscard]] bool Differ(size_t b, size_t a) const;

 private:
  const MatchState& state_;
  std::unordered_set<std::string_view> ranges_;
};

}  // namespace lockstep::compare
