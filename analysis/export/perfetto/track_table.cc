#include "analysis/export/perfetto/track_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::perfetto {
namespace {

// Made up, since ranks of several hosts may have equal numbers of processes: no process has a rank's pid.
constexpr int32_t kRunPid = 1 << 30;
constexpr int64_t kFirstTid = int64_t{1} << 24;
// uuids: the root is 0, processes follow it, then tracks in order of first sight.
constexpr uint64_t kRunUuid = 1;

int32_t PidOf(int32_t rank) { return std::clamp(rank, 0, kRunPid - 2) + 1; }

std::string TrackName(TrackKind kind, int32_t stream) {
  switch (kind) {
    case TrackKind::kSteps:
      return "steps";
    case TrackKind::kStream:
      return stream < 0 ? "stream not known" : fmt::format("stream {}", stream);
    case TrackKind::kGaps:
      return "device idle";
    case TrackKind::kLongest:
      return "longest kernels";
    case TrackKind::kLateness:
      return "lateness";
    case TrackKind::kIdle:
      return "idle";
  }
  return "";
}

// Steps, streams by number, the rest.
int32_t PlaceOf(TrackKind kind, int32_t stream) {
  constexpr int32_t kMostStreams = 1 << 20;
  if (kind == TrackKind::kSteps) return 0;
  if (kind == TrackKind::kStream) return 2 + std::clamp(stream, -1, kMostStreams);
  return kMostStreams + 3 + static_cast<int32_t>(kind);
}

}  // namespace

void TrackTable::Begin(const Timeline& timeline, std::string& out) {
  const ExportedRank run{.rank = -1, .name = fmt::format("run {}", timeline.run)};
  const uint32_t of_run = NewTrack({.uuid = kRunUuid, .pid = kRunPid, .name = run.name});
  format_.AddProcess(lanes_[of_run].track, run, out);
  for (const ExportedRank& rank : timeline.ranks) {
    const auto place = static_cast<int32_t>(lanes_.size());
    const uint32_t at = NewTrack({.pid = PidOf(rank.rank), .place = place, .name = rank.name});
    format_.AddProcess(lanes_[at].track, rank, out);
    ranks_.push_back({.rank = rank.rank, .streams = {}});
  }
}

uint32_t TrackTable::AddOfRun(Track track, std::string& out) {
  track.parent = kRunUuid;
  track.pid = kRunPid;
  const uint32_t at = NewTrack(std::move(track));
  format_.AddTrack(lanes_[at].track, out);
  return at;
}

uint32_t TrackTable::NewTrack(Track track) {
  const auto at = static_cast<uint32_t>(lanes_.size());
  track.uuid = kRunUuid + at;
  track.tid = kFirstTid + at;
  lanes_.push_back({std::move(track)});
  return at;
}

TrackTable::Stream& TrackTable::StreamOf(uint32_t rank, TrackKind kind, int32_t stream) {
  Rank& of = ranks_[rank];
  const auto fits = [&](const Stream& s) { return s.kind == kind && s.stream == stream; };
  if (of.last_stream < of.streams.size() && fits(of.streams[of.last_stream])) return of.streams[of.last_stream];
  const auto found = std::find_if(of.streams.begin(), of.streams.end(), fits);
  of.last_stream = static_cast<size_t>(found - of.streams.begin());
  if (found == of.streams.end()) of.streams.push_back({kind, stream, {}});
  return of.streams[of.last_stream];
}

// The first lane of a stream is a thread, the others lie below it.
uint32_t TrackTable::NewLane(uint32_t rank, const Stream& stream, std::string& out) {
  const bool first = stream.lanes.empty();
  const Track& process = lanes_[1 + rank].track;
  Track track{.parent = first ? process.uuid : lanes_[stream.lanes.front()].track.uuid,
              .pid = process.pid,
              .place = first ? PlaceOf(stream.kind, stream.stream) : static_cast<int32_t>(stream.lanes.size()),
              .kind = stream.kind,
              .is_thread = first && stream.kind == TrackKind::kStream,
              .name = TrackName(stream.kind, stream.stream)};
  const uint32_t at = NewTrack(std::move(track));
  format_.AddTrack(lanes_[at].track, out);
  return at;
}

uint32_t TrackTable::LaneFor(uint32_t rank, TrackKind kind, int32_t stream, int64_t start_ns, int64_t end_ns,
                             std::string& out) {
  Stream& of = StreamOf(rank, kind, stream);
  auto lane =
      std::find_if(of.lanes.begin(), of.lanes.end(), [&](uint32_t at) { return lanes_[at].busy_until_ns <= start_ns; });
  if (lane == of.lanes.end()) {
    if (of.lanes.size() >= kMostLanes) return kNoId;
    lane = of.lanes.insert(of.lanes.end(), NewLane(rank, of, out));
  }
  lanes_[*lane].busy_until_ns = end_ns;
  return *lane;
}

// Lateness is a matter of all ranks: its counters lie together and have one scale.
uint32_t TrackTable::CounterOf(uint32_t rank, TrackKind kind, std::string& out) {
  Stream& of = StreamOf(rank, kind, -1);
  if (!of.lanes.empty()) return of.lanes.front();
  const bool late = kind == TrackKind::kLateness;
  if (late && lateness_group_ == kNoId) {
    lateness_group_ = AddOfRun({.place = 2, .kind = kind, .name = "lateness"}, out);
  }
  const Track& process = lanes_[1 + rank].track;
  Track track{.parent = late ? lanes_[lateness_group_].track.uuid : process.uuid,
              .pid = late ? kRunPid : process.pid,
              .place = late ? static_cast<int32_t>(rank) : PlaceOf(kind, -1),
              .kind = kind,
              .is_counter = true,
              .name = late ? fmt::format("lateness of rank {}", ranks_[rank].rank) : TrackName(kind, -1),
              .unit = late ? "ns" : "%"};
  const uint32_t at = NewTrack(std::move(track));
  format_.AddTrack(lanes_[at].track, out);
  of.lanes.push_back(at);
  return at;
}

}  // namespace lockstep::perfetto
