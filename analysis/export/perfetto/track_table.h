// The tracks of a timeline: processes, streams with lanes for what overlaps, counters. A track is described to the
// format when it is first used. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "analysis/export/perfetto/timeline.h"
#include "analysis/export/perfetto/timeline_format.h"

namespace lockstep::perfetto {

// Tracks are places in the table.
class TrackTable {
 public:
  // Slices of one stream that overlap beyond this many have no lane: a viewer shows no more below each other.
  // TimelineWriter.LeavesOutWhatOverlapsBeyondTheLanes holds it.
  static constexpr size_t kMostLanes = 64;

  explicit TrackTable(TimelineFormat& format) : format_(format) {}

  // The run and its ranks, as processes.
  void Begin(const Timeline& timeline, std::string& out);
  // Of the process of the run.
  [[nodiscard]] uint32_t AddOfRun(Track track, std::string& out);
  // A lane that is free from start_ns on, and busy until end_ns from now on; kNoId: all lanes are busy.
  [[nodiscard]] uint32_t LaneFor(uint32_t rank, TrackKind kind, int32_t stream, int64_t start_ns, int64_t end_ns,
                                 std::string& out);
  [[nodiscard]] uint32_t CounterOf(uint32_t rank, TrackKind kind, std::string& out);
  [[nodiscard]] const Track& operator[](uint32_t at) const { return lanes_[at].track; }

 private:
  struct Lane {
    Track track;
    int64_t busy_until_ns = INT64_MIN;
  };
  // The lanes of a stream; places in lanes_.
  struct Stream {
    TrackKind kind = TrackKind::kStream;
    int32_t stream = -1;
    std::vector<uint32_t> lanes;
  };
  struct Rank {
    int32_t rank = 0;
    std::vector<Stream> streams;
    size_t last_stream = 0;  // asked for last
  };

  [[nodiscard]] Stream& StreamOf(uint32_t rank, TrackKind kind, int32_t stream);
  [[nodiscard]] uint32_t NewLane(uint32_t rank, const Stream& stream, std::string& out);
  [[nodiscard]] uint32_t NewTrack(Track track);

  TimelineFormat& format_;
  std::deque<Lane> lanes_;
  std::vector<Rank> ranks_;
  uint32_t lateness_group_ = kNoId;
};

}  // namespace lockstep::perfetto
