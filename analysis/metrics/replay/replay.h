// What-if by replay: the run's arrival graph executed again with a part of it idealised.
//
// Every rank has a line of own work (work_line.h) that waits where it waited in the run; a collective starts where it
// started on that line, or right after another, and ends one measured transfer after its last arrival (each member with
// its measured end offset). Idealising a scope replaces its own time by the peers' mean for the same ordinal. A what-if
// is only told if the unchanged replay reproduces the run to 0.5 % and no kind of a rank's communication mostly lacks
// its partners. Its saving is per step; ranks that never wait for each other (replicas) form parties, and the run is as
// fast as the slowest of them. Source of the idea: ByteDance what-if analysis, arXiv 2505.05713. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/arrivals/lateness.h"

namespace lockstep {

// What is idealised: all of a set of ranks, one of their parts, or the transfers of communicators. Empty ranks and
// communicators: nothing (the unchanged replay).
struct Idealisation {
  std::vector<int32_t> rank_indices;
  std::optional<LatenessPart> part;     // only this part of their own time
  std::vector<uint32_t> communicators;  // their transfer becomes that of equal communicators (or the median)
  bool all_transfers_zero = false;      // for serialisation and transfer efficiency
  // Only nodes in [from, to) on the aligned axis, for transient causes.
  std::optional<std::pair<int64_t, int64_t>> time_ns;
};

struct ReplayBase {
  bool faithful = false;    // the unchanged replay lies within 0.5 % of the run
  int64_t measured_ns = 0;  // from the first start to the last end of the replayed part
  int64_t replayed_ns = 0;
  int64_t steps = 0;    // steps (or blocks) it spans
  int64_t step_ns = 0;  // mean measured length of a step
};

struct WhatIf {
  int64_t saving_ns_per_step = 0;    // may be negative
  double saving_ratio = 0;           // of the slowest party's step: of the ranks that wait for each other
  double deviation_ratio = 0;        // standard deviation of saving_ratio: steps of the peers are not alike
  double missed_ratio = 0;           // what it may save besides, where lost records or the clocks hide who waited
  int64_t bound_lo_ns_per_step = 0;  // sum of solo damage of the scope ... replay
  int64_t bound_hi_ns_per_step = 0;
};

class ReplayWorkspace;

// What the what-ifs of one replay, asked for one after the other, share: room of the run's size. Of one thread at a
// time, which an executor helps where many ranks are idealised.
class ReplayScratch {
 public:
  explicit ReplayScratch(Executor* executor = nullptr);  // borrowed
  ~ReplayScratch();
  ReplayScratch(const ReplayScratch&) = delete;
  ReplayScratch& operator=(const ReplayScratch&) = delete;

 private:
  friend class Replay;
  Executor* executor_;
  std::unique_ptr<ReplayWorkspace> room_;  // made by the first that asks
};

// Thread safe after building: const calls may run at once, each with its own scratch.
class Replay {
 public:
  // Borrows the graph and the match; they must outlive it. Built on the executor, rank by rank.
  Replay(const ArrivalGraph& graph, const MatchResult& match, Executor& executor);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  [[nodiscard]] const ReplayBase& base() const { return base_; }
  // Null when the base is not faithful, or nobody outside the scope does what is done in it.
  [[nodiscard]] std::optional<WhatIf> Saving(const Idealisation& ideal, ReplayScratch& scratch) const;
  // What ReplayBase::measured_ns would be with this idealised; null when the base is not faithful.
  [[nodiscard]] std::optional<int64_t> IdealNs(const Idealisation& ideal) const;

 private:
  struct Parts;
  // use(times of the idealised run, what was taken away) -> figure.
  template <typename Use>
  auto With(const Idealisation& ideal, ReplayScratch& scratch, const Use& use) const;

  std::unique_ptr<const Parts> parts_;
  ReplayBase base_;
};

// The replayed part's length with all transfers taking no time, for the POP factors: transfer efficiency = this /
// base().measured_ns, serialisation efficiency = longest compute of a rank in the same stretch / this. Null when the
// base is not faithful.
[[nodiscard]] std::optional<int64_t> ZeroTransferNs(const Replay& replay);

}  // namespace lockstep
