#include "analysis/metrics/match/least_durations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace lockstep {
namespace {

constexpr int64_t kEnoughComplete = 8;  // among so many the shortest is about as short as it gets

using InstanceClass = std::pair<CollectiveOp, int64_t>;  // operation, bytes

struct Shortest {
  int64_t instances = 0;
  int64_t duration_ns = INT64_MAX;
};

InstanceClass ClassOf(const JoinedInstance& joined) { return {joined.instance.op, joined.instance.bytes}; }

}  // namespace

void FindLeastDurations(std::vector<JoinedInstance>& joined) {
  std::map<InstanceClass, Shortest> classes;
  for (const JoinedInstance& j : joined) {
    if (!j.instance.complete || j.instance.members.size() < 2) continue;
    Shortest& shortest = classes[ClassOf(j)];
    ++shortest.instances;
    shortest.duration_ns = std::min(shortest.duration_ns, j.instance.shortest_duration_ns);
  }
  for (JoinedInstance& j : joined) {
    if (!j.instance.lacking) continue;
    const auto at = classes.find(ClassOf(j));
    const bool known = at != classes.end() && at->second.instances >= kEnoughComplete;
    j.takes_at_least_ns = known ? std::max<int64_t>(0, at->second.duration_ns) : 0;
  }
}

}  // namespace lockstep
