#include "analysis/export/perfetto/timeline_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep::perfetto {
namespace {

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

}  // namespace

TimelineWriter::TimelineWriter(Timeline timeline, TimelineFormat& format, const TimelineWriterOptions& options,
                               Sink sink)
    : timeline_(std::move(timeline)), format_(format), options_(options), sink_(std::move(sink)), tracks_(format) {}

absl::Status TimelineWriter::Begin() {
  transfer_name_ = NameId("transfer");
  waits_.resize(timeline_.ranks.size(), 0);
  format_.Begin(timeline_, out_);
  tracks_.Begin(timeline_, out_);
  BeginAbout();
  waiting_track_ = tracks_.AddOfRun({.place = 1, .is_counter = true, .name = "ranks that wait", .unit = ""}, out_);
  return Flush(false);
}

// What is known of the file, as lines below each other.
void TimelineWriter::BeginAbout() {
  if (timeline_.about.empty()) return;
  const uint32_t at = tracks_.AddOfRun({.place = 0, .name = "about this file"}, out_);
  const size_t lines = std::min(timeline_.about.size(), TrackTable::kMostLanes);
  for (size_t i = 0; i < lines; ++i) {
    const auto& [key, value] = timeline_.about[i];
    BeginOn(at, {.duration_ns = timeline_.duration_ns,
                 .name = NameId(fmt::format("{}: {}", key, value)),
                 .category = Category::kAbout});
  }
}

uint32_t TimelineWriter::LaneFor(uint32_t rank, TrackKind kind, int32_t stream, int64_t start_ns, int64_t end_ns) {
  const uint32_t lane = tracks_.LaneFor(rank, kind, stream, start_ns, end_ns, out_);
  if (lane == kNoId) ++left_out_;
  return lane;
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
  format_.BeginSlice(tracks_[lane], slice, out_);
  pending_.push({.time_ns = slice.start_ns + slice.duration_ns, .sequence = next_sequence_++, .at = lane});
  ++slices_;
}

absl::Status TimelineWriter::Add(const SliceEvent& event) {
  LOCKSTEP_RETURN_IF_ERROR(Advance(event.start_ns));
  const uint32_t lane = LaneFor(event.rank, TrackKindOf(event.kind), event.kind < SliceKind::kGap ? event.stream : -1,
                                event.start_ns, event.start_ns + event.duration_ns);
  if (lane == kNoId) return absl::OkStatus();
  const Notes notes = NotesOf(event);
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
  const Notes notes = NotesOf(event);
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
    format_.AddSample(tracks_[tracks_.CounterOf(event.rank, TrackKind::kLateness, out_)], event.start_ns,
                      event.lateness_ns, out_);
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
  if (waits_[event.rank]++ == 0) CountWaiting(event.start_ns, 1);
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
  format_.AddSample(tracks_[waiting_track_], waiting_changed_ns_, waiting_, out_);
}

absl::Status TimelineWriter::Add(const SampleEvent& event) {
  LOCKSTEP_RETURN_IF_ERROR(Advance(event.start_ns));
  format_.AddSample(tracks_[tracks_.CounterOf(event.rank, event.kind, out_)], event.start_ns, event.value, out_);
  return absl::OkStatus();
}

void TimelineWriter::Do(const Pending& pending) {
  TellWaiting(pending.time_ns);
  switch (pending.action) {
    case Action::kEnd:
      format_.EndSlice(tracks_[pending.at], pending.time_ns, out_);
      return;
    case Action::kWaitOver:
      if (--waits_[pending.at] == 0) CountWaiting(pending.time_ns, -1);
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
