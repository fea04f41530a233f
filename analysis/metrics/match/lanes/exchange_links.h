// Which ranks exchange with each other in pairs, from the ends of their kernels alone.
//
// A lane of such kernels belongs to several partners: a stage of a pipeline meets the one before and the one after.
// The kernels of a pair end together; those of ranks that only run in lockstep with a partner end near them, but
// scatter more. A lane takes the partner whose ends scatter least, then among the rows that are left the next one.
// A partner counts if no other rank comes close over the same rows, and if it takes the lane for its own partner too.
// Ranks of one tensor group may send to those of another all at one moment: then the n-th of the one takes the n-th of
// the other. Whichever it is, the times are the same.
//
// Internal to the joining of instances.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/lanes/lane_shift.h"

namespace lockstep {

struct ExchangeLane {
  int32_t rank_index = 0;
  int32_t component = 0;          // lanes of different ones have no common axis
  std::vector<LaneEvent> events;  // on the common axis, in order of end
  // Of the rank in the group that keeps it in step with others.
  struct Place {
    int32_t group = -1;  // -1: none is known
    int32_t number = 0;
    size_t members = 0;
  };
  Place place;
};

struct ExchangeLink {
  size_t a = 0;  // lanes; a < b
  size_t b = 0;
  int64_t centre_ns = 0;     // how much later the ends of b lie
  int64_t deviation_ns = 0;  // median distance from there
};

// Ordered by (a, b).
[[nodiscard]] std::vector<ExchangeLink> FindExchangeLinks(const std::vector<ExchangeLane>& lanes);

// Share of a lane's rows, among those that end while all its partners run, that end with a row of a partner. Rows
// where a partner has lost a burst of records do not count.
[[nodiscard]] double LinkedShare(const std::vector<ExchangeLane>& lanes, const std::vector<ExchangeLink>& links,
                                 size_t lane);

// Whether nearly every row of the lanes has an instant with a row of each other lane at once: then they may all be of
// one exchange of uneven parts, in which those with equal parts end together as pairs do.
[[nodiscard]] bool MayBeOneExchange(const std::vector<ExchangeLane>& lanes);

// Whether the two of each link are of different groups: stages of a pipeline. Of lanes of one exchange, two that end
// together each time have equal parts, and are of one tensor group.
[[nodiscard]] bool LinkStages(const std::vector<ExchangeLane>& lanes, const std::vector<ExchangeLink>& links);

// Lanes connected by links, each set ascending; lanes without a link are in none.
[[nodiscard]] std::vector<std::vector<size_t>> ConnectedLanes(size_t lanes, const std::vector<ExchangeLink>& links);

}  // namespace lockstep
