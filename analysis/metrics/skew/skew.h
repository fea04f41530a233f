// Who makes whom wait: totals per rank over the usable instances of a selection.
//
// wait_total(r)        sum of wait_r
// caused_wait_total(r) sum of the waits for r that can have been for nobody else
// unassigned_wait      the other waits; identity: sum caused + unassigned = sum wait_total
// lateness             s_r - mean of the members' starts, rounded half to even to whole ns, one value an instance
// uncertainty          of a sum of waits: the sum of their half-widths. Errors of clocks last, they do not average out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "analysis/metrics/match/caused_wait.h"
#include "analysis/metrics/match/match.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/signed_sketch.h"
#include "analysis/stats/sketch.h"
#include "analysis/stats/sketch_feed.h"

namespace lockstep {

struct RankSkew {
  SignedSketch lateness_ns;
  Sketch wait_ns;
  int64_t wait_total_ns = 0;
  int64_t wait_uncertainty_ns = 0;
  int64_t caused_wait_total_ns = 0;
  int64_t caused_uncertainty_ns = 0;
  int64_t last_arrivals = 0;      // certain instances with this rank last
  int64_t certain_instances = 0;  // certain instances it is a member of
  int64_t instances = 0;          // usable instances it is a member of
};

// The instances of one step, those of no step left out.
struct StepSkew {
  int64_t step = kNoStep;
  int64_t instances = 0;
  int64_t wait_total_ns = 0;
  int64_t wait_uncertainty_ns = 0;
  int32_t worst_rank_index = -1;  // that certainly caused most of the waiting; -1: nobody certainly did
  int64_t worst_caused_wait_ns = 0;
  Sketch spread_ns;
};

struct SkewTotals {
  std::vector<RankSkew> ranks;  // by rank index
  std::vector<StepSkew> steps;  // ascending
  int64_t unassigned_wait_ns = 0;
};

using InstanceFilter = std::function<bool(const MatchedInstance&)>;

// Fed with the selected instances, those that are not usable() left out by itself. Sums stop at the limits of int64.
class SkewSum {
 public:
  explicit SkewSum(size_t ranks);
  void Add(const MatchedInstance& instance);
  // The sum is used up.
  [[nodiscard]] SkewTotals Finish();

 private:
  struct StepWork {
    StepSkew skew;
    SketchFeed spread_ns;
    std::map<int32_t, int64_t> caused;  // rank index -> waiting that it certainly caused
  };
  struct RankFeeds {
    SketchFeed lateness_ns;
    SketchFeed wait_ns;
  };

  void AddToRanks(const MatchedInstance& instance);
  static void AddToStep(const MatchedInstance& instance, StepWork& work);

  SkewTotals totals_;
  std::vector<RankFeeds> feeds_;  // by rank index
  std::map<int64_t, StepWork> steps_;
};

// Of a run that is one chapter.
[[nodiscard]] SkewTotals ComputeSkew(const MatchResult& match, size_t ranks, const InstanceFilter& selected);

// (m * s_i - sum of s_j) / m, rounded half to even.
[[nodiscard]] int64_t LatenessNs(const MatchedInstance& instance, const MatchedMember& member);

}  // namespace lockstep
