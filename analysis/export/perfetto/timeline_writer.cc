#include "analysis/export/perfetto/timeline_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep::perfetto {
namespace {

// Made up, since ranks of several hosts may have equal numbers of processes: no process has a rank's pid.
constexpr int32_t kRunPid = 1 << 30;
constexpr int64_t kFirstTid = int64_t{1} << 24;
// uuids: the root is 0, processes follow it, then tracks in order of first sight.
constexpr uint64_t kRunUuid = 1;

int32_t PidOf(int32_t rank) { return std::clamp(rank, 0, kRunPid - 2) + 1; }

// Annotations of one slice.
class Notes {
 public:
  void Number(Key key, int64_t value) { Add(key, Annotation::Type::kNumber, value); }
  void NumberIf(bool known, Key key, int64_t value) {
    if (known) Number(key, value);
  }
  void Flag(Key key, bool value) { Add(key, Annotation::Type::kBool, value ? 1 : 0); }
  void Text(Key key, uint32_t name) { Add(key, Annotation::Type::kName, name); }
  [[nodiscard]] std::span<const Annotation> All() const { return std::span(notes_).first(count_); }

 private:
  void Add(Key key, Annotation::Type type, int64_t value) { notes_[count_++] = {key, type, value}; }

  std::array<Annotation, kKeys> notes_;
  size_t count_ = 0;
};

Category CategoryOf(SliceKind kind) {
  switch (kind) {
    case SliceKind::kKernel:
    case SliceKind::kLongest:
      return Category::kKernel;
    case SliceKind::kCopy:
      return Category::kCopy;
    case SliceKind::kMemset:
      return Category::kMemset;
    case SliceKind::kGraph:
      return Category::kGraph;
    case SliceKind::kGap:
      return Category::kGap;
  }
  return Category::kKernel;
}

TrackKind TrackKindOf(SliceKind kind) {
  if (kind == SliceKind::kGap) return TrackKind::kGaps;
  return kind == SliceKind::kLongest ? TrackKind::kLongest : TrackKind::kStream;
}

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

Notes NotesOf(const CollectiveEvent& e, Detail detail) {
  Notes notes;
  notes.NumberIf(e.comparable, Key::kWait, e.wait_ns);
  notes.NumberIf(e.comparable, Key::kWaitUncertainty, e.wait_uncertainty_ns);
  notes.NumberIf(e.last_rank >= 0, Key::kLastRank, e.last_rank);
  if (e.last_rank >= 0) notes.Flag(Key::kLastCertain, e.last_certain);
  notes.NumberIf(e.transfer_ns >= 0, Key::kTransfer, e.transfer_ns);
  if (detail == Detail::kBrief) return notes;
  notes.NumberIf(e.last_rank >= 0, Key::kLastArrival, e.last_start_ns);
  notes.NumberIf(e.comparable, Key::kLateness, e.lateness_ns);
  notes.NumberIf(e.comparable, Key::kSpread, e.spread_ns);
  notes.NumberIf(e.uncertainty_ns >= 0, Key::kSpreadUncertainty, e.uncertainty_ns);
  notes.Text(Key::kGroup, e.group);
  notes.Number(Key::kMembers, e.members);
  notes.NumberIf(e.bytes != kUnknownBytes, Key::kBytes, e.bytes);
  notes.NumberIf(e.seq != kNoSeq, Key::kSequence, e.seq);
  notes.NumberIf(e.step != kNoStep, Key::kStep, e.step);
  notes.Text(Key::kKernel, e.kernel);
  return notes;
}

}  // namespace

TimelineWriter::TimelineWriter(Timeline timeline, TimelineFormat& format, const TimelineWriterOptions& options,
                               Sink sink)
    : timeline_(std::move(timeline)), format_(format), options_(options), sink_(std::move(sink)) {}

