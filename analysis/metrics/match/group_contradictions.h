// Ranks that contradict the others about a group: what they say keeps them out of its instances, so it must be told.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct GroupContradiction {
  std::string group;         // its name; "" where only a hash is known
  int32_t rank = 0;          // global; the one that stands alone with what it says, or with fewer than the others
  int32_t said_size = 0;     // members as it says
  int32_t others_size = 0;   // as most of those say that count it as a member
  int64_t others = 0;        // how many of them say so
  bool equal_votes = false;  // nobody has a majority: it is not known who is right
};

// One name (or hash) with unequal members (or sizes) on ranks that count each other as members. By group, then rank.
[[nodiscard]] std::vector<GroupContradiction> FindGroupContradictions(const RunData& run, const RankResolution& ranks);

}  // namespace lockstep
