// How much every rank sends to every other one in an uneven all-to-all: tokens to the ranks of their experts, and the
// way back. Pure.
//
// Shares vary between 0.4 and 1.6 of an even one, and one pair in twelve exchanges nothing. What a rank sends grows
// with its WorkFactor, what its experts receive with its ExpertFactor (CauseEffects).
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/engine/op_draws.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

class Exchange {
 public:
  // `effects`: nullptr = no cause.
  Exchange(const RankGroup& group, const Op& op, int64_t step, const CauseEffects* effects, const CounterRng& rng);

  // Bytes from one position of the group to another.
  [[nodiscard]] int64_t Pair(size_t from, size_t to) const { return returns_ ? Tokens(to, from) : Tokens(from, to); }
  // All that this position sends, to itself too: the message size that traces tell.
  [[nodiscard]] int64_t Sent(size_t position) const;

 private:
  [[nodiscard]] int64_t Tokens(size_t owner, size_t expert) const;
  struct Side {
    OpDraws draws;
    double work;
    double experts;
  };
  std::vector<Side> sides_;
  double even_bytes_;
  bool returns_;
};

}  // namespace lockstep