absl::Status TimelineWriter::Begin() {
  transfer_name_ = NameId("transfer");
  ranks_.resize(timeline_.ranks.size());
  format_.Begin(timeline_, out_);
  const ExportedRank run{.rank = -1, .name = fmt::format("run {}", timeline_.run)};
  const uint32_t of_run = NewTrack({.uuid = kRunUuid, .pid = kRunPid, .name = run.name});
  format_.AddProcess(lanes_[of_run].track, run, out_);
  for (const ExportedRank& rank : timeline_.ranks) {
    const auto place = static_cast<int32_t>(lanes_.size());
    const uint32_t at = NewTrack({.pid = PidOf(rank.rank), .place = place, .name = rank.name});
    format_.AddProcess(lanes_[at].track, rank, out_);
  }
  BeginAbout();
  waiting_track_ = NewTrack(
      {.parent = kRunUuid, .pid = kRunPid, .place = 1, .is_counter = true, .name = "ranks that wait", .unit = ""});
  format_.AddTrack(lanes_[waiting_track_].track, out_);
  return Flush(false);
}

// What is known of the file, as lines below each other.
void TimelineWriter::BeginAbout() {
  if (timeline_.about.empty()) return;
  const uint32_t at = NewTrack({.parent = kRunUuid, .pid = kRunPid, .place = 0, .name = "about this file"});
  format_.AddTrack(lanes_[at].track, out_);
  const size_t lines = std::min(timeline_.about.size(), kMostLanes);
  for (size_t i = 0; i < lines; ++i) {
    const auto& [key, value] = timeline_.about[i];
    BeginOn(at, {.duration_ns = timeline_.duration_ns,
                 .name = NameId(fmt::format("{}: {}", key, value)),
                 .category = Category::kAbout});
  }
}

uint32_t TimelineWriter::NewTrack(Track track) {
  const auto at = static_cast<uint32_t>(lanes_.size());
  track.uuid = kRunUuid + at;
  track.tid = kFirstTid + at;
  lanes_.push_back({std::move(track)});
  return at;
}

TimelineWriter::Stream& TimelineWriter::StreamOf(uint32_t rank, TrackKind kind, int32_t stream) {
  Rank& of = ranks_[rank];
  const auto fits = [&](const Stream& s) { return s.kind == kind && s.stream == stream; };
  if (of.last_stream < of.streams.size() && fits(of.streams[of.last_stream])) return of.streams[of.last_stream];
  const auto found = std::find_if(of.streams.begin(), of.streams.end(), fits);
  of.last_stream = static_cast<size_t>(found - of.streams.begin());
  if (found == of.streams.end()) of.streams.push_back({kind, stream, {}});
  return of.streams[of.last_stream];
}

// The first lane of a stream is a thread, the others lie below it.
uint32_t TimelineWriter::NewLane(uint32_t rank, const Stream& stream) {
  const bool first = stream.lanes.empty();
  const Track& process = lanes_[1 + rank].track;
  Track track{.parent = first ? process.uuid : lanes_[stream.lanes.front()].track.uuid,
              .pid = process.pid,
              .place = first ? PlaceOf(stream.kind, stream.stream) : static_cast<int32_t>(stream.lanes.size()),
              .kind = stream.kind,
              .is_thread = first && stream.kind == TrackKind::kStream,
              .name = TrackName(stream.kind, stream.stream)};
  const uint32_t at = NewTrack(std::move(track));
  format_.AddTrack(lanes_[at].track, out_);
  return at;
}

uint32_t TimelineWriter::LaneFor(uint32_t rank, TrackKind kind, int32_t stream, int64_t start_ns, int64_t end_ns) {
  Stream& of = StreamOf(rank, kind, stream);
  auto lane =
      std::find_if(of.lanes.begin(), of.lanes.end(), [&](uint32_t at) { return lanes_[at].busy_until_ns <= start_ns; });
  if (lane == of.lanes.end()) {
    if (of.lanes.size() >= kMostLanes) {
      ++left_out_;
      return kNoId;
    }
    lane = of.lanes.insert(of.lanes.end(), NewLane(rank, of));
  }
  lanes_[*lane].busy_until_ns = end_ns;
  return *lane;
}

