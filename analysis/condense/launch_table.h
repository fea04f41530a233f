// Launch -> queue -> run by (API name, kernel name), and launch delays by API name. Queue times are those of nsys's
// cuda_kern_exec_sum: kernel start - call end, only when not negative. Beyond kMaxKeys pairs new ones are merged into
// one rest, and counted. One thread, no I/O.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/model/batch.h"

namespace lockstep {

class LaunchTable {
 public:
  static constexpr size_t kMaxKeys = 512;

  void Add(const ActivityRecord& kernel, DropCounters& drops) {
    if (kernel.launch_start_ns == kNoTime || kernel.api == kNoId) return;
    const int64_t queue = kernel.start_ns - kernel.launch_end_ns;
    std::pair key{kernel.api, kernel.name};
    if (rows_.size() >= kMaxKeys && !rows_.contains(key)) {
      drops.Add(DropReason::kKeyLimit);
      key = {FileInterner::rest(), FileInterner::rest()};
    }
    if (queue >= 0) delays_[key.first].Add(queue);
    LaunchRow& row = rows_[key];
    row.api = key.first;
    row.kernel = key.second;
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
  std::map<std::pair<NameId, NameId>, LaunchRow> rows_;
  std::map<NameId, Sketch> delays_;
};

}  // namespace lockstep
