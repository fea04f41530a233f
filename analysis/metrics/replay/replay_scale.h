// Own work brought to the level of the peers without losing its noise (see replay_ideal.h). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

struct ScaledResult {
  int32_t node = 0;
  int64_t length_ns = 0;
};

// One length that is compared with the peers' as it is: host times, gaps.
struct ComparedLength {
  int32_t node = 0;
  int32_t position = -1;
  int64_t own_ns = 0;
  double peers_ns = 0;
  double variance_ns2 = 0;  // between the peers
  double largest_ns = 0;    // among the peers
  int64_t peers = 1;
  int32_t stalled_rank = -1;  // of one more peer, which was far beyond these; -1: none
};

// What is beyond the peers' own noise is brought to their mean; the rest keeps its noise, less a constant surplus.
// Rare long ones as the peers have them too, and no more of them, stay. Where a single peer stalls, for more than the
// pauses of any host, that is none of its noise, nor does it make up for what is long here.
[[nodiscard]] std::vector<ScaledResult> LevelToPeers(const std::vector<ComparedLength>& lengths);

// One length that nobody else has at its place, as a stage of a pipeline that is there once.
struct LoneLength {
  int32_t node = 0;
  int32_t position = -1;
  int64_t own_ns = 0;
};

// What is far longer than usual at its place becomes what is usual there. Only these are returned.
[[nodiscard]] std::vector<ScaledResult> LevelToUsual(const std::vector<LoneLength>& lengths);

// Work that is far longer than it is at its place in most steps, more often than the peers' is, takes as long as theirs
// there. All else keeps its own noise and is scaled by what it usually takes longer. `step_deviation`: standard
// deviation of a step's work from the peers' by noise alone, relative.
//
// Peers of equal communicators are compared place by place only if most of the work has them and its lengths go with
// theirs from place to place: stages of a pipeline are at different places of their programs. Else, and where there are
// no peers, one factor holds for all: that of the work with peers, or elsewhere() if too little of it has any.
[[nodiscard]] std::vector<ScaledResult> ScaleToPeers(std::vector<ScaledWork> work, double step_deviation,
                                                     const std::function<double()>& elsewhere);

}  // namespace lockstep
