#include "agent/pipeline/range_projection.h"

#include <algorithm>

namespace lockstep {

int32_t RangeProjection::Open(uint32_t process, NameId domain, NameId name, int32_t parent) {
  if (instances_.size() >= kMaxInstances) return -1;
  Instance instance;
  instance.process = process;
  instance.domain = domain;
  instance.name = name;
  instance.parent = parent;
  instances_.push_back(instance);
  return static_cast<int32_t>(instances_.size() - 1);
}

void RangeProjection::Extend(int32_t range, int64_t start_ns, int64_t end_ns) {
  if (range < 0) return;
  Instance& instance = instances_[static_cast<size_t>(range)];
  instance.start_ns = std::min(instance.start_ns, start_ns);
  instance.end_ns = std::max(instance.end_ns, end_ns);
}

void RangeProjection::Finish(std::vector<HostTotals>& totals) {
  // What is inside was opened later than what is around it.
  for (size_t i = instances_.size(); i-- > 0;) {
    const Instance instance = instances_[i];
    if (instance.start_ns > instance.end_ns) continue;
    Extend(instance.parent, instance.start_ns, instance.end_ns);
    totals[instance.process].AddProjected({instance.domain, instance.name, false}, instance.end_ns - instance.start_ns);
  }
  instances_.clear();
}

}  // namespace lockstep
