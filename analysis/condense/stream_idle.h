// Per stream: idle gaps by HolisticTraceAnalysis's categories, and whether a recorded wait precedes the next activity.
// host wait: the launch started after the previous end, or is not in the trace; kernel wait: else, and the gap is under
// 30 us; other: the rest.
// At most kMaxStreams streams are told apart. One thread, no I/O.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/model/row_values.h"
#include "analysis/model/source_summary.h"

namespace lockstep {

class StreamIdle {
 public:
  static constexpr size_t kMaxStreams = 4'096;
  static constexpr int64_t kKernelWaitNs = 30'000;

  void Sync(const ActivityRecord& record) {
    if (record.stream < 0) {
      ++device_waits_;  // context and event synchronisation hold for every stream
    } else if (Stream* stream = Find(record.stream)) {
      stream->waited = true;
    }
  }

  // Returns whether a recorded wait or synchronisation precedes this activity on its stream.
  bool Start(const ActivityRecord& activity) {
    Stream* stream = Find(activity.stream);
    if (stream == nullptr) return false;
    const bool waited = stream->waited || stream->seen_device_waits != device_waits_;
    stream->waited = false;
    stream->seen_device_waits = device_waits_;
    if (stream->last_end_ns != kNoTime && activity.start_ns > stream->last_end_ns) {
      AddGap(*stream, activity);
    }
    stream->last_end_ns = std::max(stream->last_end_ns, activity.end_ns());
    return waited;
  }

  [[nodiscard]] std::vector<StreamIdleRow> TakeRows() {
    std::vector<StreamIdleRow> rows;
    for (const auto& [id, stream] : streams_) {
      if (stream.last_end_ns != kNoTime) rows.push_back(stream.row);
    }
    streams_.clear();
    return rows;
  }

 private:
  struct Stream {
    StreamIdleRow row;
    int64_t last_end_ns = kNoTime;
    int64_t seen_device_waits = 0;
    bool waited = false;
  };

  Stream* Find(int32_t id) {
    const auto found = streams_.find(id);
    if (found != streams_.end()) return &found->second;
    if (streams_.size() >= kMaxStreams) return nullptr;
    Stream& stream = streams_[id];
    stream.row.stream = id;
    stream.seen_device_waits = device_waits_;
    return &stream;
  }

  static void AddGap(Stream& stream, const ActivityRecord& activity) {
    const int64_t gap = activity.start_ns - stream.last_end_ns;
    if (activity.launch_start_ns == kNoTime || activity.launch_start_ns > stream.last_end_ns) {
      stream.row.host_wait_ns += gap;
    } else if (gap < kKernelWaitNs) {
      stream.row.kernel_wait_ns += gap;
    } else {
      stream.row.other_ns += gap;
    }
  }

  std::map<int32_t, Stream> streams_;
  int64_t device_waits_ = 0;
};

}  // namespace lockstep
