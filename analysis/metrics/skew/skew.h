// Who makes whom wait: totals per rank over the usable instances of a selection.
//
// wait_total(r)        sum of wait_r
// caused_wait_total(r) sum over instances with last_certain and last = r of all members' waits
// unassigned_wait      the waits of the other instances; identity: sum caused + unassigned = sum wait_total
// lateness             s_r - mean of the members' starts, rounded half to even to whole ns, one value an instance
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/metrics/match.h"
#include "analysis/stats/signed_sketch.h"

namespace lockstep {

struct RankSkew {
  SignedSketch lateness_ns;
  int64_t wait_total_ns = 0;
  int64_t caused_wait_total_ns = 0;
  int64_t last_arrivals = 0;      // certain instances with this rank last
  int64_t certain_instances = 0;  // certain instances it is a member of
  int64_t instances = 0;          // usable instances it is a member of
};

struct SkewTotals {
  std::vector<RankSkew> ranks;  // by rank index
  int64_t unassigned_wait_ns = 0;
};

using InstanceFilter = std::function<bool(const MatchedInstance&)>;

// Instances that are not usable() are left out. Sums stop at the limits of int64.
[[nodiscard]] SkewTotals ComputeSkew(const MatchResult& match, size_t ranks, const InstanceFilter& selected);

// (m * s_i - sum of s_j) / m, rounded half to even.
[[nodiscard]] int64_t LatenessNs(const MatchedInstance& instance, const MatchedMember& member);

// Sum of the waits of all members.
[[nodiscard]] int64_t TotalWaitNs(const MatchedInstance& instance);

}  // namespace lockstep
