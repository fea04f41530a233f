// Launch -> queue -> run by (API name, kernel name), and launch delays by API name. Queue times are those of nsys's
// cuda_kern_exec_sum: kernel start - call end, only when not negative. Bounded to kMaxKeys pairs. One thread, no I/O.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/model/batch.h"

namespace lockstep {

class LaunchTable {
 public:
  static constexpr size_t kMaxKeys = 512;

  void Add(const ActivityRecord& kernel) {
    if (kernel.launch_start_ns == kNoTime || kernel.api == kNoId) return;
    const int64_t queue = kernel.start_ns - kernel.launch_end_ns;
    if (queue >= 0 && (delays_.size() < kMaxKeys || delays_.contains(kernel.api))) delays_[kernel.api].Add(queue);
    const std::pair key{kernel.api, kernel.name};
    if (rows_.size() >= kMaxKeys && !rows_.contains(key)) return;
    LaunchRow& row = rows_[key];
    row.api = kernel.api;
    row.kernel = kernel.name;
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
