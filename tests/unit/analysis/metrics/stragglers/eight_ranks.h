// Candidates for the tests of the straggler test. Not for the product.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "analysis/metrics/stragglers/candidates.h"

namespace lockstep {

// Eight ranks of one family with noise of 10 us; rank 5 is late by `late_ns` in `share` of the units.
inline std::vector<Candidate> EightRanks(uint64_t seed, size_t units, double share, double late_ns) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 10'000);
  std::bernoulli_distribution late(share);
  std::vector<Candidate> candidates(8);
  for (size_t rank = 0; rank < candidates.size(); ++rank) {
    candidates[rank].id = std::to_string(rank);
    candidates[rank].rank_indices = {static_cast<int32_t>(rank)};
    candidates[rank].floor_ns = 12'000;
    for (size_t unit = 0; unit < units; ++unit) {
      candidates[rank].Add(unit, noise(random) + (rank == 5 && late(random) ? late_ns : 0));
    }
  }
  return candidates;
}

}  // namespace lockstep
