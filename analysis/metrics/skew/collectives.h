// One row per (communicator, operation, data type, bytes, library): what its instances cost and why.
//
// instances           found, joined or not; matched = with at least two members
// spread, wait, ...   over the usable instances (on one clock, confidence >= 0.99); wait has one value a member
// transfer            where it is defined: all-pairs operations with all members present
// bus bandwidth       f * S / transfer of the instances whose spread is at most a tenth of their transfer (early ranks
//                     have already sent in larger ones), f and S as in nccl-tests: all-reduce 2(n-1)/n, all-gather and
//                     reduce-scatter (n-1)/n of n times the bytes, all-to-all (n-1)/n, else 1
// transfer excess     median transfer over the baseline: the median of low-skew instances of all communicators with the
//                     same operation, type, bytes, library and number of members, at least 5 of them; less one
// apparent            the same over the time from the first start to the last end, with the waits
// skew share          W / (W + X), W = sum of waits, X = sum of members * transfer, over instances with a transfer; its
//                     95 % interval by block bootstrap over steps, or over instances where fewer than 5 steps are known
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/skew/block_bootstrap.h"
#include "analysis/metrics/skew/clock_free.h"
#include "analysis/metrics/skew/skew.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

enum class CollectiveVerdict : uint8_t { kTransfer = 0, kSkew = 1, kMixed = 2, kInconclusive = 3 };
[[nodiscard]] std::string_view Name(CollectiveVerdict verdict);  // "transfer" | "skew" | "mixed" | "inconclusive"

struct CollectiveRowResult {
  uint32_t communicator = 0;  // index into MatchResult::communicators
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  int64_t bytes = kUnknownBytes;
  CollectiveLibrary library = CollectiveLibrary::kNone;
  int64_t instances = 0;
  int64_t matched = 0;
  int64_t usable = 0;
  bool complete = false;              // there are matched instances, all with every member
  MatchKind kind = MatchKind::kNone;  // the weakest of the matched instances; else what the others are
  std::optional<double> confidence;   // mean over the matched instances; 0 if ambiguous, null if none could be matched
  int64_t wait_total_ns = 0;
  int64_t uncertainty_total_ns = 0;  // sum of the instances' U
  Sketch spread_ns;
  Sketch wait_ns;
  int64_t wait_uncertainty_ns = 0;  // half-width of the 95 % interval of wait_total_ns
  Sketch transfer_ns;
  Sketch end_spread_ns;
  Sketch bus_bandwidth;           // bytes per second
  Sketch apparent_bus_bandwidth;  // bytes per second
  std::optional<int64_t> transfer_baseline_ns;
  std::optional<double> transfer_excess;
  std::optional<ClockFreeWaits> clock_free;  // null where it is not valid
  std::optional<double> skew_share;
  std::optional<ShareInterval> skew_share_interval;
  CollectiveVerdict verdict = CollectiveVerdict::kInconclusive;
};

// Fed with the selected instances in the order of their match.
class CollectivesSum {
 public:
  CollectivesSum();
  ~CollectivesSum();
  CollectivesSum(const CollectivesSum& other);
  CollectivesSum& operator=(const CollectivesSum&) = delete;

  void Add(const MatchedInstance& instance);
  // Ordered by wait_total_ns, descending, then by communicator, op, dtype, bytes, library. The sum is used up.
  [[nodiscard]] std::vector<CollectiveRowResult> Finish(const std::vector<Communicator>& communicators);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

// Of a run that is one chapter.
[[nodiscard]] std::vector<CollectiveRowResult> ComputeCollectives(const MatchResult& match,
                                                                  const InstanceFilter& selected);

// f * S of an operation in bytes; null if it cannot be told.
[[nodiscard]] std::optional<double> BusBytes(CollectiveOp op, int64_t bytes, int32_t members);

}  // namespace lockstep