// Lateness is a matter of all ranks: its counters lie together and have one scale.
uint32_t TimelineWriter::CounterOf(uint32_t rank, TrackKind kind) {
  Stream& of = StreamOf(rank, kind, -1);
  if (!of.lanes.empty()) return of.lanes.front();
  const bool late = kind == TrackKind::kLateness;
  if (late && lateness_group_ == kNoId) {
    lateness_group_ = NewTrack({.parent = kRunUuid, .pid = kRunPid, .place = 2, .kind = kind, .name = "lateness"});
    format_.AddTrack(lanes_[lateness_group_].track, out_);
  }
  const Track& process = lanes_[1 + rank].track;
  Track track{.parent = late ? lanes_[lateness_group_].track.uuid : process.uuid,
              .pid = late ? kRunPid : process.pid,
              .place = late ? static_cast<int32_t>(rank) : PlaceOf(kind, -1),
              .kind = kind,
              .is_counter = true,
              .name = late ? fmt::format("lateness of rank {}", timeline_.ranks[rank].rank) : TrackName(kind, -1),
              .unit = late ? "ns" : "%"};
  const uint32_t at = NewTrack(std::move(track));
  format_.AddTrack(lanes_[at].track, out_);
  of.lanes.push_back(at);
  return at;
}

uint32_t TimelineWriter::NameId(std::string text) {
  timeline_.names.push_back(std::move(text));
  return static_cast<uint32_t>(timeline_.names.size() - 1);
}

uint32_t TimelineWriter::WaitsFor(int32_t rank) {
  const auto found = waits_for_.find(rank);
  if (found != waits_for_.end()) return found->second;
  const uint32_t id = NameId(rank < 0 ? "waits" : fmt::format("waits for rank {}", rank));
  waits_for_.emplace(rank, id);
  return id;
}

void TimelineWriter::BeginOn(uint32_t lane, const Slice& slice) {
  format_.BeginSlice(lanes_[lane].track, slice, out_);
  pending_.push({.time_ns = slice.start_ns + slice.duration_ns, .sequence = next_sequence_++, .at = lane});
  ++slices_;
}

absl::Status TimelineWriter::Add(const SliceEvent& event) {
  LOCKSTEP_RETURN_IF_ERROR(Advance(event.start_ns));
  const uint32_t lane = LaneFor(event.rank, TrackKindOf(event.kind), event.kind < SliceKind::kGap ? event.stream : -1,
                                event.start_ns, event.start_ns + event.duration_ns);
  if (lane == kNoId) return absl::OkStatus();
  Notes notes;
  notes.NumberIf(event.step != kNoStep, Key::kStep, event.step);
  notes.NumberIf(event.bytes != kUnknownBytes, Key::kBytes, event.bytes);
  BeginOn(lane, {.start_ns = event.start_ns,
                 .duration_ns = event.duration_ns,
                 .name = event.name,
                 .category = CategoryOf(event.kind),
                 .annotations = notes.All()});
  return absl::OkStatus();
}

absl::Status TimelineWriter::Add(const StepEvent& event) {
  LOCKSTEP_RETURN_IF_ERROR(Advance(event.start_ns));
  const uint32_t lane = LaneFor(event.rank, TrackKind::kSteps, -1, event.start_ns, event.start_ns + event.duration_ns);
  if (lane == kNoId) return absl::OkStatus();
  Notes notes;
  notes.NumberIf(event.step != kNoStep, Key::kStep, event.step);
  notes.Number(Key::kCompute, event.compute_ns);
  notes.Number(Key::kCommunication, event.comm_ns);
  notes.Number(Key::kExposedCommunication, event.exposed_comm_ns);
  notes.Number(Key::kIdleHost, event.idle_host_ns);
  notes.Number(Key::kIdleLaunch, event.idle_launch_ns);
  notes.Number(Key::kIdleDependency, event.idle_dependency_ns);
  notes.Number(Key::kIdleOther, event.idle_other_ns);
  BeginOn(lane, {.start_ns = event.start_ns,
                 .duration_ns = event.duration_ns,
                 .name = event.name,
                 .category = Category::kStep,
                 .annotations = notes.All()});
  return absl::OkStatus();
}

absl::Status TimelineWriter::Add(const CollectiveEvent& event) {
  LOCKSTEP_RETURN_IF_ERROR(Advance(event.start_ns));
  const int64_t end_ns = event.start_ns + event.duration_ns;
  const uint32_t lane = LaneFor(event.rank, TrackKind::kStream, event.stream, event.start_ns, end_ns);
  if (lane == kNoId) return absl::OkStatus();
  const Notes notes = NotesOf(event, options_.detail);
  BeginOn(lane, {.start_ns = event.start_ns,
                 .duration_ns = event.duration_ns,
                 .name = event.name,
                 .category = Category::kCollective,
                 .annotations = notes.All(),
                 .correlation = event.instance,
                 .first_flow = event.first_flow,
                 .flows = event.flows});
  if (event.waits()) AddWait(event, lane);
  if (options_.lateness && event.comparable) {
    format_.AddSample(lanes_[CounterOf(event.rank, TrackKind::kLateness)].track, event.start_ns, event.lateness_ns,
                      out_);
  }
  return absl::OkStatus();
}

