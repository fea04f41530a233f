// Who made the others wait, through however many communicators: blame carried forward to its origin.
//
// Instances are taken in order of their last arrival, as far as they can have to do with each other. The last arriver's
// positive parts are scaled to 1; what it did itself (compute, copies, host, launch, ...) is its own; what it spent
// waiting in another collective is passed on to that collective's blame; carry-in to the previous instance's. Each
// instance's waits are then charged to these origins in proportion, once in GPU time lost (sum of waits) and once on
// the critical path (solo damage). Delay analysis, Boehme et al., TOPC 2016, done forward in one pass. Sums are exact
// integers by largest remainder. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/arrivals/lateness.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/skew/lateness_map.h"

namespace lockstep {

// What kind of trouble the origin has.
enum class CauseKind : uint8_t {
  kUnknown = 0,
  kSlowDevice = 1,  // all its kernels are slower than the peers' at equal counts and shapes
  kSlowKernel = 2,  // one kernel is
  kMoreWork = 3,    // counts or grids differ
  kHostDelay = 4,   // its host launches late, often and a little
  kHostPause = 5,   // its host stops for long, seldom (garbage collection, checkpoint, data stall)
  kCopies = 6,      // copies take longer, or contend
  kTransfer = 7,    // a communicator's transfer (link, rail) is slow; `link` names it
  kDependency = 8,
};
[[nodiscard]] std::string_view Name(CauseKind kind);  // "" | "slow_device" | "slow_kernel" | "more_work" | ...

struct BlameShare {
  int32_t rank_index = -1;    // origin; -1: a communicator's transfer, or what was never told ("rest")
  int32_t communicator = -1;  // index into MatchResult::communicators when the origin is its transfer
  LatenessPart part = LatenessPart::kRest;
  int64_t wait_ns = 0;      // GPU time that others lost to it
  int64_t critical_ns = 0;  // the same on the critical path
};

struct BlameResult {
  std::vector<BlameShare> shares;  // by wait_ns, descending, then rank index, communicator, part
  int64_t total_wait_ns = 0;       // = sum of the shares' wait_ns + unassigned_ns
  int64_t unassigned_ns = 0;       // waits of instances that are not resolvable or not decomposed
};

// Blame over the chapters of a run, those of a rank in order of time. What was passed on before a chapter's first rows
// is not known to it: that blame ends as never told.
class BlameSums {
 public:
  BlameSums();
  // Also keeps what is blamed on each rank by column of this axis.
  explicit BlameSums(const MapAxis& axis);
  ~BlameSums();
  BlameSums(const BlameSums& other);
  BlameSums& operator=(const BlameSums&) = delete;

  // `graph`: of the chapter.
  void Add(const Chapter& chapter, const ArrivalGraph& graph);
  [[nodiscard]] BlameResult Finish() const;
  // Null without an axis.
  [[nodiscard]] CausedWaitGrid* grid();

 private:
  struct Sums;
  std::unique_ptr<Sums> sums_;
};

// Of a run that is one chapter.
[[nodiscard]] BlameResult PropagateBlame(const ArrivalGraph& graph, const MatchResult& match);

// What is blamed on one rank, all parts together.
struct RankBlame {
  int32_t rank_index = -1;
  LatenessPart main_part = LatenessPart::kRest;  // the part with the largest wait
  int64_t wait_ns = 0;
  int64_t critical_ns = 0;
};
// By wait_ns, descending, then rank index. Blame of communicators and what was never told is left out.
[[nodiscard]] std::vector<RankBlame> BlameByRank(const BlameResult& blame);

struct BlameSum {
  int64_t wait_ns = 0;
  int64_t critical_ns = 0;
};
// What is blamed on the own doing of ranks (ascending), or, where communicators are given, on their transfers.
[[nodiscard]] BlameSum BlameOn(const BlameResult& blame, const std::vector<int32_t>& rank_indices,
                               const std::vector<uint32_t>& communicators);

// The kind of an origin's compute, from the kernels of its source against those of its peers; `kernel` is set for
// kSlowKernel and, where one stands out, kMoreWork. Unknown where the kernels explain little of the lateness.
struct OriginCause {
  CauseKind kind = CauseKind::kUnknown;
  std::string kernel;
  double excess_ratio = 0;  // how much slower, or more
};
// `of_compute`: how late that part makes it, as a share of its compute time; 0 = not known.
[[nodiscard]] OriginCause ExplainOrigin(const RunData& run, const RankResolution& ranks, const ArrivalGraph& graph,
                                        int32_t rank_index, LatenessPart part, double of_compute = 0);

}  // namespace lockstep
