// What every member of an instance did since the last instance that all of them shared.
//
// Usually that is the previous instance of the communicator and the chain is one segment. A send between two stages of
// a pipeline, or an instance that some rank lost, reaches further back: the segments between are put together, and the
// member's own instances between become tiles. Tiles are split at the arrival their member waited for in them. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/arrivals/lateness.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

// Time in another collective: `row` of the same rank.
struct TilePart {
  int64_t row = 0;
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;
};

// begin_ns + sum of parts = start of the member, exactly; parts[kCarryIn] is 0.
struct MemberChain {
  bool told = false;      // false: it has no segment, or lacks the shared instance
  int64_t previous = -1;  // its row of the shared instance
  int64_t begin_ns = 0;   // aligned: its end of that
  std::array<int64_t, kLatenessParts> parts{};
  std::vector<TilePart> tiles;  // in order of time, one per row
};

struct MemberChains {
  int64_t previous_instance = -1;    // into MatchResult::instances
  std::vector<MemberChain> members;  // parallel to MatchedInstance::members
  size_t told = 0;
};

// Reuses what `out` holds.
void FillMemberChains(const ArrivalGraph& graph, const MatchResult& match, uint32_t instance, MemberChains& out);

// A told majority of at least two.
[[nodiscard]] bool CanDecompose(const MemberChains& chains);

// The decomposition out of the chains. Members that are not told stand for the mean of the others; what they differ
// from it is their rest. Needs CanDecompose. Borrows both.
class Decomposition {
 public:
  Decomposition(const MatchedInstance& instance, const MemberChains& chains);
  [[nodiscard]] MemberLateness Of(size_t member) const;

 private:
  [[nodiscard]] std::array<int64_t, kLatenessParts> TermsOf(size_t member) const;

  const MatchedInstance& instance_;
  const MemberChains& chains_;
  MemberChain mean_;
  std::array<int128, kLatenessParts> sums_{};
};

}  // namespace lockstep