// The arrow ends where the transfer begins: a viewer draws none that goes back in time.
void TimelineWriter::AddWait(const CollectiveEvent& event, uint32_t lane) {
  const int64_t end_ns = event.start_ns + event.duration_ns;
  const int64_t until_ns = std::clamp(event.arrival_ns, event.start_ns, end_ns);
  BeginOn(lane, {.start_ns = event.start_ns,
                 .duration_ns = until_ns - event.start_ns,
                 .name = WaitsFor(event.awaited_rank),
                 .category = Category::kWait});
  if (until_ns < end_ns) {
    pending_.push({.time_ns = until_ns,
                   .action = Action::kTransfer,
                   .sequence = next_sequence_++,
                   .at = lane,
                   .end_ns = end_ns,
                   .flow = event.flow_to_here});
  }
  pending_.push({.time_ns = until_ns, .action = Action::kWaitOver, .sequence = next_sequence_++, .at = event.rank});
  if (ranks_[event.rank].waits++ == 0) CountWaiting(event.start_ns, 1);
}

void TimelineWriter::CountWaiting(int64_t time_ns, int change) {
  waiting_ += change;
  waiting_changed_ns_ = time_ns;
  waiting_is_new_ = true;
}

// Once a time at most, when no more can change at that time.
void TimelineWriter::TellWaiting(int64_t now_ns) {
  if (!waiting_is_new_ || now_ns <= waiting_changed_ns_) return;
  waiting_is_new_ = false;
  if (waiting_ == told_waiting_) return;
  told_waiting_ = waiting_;
  format_.AddSample(lanes_[waiting_track_].track, waiting_changed_ns_, waiting_, out_);
}

absl::Status TimelineWriter::Add(const SampleEvent& event) {
  LOCKSTEP_RETURN_IF_ERROR(Advance(event.start_ns));
  format_.AddSample(lanes_[CounterOf(event.rank, event.kind)].track, event.start_ns, event.value, out_);
  return absl::OkStatus();
}

void TimelineWriter::Do(const Pending& pending) {
  TellWaiting(pending.time_ns);
  switch (pending.action) {
    case Action::kEnd:
      format_.EndSlice(lanes_[pending.at].track, pending.time_ns, out_);
      return;
    case Action::kWaitOver:
      if (--ranks_[pending.at].waits == 0) CountWaiting(pending.time_ns, -1);
      return;
    case Action::kTransfer:
      BeginOn(pending.at, {.start_ns = pending.time_ns,
                           .duration_ns = pending.end_ns - pending.time_ns,
                           .name = transfer_name_,
                           .category = Category::kTransfer,
                           .flow_to_here = pending.flow});
      return;
  }
}

// Transfers that begin at this very time come after it: who they waited for begins then.
absl::Status TimelineWriter::Advance(int64_t time_ns) {
  while (!pending_.empty()) {
    const Pending next = pending_.top();
    if (next.time_ns > time_ns || (next.time_ns == time_ns && next.action == Action::kTransfer)) break;
    pending_.pop();
    Do(next);
  }
  TellWaiting(time_ns);
  return Flush(false);
}

absl::Status TimelineWriter::End() {
  while (!pending_.empty()) {
    const Pending next = pending_.top();
    pending_.pop();
    Do(next);
    LOCKSTEP_RETURN_IF_ERROR(Flush(false));
  }
  TellWaiting(INT64_MAX);
  format_.End(out_);
  return Flush(true);
}

absl::Status TimelineWriter::Flush(bool all) {
  if (out_.empty() || (!all && out_.size() < options_.write_bytes)) return absl::OkStatus();
  LOCKSTEP_RETURN_IF_ERROR(sink_(out_));
  written_ += static_cast<int64_t>(out_.size());
  out_.clear();
  return absl::OkStatus();
}

}  // namespace lockstep::perfetto
