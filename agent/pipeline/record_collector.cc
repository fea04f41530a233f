#include "agent/pipeline/record_collector.h"

#include <algorithm>
#include <tuple>

#include "agent/readers/step_mark.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/condense/phase.h"

namespace lockstep {
namespace {

bool IsTimeSane(int64_t start_ns, int64_t duration_ns) {
  return start_ns > -kMaxAbsTimeNs && start_ns < kMaxAbsTimeNs && duration_ns < kMaxAbsTimeNs;
}

// A day: nothing on a device lasts longer, and sums of such durations stay far from overflow.
constexpr int64_t kMaxDurationNs = 24 * kNsPerHour;

// An engine may mark one pass by several ranges inside one another.
std::vector<StepRange> Outermost(std::vector<StepRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const StepRange& a, const StepRange& b) {
    return std::tie(a.start_ns, b.end_ns, a.name) < std::tie(b.start_ns, a.end_ns, b.name);
  });
  std::vector<StepRange> outermost;
  for (const StepRange& range : ranges) {
    if (outermost.empty() || range.end_ns > outermost.back().end_ns) outermost.push_back(range);
  }
  return outermost;
}

bool IsGroupCall(std::string_view name) { return name == "ncclGroupStart" || name == "ncclGroupEnd"; }

// A profiler that is started again counts its steps from the first number on: each such cycle gets numbers of its own,
// which are the same on all ranks.
void NumberCycles(std::vector<StepRange>& steps) {
  int64_t largest = 0;
  for (const StepRange& step : steps) largest = std::max(largest, step.number);
  int64_t stride = 100;
  while (stride <= largest && stride < INT64_MAX / 1'000) stride *= 10;
  int64_t cycle = 0;
  int64_t last_number = -1;
  int64_t last_end_ns = INT64_MIN;
  for (StepRange& step : steps) {
    if (step.number < 0) return;
    step.resumes = step.number < last_number && step.start_ns >= last_end_ns;
    if (step.resumes) ++cycle;
    last_number = step.number;
    last_end_ns = std::max(last_end_ns, step.end_ns);
    if (cycle < 1'000) step.number += cycle * stride;
  }
}

}  // namespace

RecordCollector::RecordCollector(const CollectorOptions& options)
    : totals_later_(options.totals_later),
      host_events_(options.tmp_dir, options.memory_bytes / 4),
      devices_(options.tmp_dir, options.memory_bytes / 4),
      activities_(options.tmp_dir, options.memory_bytes / 4) {}

NameId RecordCollector::InternName(std::string_view name) { return interner_.Name(name, context_.drops); }
ShapeId RecordCollector::InternShape(const LaunchShape& shape) { return interner_.Shape(shape, context_.drops); }
MetaId RecordCollector::InternMeta(const CollectiveMeta& meta) { return interner_.Meta(meta, context_.drops); }

uint32_t RecordCollector::AddProcess(int64_t pid) {
  const auto [found, is_new] = process_index_.emplace(pid, static_cast<uint32_t>(context_.processes.size()));
  if (is_new) {
    ProcessInfo process;
    process.pid = pid;
    context_.processes.push_back(std::move(process));
    steps_.emplace_back();
    engine_steps_.emplace_back();
    steps_by_device_.push_back(false);
    step_sources_.push_back(StepSource::kNone);
    host_totals_.emplace_back();
  }
  return found->second;
}

uint32_t RecordCollector::SourceIndex(uint32_t process, int32_t device) {
  const auto found = source_index_.find({process, device});
  if (found != source_index_.end()) return found->second;
  if (source_keys_.size() >= kMaxSources) return kNoId;
  const auto index = static_cast<uint32_t>(source_keys_.size());
  source_keys_.emplace_back(process, device);
  kernels_.push_back(0);
  source_index_.emplace(std::pair{process, device}, index);
  return index;
}

absl::Status RecordCollector::Device(const DeviceRecord& record) {
  if (record.duration_ns < 0) {
    Drop(DropReason::kNegativeDuration, -1);
    return absl::OkStatus();
  }
  if (!IsTimeSane(record.start_ns, record.duration_ns) || record.duration_ns > kMaxDurationNs) {
    Drop(DropReason::kAbsurdDuration, -1);
    return absl::OkStatus();
  }
  const uint32_t source = SourceIndex(record.process, record.device);
  if (source == kNoId) {
    Drop(DropReason::kStrayDevice, -1);
    return absl::OkStatus();
  }
  if (record.kind == DeviceKind::kKernel) ++kernels_[source];
  return devices_.Add(record);
}

void RecordCollector::SeeHostTime(int64_t start_ns, int64_t duration_ns) {
  host_first_ns_ = std::min(host_first_ns_, start_ns);
  host_last_ns_ = std::max(host_last_ns_, start_ns + duration_ns);
}

absl::Status RecordCollector::Api(const ApiRecord& record) {
  if (record.duration_ns < 0 || !IsTimeSane(record.start_ns, record.duration_ns)) {
    Drop(record.duration_ns < 0 ? DropReason::kNegativeDuration : DropReason::kAbsurdDuration, -1);
    return absl::OkStatus();
  }
  SeeHostTime(record.start_ns, record.duration_ns);
  HostEvent event;
  event.start_ns = record.start_ns;
  event.duration_ns = record.duration_ns;
  event.tid = record.tid;
  event.correlation = record.correlation;
  event.process = record.process;
  event.name = record.name;
  event.is_api = true;
  event.api_kind = record.kind;
  event.has_correlation = record.has_correlation;
  if (totals_later_) return host_events_.Add(event);
  Count(event);
  return event.has_correlation || !MayLaunch(event.api_kind) ? host_events_.Add(event) : absl::OkStatus();
}

void RecordCollector::Count(const HostEvent& event) { host_totals_[event.process].Count(event, context_.drops); }

absl::Status RecordCollector::Host(const HostRecord& record) {
  if (record.duration_ns < 0 || !IsTimeSane(record.start_ns, record.duration_ns)) {
    Drop(record.duration_ns < 0 ? DropReason::kNegativeDuration : DropReason::kAbsurdDuration, -1);
    return absl::OkStatus();
  }
  SeeHostTime(record.start_ns, record.duration_ns);
  if (record.kind == HostKind::kMark) return absl::OkStatus();
  if (MarksStep(record)) AddStep(record, steps_[record.process]);
  if (record.kind == HostKind::kRange && record.name != kNoId && IsEngineStep(interner_.NameOf(record.name))) {
    AddStep(record, engine_steps_[record.process]);
  }
  if (record.kind == HostKind::kCollective && record.meta != kNoId) {
    if (record.external_id != 0 && external_ids_.size() < kMaxExternalIds) {
      external_ids_.emplace(record.external_id, record.meta);
    }
  }
  return record.name == kNoId ? absl::OkStatus() : AddRange(record);
}

absl::Status RecordCollector::AddRange(const HostRecord& record) {
  HostEvent event;
  event.start_ns = record.start_ns;
  event.duration_ns = record.duration_ns;
  event.tid = record.tid;
  event.process = record.process;
  event.name = record.name;
  event.domain = record.domain;
  event.meta = record.meta;
  event.seq = record.seq;
  event.comms_id = record.comms_id;
  event.has_comms_id = record.has_comms_id;
  event.host_kind = record.kind;
  event.is_group_call = IsGroupCall(interner_.NameOf(record.name));
  if (totals_later_) return host_events_.Add(event);
  Count(event);
  return Surrounds(event.host_kind) ? host_events_.Add(event) : absl::OkStatus();
}

void RecordCollector::AddStep(const HostRecord& record, std::vector<StepRange>& steps) {
  if (step_count_ >= kMaxSteps) return Drop(DropReason::kStepLimit, -1);
  ++step_count_;
  StepRange step;
  step.start_ns = record.start_ns;
  step.end_ns = record.start_ns + record.duration_ns;
  step.number = StepNumberOf(record);
  step.tid = record.tid;
  step.name = record.name;
  steps.push_back(step);
}

absl::Status RecordCollector::Sync(const SyncRecord& record) {
  const uint32_t source = SourceIndex(record.process, record.device);
  if (source == kNoId || record.duration_ns < 0 || !IsTimeSane(record.start_ns, record.duration_ns)) {
    return absl::OkStatus();  // carries no activity of its own: only evidence for the cause of a gap
  }
  ActivityRecord activity;
  activity.type = ActivityType::kSync;
  activity.source = source;
  activity.start_ns = record.start_ns;
  activity.duration_ns = record.duration_ns;
  activity.stream = record.stream;
  activity.sync = record.kind;
  return activities_.Add(activity);
}

absl::Status RecordCollector::Allocation(const AllocationRecord& record) {
  const uint32_t source = SourceIndex(record.process, record.device);
  if (source == kNoId || !IsTimeSane(record.time_ns, 0)) {
    Drop(DropReason::kOutsideWindow, -1);
    return absl::OkStatus();
  }
  ActivityRecord activity;
  activity.type = ActivityType::kAllocation;
  activity.source = source;
  activity.start_ns = record.time_ns;
  activity.duration_ns = record.delta_bytes;
  return activities_.Add(activity);
}

void RecordCollector::Drop(DropReason reason, int64_t /*place*/) { context_.drops.Add(reason); }

absl::Status RecordCollector::Finish() {
  ChooseSteps();
  OrderSteps();
  ExpandElidedGroups();
  LOCKSTEP_RETURN_IF_ERROR(host_events_.Finish());
  return devices_.Finish();
}

// Passes of a serving engine are the steps where nothing else marks them.
void RecordCollector::ChooseSteps() {
  for (size_t process = 0; process < steps_.size(); ++process) {
    std::vector<StepRange>& steps = steps_[process];
    const bool numbered = std::any_of(steps.begin(), steps.end(), [](const StepRange& s) { return s.number >= 0; });
    if (!steps.empty()) step_sources_[process] = numbered ? StepSource::kProfiler : StepSource::kRange;
    if (!steps.empty() || engine_steps_[process].empty()) continue;
    steps = Outermost(std::move(engine_steps_[process]));
    step_sources_[process] = StepSource::kEngine;
  }
}

void RecordCollector::OrderSteps() {
  for (std::vector<StepRange>& steps : steps_) {
    std::sort(steps.begin(), steps.end(), [](const StepRange& a, const StepRange& b) {
      return std::tie(a.start_ns, b.end_ns, a.number, a.name) < std::tie(b.start_ns, a.end_ns, b.number, b.name);
    });
    const auto same = [](const StepRange& a, const StepRange& b) {
      return a.number >= 0 && a.number == b.number && a.start_ns == b.start_ns && a.end_ns == b.end_ns;
    };
    steps.erase(std::unique(steps.begin(), steps.end(), same), steps.end());
    NumberCycles(steps);
    int64_t ordinal = 0;
    for (StepRange& step : steps) {
      if (step.number < 0) step.number = ordinal;
      ++ordinal;
    }
  }
}

void RecordCollector::SetDetectedSteps(uint32_t process, std::vector<StepRange> steps, bool by_device) {
  steps_[process] = std::move(steps);
  step_sources_[process] = StepSource::kDetected;
  steps_by_device_[process] = by_device;
}

void RecordCollector::ExpandElidedGroups() {
  for (MetaId id = 0; id < interner_.metas(); ++id) {
    CollectiveMeta& meta = interner_.MutableMeta(id);
    if (!meta.members_elided) continue;
    for (const ProcessInfo& process : context_.processes) {
      for (const GroupConfig& group : process.groups) {
        const bool fits = group.name == meta.group_name && !group.members.empty() &&
                          (meta.group_size < 0 || meta.group_size == static_cast<int32_t>(group.members.size()));
        if (!fits || !meta.members_elided) continue;
        meta.members = group.members;
        meta.members_elided = false;
      }
    }
    if (meta.members_elided) {
      meta.members.clear();
      context_.drops.Add(DropReason::kElidedGroupUnresolved);
    }
  }
}

MetaId RecordCollector::MetaOfExternalId(uint64_t external_id) const {
  const auto found = external_ids_.find(external_id);
  return found == external_ids_.end() ? kNoId : found->second;
}

}  // namespace lockstep
