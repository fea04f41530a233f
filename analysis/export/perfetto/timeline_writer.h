// Puts the events of a run, which come in order of time, into a file format: gives each its track, cuts collectives
// into wait and transfer, draws arrows to those who waited, and counts who waits. What it writes is in order of time,
// and the slices of each track lie one after the other or inside one another.
//
// Memory is that of the open slices and of the tracks, whatever the length of the run. One thread. Errors: those of the
// sink.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/perfetto/notes.h"
#include "analysis/export/perfetto/timeline.h"
#include "analysis/export/perfetto/timeline_format.h"
#include "analysis/export/perfetto/track_table.h"

namespace lockstep::perfetto {

struct TimelineWriterOptions {
  Detail detail = Detail::kFull;
  bool lateness = true;  // counters, a sample a collective of each member
  size_t write_bytes = size_t{256} << 10;
};

class TimelineWriter {
 public:
  using Sink = std::function<absl::Status(std::string_view)>;
  // Borrows the format.
  TimelineWriter(Timeline timeline, TimelineFormat& format, const TimelineWriterOptions& options, Sink sink);

  absl::Status Begin();
  // In order of their starts.
  absl::Status Add(const SliceEvent& event);
  absl::Status Add(const StepEvent& event);
  absl::Status Add(const CollectiveEvent& event);
  absl::Status Add(const SampleEvent& event);
  absl::Status End();

  [[nodiscard]] int64_t written_bytes() const { return written_ + static_cast<int64_t>(out_.size()); }
  [[nodiscard]] int64_t slices() const { return slices_; }
  [[nodiscard]] int64_t left_out() const { return left_out_; }

 private:
  enum class Action : uint8_t { kEnd = 0, kWaitOver = 1, kTransfer = 2 };
  // Something that comes later.
  struct Pending {
    int64_t time_ns = 0;
    Action action = Action::kEnd;
    uint64_t sequence = 0;
    uint32_t at = 0;  // lane; of kWaitOver the rank
    int64_t end_ns = 0;
    uint64_t flow = 0;
  };
  struct Later {
    bool operator()(const Pending& a, const Pending& b) const {
      if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
      if (a.action != b.action) return a.action > b.action;
      return a.sequence < b.sequence;  // what began last ends first
    }
  };

  [[nodiscard]] uint32_t LaneFor(uint32_t rank, TrackKind kind, int32_t stream, int64_t start_ns, int64_t end_ns);
  [[nodiscard]] uint32_t NameId(std::string text);
  [[nodiscard]] uint32_t WaitsFor(int32_t rank);
  void BeginOn(uint32_t lane, const Slice& slice);
  void AddWait(const CollectiveEvent& event, uint32_t lane);
  void CountWaiting(int64_t time_ns, int change);
  // Writes what comes before an event at this time.
  absl::Status Advance(int64_t time_ns);
  void Do(const Pending& pending);
  void TellWaiting(int64_t now_ns);
  void BeginAbout();
  absl::Status Flush(bool all);

  Timeline timeline_;
  TimelineFormat& format_;
  const TimelineWriterOptions options_;
  const Sink sink_;
  std::string out_;
  int64_t written_ = 0;
  int64_t slices_ = 0;
  int64_t left_out_ = 0;
  TrackTable tracks_;
  std::vector<uint32_t> waits_;  // collectives in which a rank waits now
  std::priority_queue<Pending, std::vector<Pending>, Later> pending_;
  uint64_t next_sequence_ = 0;
  std::map<int32_t, uint32_t> waits_for_;  // name by rank
  uint32_t transfer_name_ = 0;
  uint32_t waiting_track_ = 0;
  int64_t waiting_ = 0;
  int64_t told_waiting_ = -1;
  int64_t waiting_changed_ns_ = 0;
  bool waiting_is_new_ = false;
};

}  // namespace lockstep::perfetto
