#include "analysis/condense/launch_table.h"

#include <algorithm>
#include <utility>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxTid = int64_t{1} << 53;  // whole in a double, as JSON readers keep numbers

}  // namespace

LaunchTable::Entry& LaunchTable::EntryOf(const ActivityRecord& kernel, DropCounters& drops) {
  const bool sane = kernel.tid >= 0 && kernel.tid <= kMaxTid;
  Key key{kernel.api, kernel.name, sane ? kernel.tid : LaunchRow().tid};
  auto& recent = recent_[(kernel.name * 31 + kernel.api * 7 + static_cast<uint64_t>(kernel.tid)) % kRecent];
  if (recent != nullptr && recent->first == key) return recent->second;
  const bool full = entries_.size() >= kMaxKeys && !entries_.contains(key);
  if (full) {
    drops.Add(DropReason::kKeyLimit);
    key = {FileInterner::rest(), FileInterner::rest(), LaunchRow().tid};
  }
  auto& found = *entries_.try_emplace(key).first;
  Entry& entry = found.second;
  std::tie(entry.row.api, entry.row.kernel, entry.row.tid) = key;
  entry.delay = &delays_[entry.row.api];
  if (!full) recent = &found;
  return entry;
}

void LaunchTable::Add(const ActivityRecord& kernel, DropCounters& drops) {
  if (kernel.launch_start_ns == kNoTime || kernel.api == kNoId) return;
  Entry& entry = EntryOf(kernel, drops);
  entry.api_time.Add(kernel.launch_end_ns - kernel.launch_start_ns);
  entry.kernel_time.Add(kernel.duration_ns);
  // Clocks of host and device differ a little: a kernel that "starts before its call" must not give a negative total.
  const int64_t last_end = std::max(kernel.launch_end_ns, kernel.end_ns());
  entry.total.Add(std::max<int64_t>(0, last_end - kernel.launch_start_ns));
  const int64_t queue = kernel.start_ns - kernel.launch_end_ns;
  if (queue < 0) return;
  ++entry.row.queue_count;
  entry.queue.Add(queue);
  entry.delay->Add(queue);
}

Sketch LaunchTable::DelayOf(NameId api) {
  const auto found = delays_.find(api);
  return found == delays_.end() ? Sketch() : found->second.Whole();
}

std::vector<LaunchRow> LaunchTable::TakeRows() {
  std::vector<LaunchRow> rows;
  for (auto& [key, entry] : entries_) {
    entry.row.total = QuantileSummary(entry.total.Whole());
    entry.row.api_time = QuantileSummary(entry.api_time.Whole());
    entry.row.queue = QuantileSummary(entry.queue.Whole());
    entry.row.kernel_time = QuantileSummary(entry.kernel_time.Whole());
    rows.push_back(std::move(entry.row));
  }
  entries_.clear();
  recent_ = {};
  return rows;
}

}  // namespace lockstep
