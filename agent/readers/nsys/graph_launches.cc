#include "agent/readers/nsys/graph_launches.h"

#include <algorithm>

namespace lockstep::nsys {
namespace {

constexpr size_t kMaxLaunches = 1'000'000;
constexpr size_t kMaxThreads = 65'536;

uint64_t KeyOf(uint32_t process, uint64_t low) { return (uint64_t{process} << 32) | (low & 0xFFFFFFFF); }

}  // namespace

void GraphLaunches::Add(uint32_t process, uint64_t correlation) {
  if (launches_.size() < kMaxLaunches) {
    launches_.push_back(KeyOf(process, correlation));
  } else {
    ++unjudged_;
  }
}

void GraphLaunches::AddRuntime(uint32_t process, int64_t tid, uint64_t correlation, int64_t start_ns, int64_t end_ns) {
  Add(process, correlation);
  const uint64_t thread = KeyOf(process, static_cast<uint64_t>(tid));
  if (last_runtime_.size() < kMaxThreads || last_runtime_.contains(thread)) last_runtime_[thread] = {start_ns, end_ns};
}

void GraphLaunches::AddDriver(uint32_t process, int64_t tid, uint64_t correlation, int64_t start_ns, int64_t end_ns) {
  const auto outer = last_runtime_.find(KeyOf(process, static_cast<uint64_t>(tid)));
  const bool nested =
      outer != last_runtime_.end() && outer->second.start_ns <= start_ns && end_ns <= outer->second.end_ns;
  if (!nested) Add(process, correlation);
}

void GraphLaunches::Seal() {
  std::ranges::sort(launches_);
  launches_.erase(std::unique(launches_.begin(), launches_.end()), launches_.end());
  seen_.assign(launches_.size(), false);
  last_runtime_.clear();
}

void GraphLaunches::SawNode(uint32_t process, uint64_t correlation) {
  if (launches_.empty()) return;
  const uint64_t key = KeyOf(process, correlation);
  const auto found = std::ranges::lower_bound(launches_, key);
  if (found != launches_.end() && *found == key) seen_[static_cast<size_t>(found - launches_.begin())] = true;
}

int64_t GraphLaunches::Opaque() const { return std::ranges::count(seen_, false); }

}  // namespace lockstep::nsys
