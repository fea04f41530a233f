// Own work brought to the level of the peers without losing its noise (see replay_ideal.h). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay_usual.h"

namespace lockstep {

// Own time of one part before one instance.
struct ScaledWork {
  int32_t node = 0;
  int32_t position = -1;
  int64_t step = 0;
  int64_t own_ns = 0;
  std::optional<double> peers_ns;  // mean of the peers at the same place; nothing: no peers there
  double largest_ns = 0;           // of a peer
  int64_t peers = 0;               // that the mean is of
  int32_t stalled_rank = -1;       // of the peer that is far beyond the others, and not in the mean; -1: none
  bool elsewhere = false;          // those peers are in equal communicators only
};

// Work that is far longer than it is at its place in most steps, more often than the peers' is, takes as long as theirs
// there. All else keeps its own noise and is scaled by what it usually takes longer. Who is faster than the peers on
// the whole stays so. `step_deviation`: standard deviation of a step's work from the peers' by noise alone, relative.
//
// Peers of equal communicators are compared place by place only if most of the work has them and its lengths go with
// theirs from place to place: stages of a pipeline are at different places of their programs. Else, and where there are
// no peers, one factor holds for all: that of the work with peers, or elsewhere() if too little of it has any.
[[nodiscard]] std::vector<ScaledResult> ScaleToPeers(std::vector<ScaledWork> work, double step_deviation,
                                                     const std::function<double()>& elsewhere);

}  // namespace lockstep
