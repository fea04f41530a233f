// Launch -> queue -> run by (API name, kernel name, launching thread), and launch delays by API name. Queue times are
// those of nsys's cuda_kern_exec_sum: kernel start - call end, only when not negative. Beyond kMaxKeys keys new ones
// are merged into one rest, and counted. One thread, no I/O.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/model/batch.h"

namespace lockstep {

class LaunchTable {
 public:
  static constexpr size_t kMaxKeys = 1'024;

  void Add(const ActivityRecord& kernel, DropCounters& drops) {
    if (kernel.launch_start_ns == kNoTime || kernel.api == kNoId) return;
    const int64_t queue = kernel.start_ns - kernel.launch_end_ns;
    const bool sane = kernel.tid >= 0 && kernel.tid <= kMaxTid;
    std::tuple key{kernel.api, kernel.name, sane ? kernel.tid : LaunchRow().tid};
    if (rows_.size() >= kMaxKeys && !rows_.contains(key)) {
      drops.Add(DropReason::kKeyLimit);
      key = {FileInterner::rest(), FileInterner::rest(), LaunchRow().tid};
    }
    LaunchRow& row = rows_[key];
    std::tie(row.api, row.kernel, row.tid) = key;
    if (queue >= 0) delays_[row.api].Add(queue);
    row.api_time.Add(kernel.launch_end_ns - kernel.launch_start_ns);
    row.kernel_time.Add(kernel.duration_ns);
    // Clocks of host and device differ a little: a kernel that "starts before its call" must not give a negative total.
    row.total.Add(std::max<int64_t>(0, std::max(kernel.launch_end_ns, kernel.end_ns()) - kernel.launch_start_ns));
    if (queue < 0) return;
    ++row.queue_count;
    row.queue.Add(queue);
  }

  [[nodiscard]] Sketch DelayOf(NameId api) const {
    const auto found = delays_.find(api);
    return found == delays_.end() ? Sketch() : found->second;
  }

  [[nodiscard]] std::vector<LaunchRow> TakeRows() {
    std::vector<LaunchRow> rows;
    for (auto& [key, row] : rows_) rows.push_back(std::move(row));
    rows_.clear();
    return rows;
  }

 private:
  static constexpr int64_t kMaxTid = int64_t{1} << 53;  // whole in a double, as JSON readers keep numbers

  std::map<std::tuple<NameId, NameId, int64_t>, LaunchRow> rows_;
  std::map<NameId, Sketch> delays_;
};

}  // namespace lockstep
