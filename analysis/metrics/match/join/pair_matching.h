// The likeliest pairing of rows that may each belong to one of several others. Internal to the joining of instances.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

// A possible pair. Its cost is the negative logarithm of how likely its ends lie as they do, up to a constant.
struct PossiblePair {
  size_t x = 0;  // rows, numbered through
  size_t y = 0;
  double cost = 0;
};

struct ChosenPair {
  size_t pair = 0;        // index into the possible ones
  double confidence = 0;  // 1 - exp(-(cost of the best pairing without this pair - cost of the best one))
};

// Cost of a row that stays alone: its partner would have to be lost.
inline constexpr double kAloneCost = 8;

// The pairing of least total cost, every row in at most one pair; ascending. Rows that hang together through more than
// a few possible pairs are paired in order of cost, then with less confidence.
[[nodiscard]] std::vector<ChosenPair> MatchPairs(size_t rows, const std::vector<PossiblePair>& possible);

}  // namespace lockstep
