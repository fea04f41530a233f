#include "analysis/metrics/skew/listed_instances.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/metrics/skew/skew.h"

namespace lockstep {

// Whether a is to be listed rather than b.
bool ListedInstances::Before(const Kept& a, const Kept& b) {
  return std::tuple(-a.wait_ns, a.number) < std::tuple(-b.wait_ns, b.number);
}

void ListedInstances::Add(const MatchedInstance& instance) {
  if (!instance.matched()) return;
  const int64_t wait = TotalWaitNs(instance);
  const int64_t number = count_++;
  if (limit_ >= 0 && static_cast<int64_t>(kept_.size()) >= limit_) {
    // A later one of equal waiting is not kept.
    if (limit_ == 0 || wait <= kept_.front().wait_ns) return;
    std::pop_heap(kept_.begin(), kept_.end(), Before);
    kept_.pop_back();
  }
  kept_.push_back({wait, number, instance});
  if (limit_ >= 0) std::push_heap(kept_.begin(), kept_.end(), Before);
}

std::vector<MatchedInstance> ListedInstances::Finish() {
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) {
    return std::tuple(a.instance.communicator, a.instance.index) <
           std::tuple(b.instance.communicator, b.instance.index);
  });
  std::vector<MatchedInstance> out;
  out.reserve(kept_.size());
  for (Kept& kept : kept_) out.push_back(std::move(kept.instance));
  return out;
}

}  // namespace lockstep
