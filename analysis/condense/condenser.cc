#include "analysis/condense/condenser.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/condense/batch_cutter.h"
#include "analysis/condense/bucket_measures.h"
#include "analysis/condense/communicator_table.h"
#include "analysis/condense/gap.h"
#include "analysis/condense/instance_tracker.h"
#include "analysis/condense/kernel_table.h"
#include "analysis/condense/launch_table.h"
#include "analysis/condense/memory_table.h"
#include "analysis/condense/segment_builder.h"
#include "analysis/condense/selected_gaps.h"
#include "analysis/condense/step_measures.h"
#include "analysis/condense/step_overlaps.h"
#include "analysis/condense/step_phases.h"
#include "analysis/condense/stream_idle.h"
#include "analysis/condense/typical_step.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// An activity that is running.
struct Running {
  int64_t end_ns = 0;
  int32_t step = StepMeasures::kForeign;
  ActivitySet set = ActivitySet::kCompute;
  friend bool operator>(const Running& a, const Running& b) {
    return std::tie(a.end_ns, a.step, a.set) > std::tie(b.end_ns, b.step, b.set);
  }
};

int64_t WidthFor(int64_t window_ns, int64_t most) {
  int64_t width = 1;
  while (window_ns / width >= most) width *= 2;
  return width;
}

}  // namespace

int64_t SliceWidth(int64_t window_ns) { return WidthFor(window_ns, 16); }
int64_t BucketWidth(int64_t window_ns) { return WidthFor(window_ns, 512); }

class Condenser::Impl {
  static constexpr uint32_t kNotLarge = UINT32_MAX;
  // Where the total of a large name in a step stands.
  struct StepTotal {
    int32_t step = -1;
    StepKernelRow* row = nullptr;
  };

 public:
  Impl(CondenseInput input, std::function<absl::Status(Batch)> emit)
      : input_(std::move(input)),
        cutter_(input_.names, std::move(emit)),
        communicators_(input_.names, input_.context.groups,
                       [this](LocalCommunicator c) { cutter_.Define(std::move(c)); }),
        kernels_(input_.names, input_.context.slice_ns, input_.largest_names),
        instances_([this](InstanceRow row) { return EmitInstance(std::move(row)); }),
        typical_step_(TypicalStep(input_.activities_by_step, input_.selection)),
        steps_(input_.steps, std::move(input_.activities_by_step),
               [this](int32_t step, StepRow row) { EmitStep(step, std::move(row)); }),
        overlaps_(input_.steps),
        buckets_(input_.context.bucket_ns, input_.selection.time_ns,
                 [this](BucketRow row) { Keep(cutter_.Add(row)); }) {
    for (const NameId name : input_.largest_names) {
      if (name >= large_.size()) large_.resize(name + 1, kNotLarge);
      large_[name] = static_cast<uint32_t>(recent_totals_.size());
      recent_totals_.emplace_back();
    }
  }

  absl::Status Add(const ActivityRecord& record) {
    if (record.type == ActivityType::kSync) {
      idle_streams_.Sync(record);
    } else if (record.type == ActivityType::kAllocation) {
      allocation_.Add(record.start_ns, record.duration_ns);
    } else if (IsOffDevice(record)) {
      if (input_.selection.Has(record.step, record.start_ns)) memory_.Add(record);
    } else {
      LOCKSTEP_RETURN_IF_ERROR(AddActivity(record));
    }
    return status_;
  }

  absl::Status Finish(HostRows host, const DropCounters& drops) {
    LOCKSTEP_RETURN_IF_ERROR(SweepTo(INT64_MAX));
    steps_.Finish(now_ns_);
    buckets_.Finish();
    LOCKSTEP_RETURN_IF_ERROR(instances_.Finish());
    LOCKSTEP_RETURN_IF_ERROR(status_);
    LOCKSTEP_RETURN_IF_ERROR(EmitTables(std::move(host)));
    SourceSummary summary;
    summary.drops = drops;
    summary.drops.Merge(drops_);
    summary.gaps = gaps_.Take();
    summary.streams = input_.selection.active() ? selected_streams_.TakeRows() : idle_streams_.TakeRows();
    allocation_.FillIn(summary);
    summary.step_overlaps = overlaps_.Take();
    return cutter_.Finish(std::move(summary));
  }

 private:
  absl::Status AddActivity(const ActivityRecord& record) {
    LOCKSTEP_RETURN_IF_ERROR(SweepTo(record.start_ns));
    const bool waited = idle_streams_.Start(record);
    if (running_.empty() && started_ && record.start_ns > now_ns_) {
      const Gap gap = ClassifyGap(now_ns_, record.start_ns, record.launch_end_ns, waited);
      if (steps_.Resumes(record.step)) {
        steps_.Pause(now_ns_);
      } else {
        steps_.Idle(gap);
      }
      buckets_.Idle(gap);
      if (!input_.selection.steps) gaps_.AddGap(gap.begin_ns, gap.end_ns, input_.selection);
    }
    now_ns_ = record.start_ns;
    started_ = true;
    const bool launch_known = record.step != kNoLaunchRow;
    const int32_t step = launch_known ? record.step : StepWithoutLaunch();
    if (launch_known || step < 0) steps_.Reach(step, record.start_ns);
    const bool selected = input_.selection.Has(step, record.start_ns);
    if (input_.selection.active() && selected) NoteSelected(record, step);
    const KernelClass& kind = ClassOf(record);
    const ActivitySet set = SetOf(record, kind);
    CountInStep(record, step, kind, set);
    const bool is_instance = record.kind == DeviceKind::kKernel && kind.category == Category::kCommunication;
    segments_.Add(record, set, is_instance ? instances_.next_ordinal() : -1);
    if (is_instance) OpenInstance(record, kind, step);
    if (selected) AddToTables(record, kind, step);
    if (record.duration_ns > 0) {
      running_.push({record.end_ns(), step, set});
      active_.Start(set);
      steps_.Start(set, step, record.end_ns());
      overlaps_.Start(set, step);
    } else {
      steps_.Point(step, record.start_ns);
    }
    return status_;
  }

  // The step whose device window holds the start; of ranges that are asked for by name only what they launched counts.
  [[nodiscard]] int32_t StepWithoutLaunch() const {
    return input_.selection.launched_only ? StepMeasures::kForeign : steps_.current();
  }

  void AddToTables(const ActivityRecord& record, const KernelClass& kind, int32_t step) {
    if (record.kind == DeviceKind::kKernel) {
      kernels_.Add(record, kind, NumberOf(step), PlaceIn(step), drops_);
      launches_.Add(record, drops_);
    } else if (record.kind != DeviceKind::kGraphSpan) {
      memory_.Add(record);
    }
  }

  // Which kernel of the typical step the next one is.
  std::optional<uint32_t> PlaceIn(int32_t step) {
    if (typical_step_ != step || next_place_ == UINT32_MAX) return std::nullopt;
    return next_place_++;
  }

  // The streams and gaps of a selection are those between what was selected.
  void NoteSelected(const ActivityRecord& record, int32_t step) {
    selected_streams_.Start(record);
    if (input_.selection.steps) gaps_.AddActivity(record, step, input_.selection);
  }

  // Moves the present to t, segment by segment between the ends of what is running.
  absl::Status SweepTo(int64_t t) {
    while (!running_.empty() && now_ns_ < t) {
      const int64_t to = std::min(t, running_.top().end_ns);
      if (to > now_ns_) {
        steps_.Segment(now_ns_, to, active_);
        overlaps_.Segment(to - now_ns_);
        buckets_.Segment(now_ns_, to, active_);
        instances_.Segment(now_ns_, to, active_.Has(ActivitySet::kCompute));
        now_ns_ = to;
      }
      while (!running_.empty() && running_.top().end_ns <= now_ns_) {
        active_.End(running_.top().set);
        steps_.End(running_.top().set, running_.top().step);
        overlaps_.End(running_.top().set, running_.top().step);
        running_.pop();
      }
      LOCKSTEP_RETURN_IF_ERROR(instances_.Advance(now_ns_));
    }
    return status_;
  }

  const KernelClass& ClassOf(const ActivityRecord& record) {
    static constexpr KernelClass kNone;
    if (record.kind != DeviceKind::kKernel || record.name == kNoId) return kNone;
    if (record.name >= classes_.size()) classes_.resize(record.name + 1);
    std::optional<KernelClass>& known = classes_[record.name];
    if (!known.has_value()) known = input_.names.ClassOf(record.name);
    return *known;
  }

  static ActivitySet SetOf(const ActivityRecord& record, const KernelClass& kind) {
    switch (record.kind) {
      case DeviceKind::kKernel:
        return kind.category == Category::kCommunication ? ActivitySet::kComm : ActivitySet::kCompute;
      case DeviceKind::kGraphSpan:
        return ActivitySet::kOpaque;
      default:
        return ActivitySet::kCopy;
    }
  }

  static bool IsHostCopy(const ActivityRecord& record) {
    return record.kind == DeviceKind::kMemcpy &&
           (record.copy_kind == CopyKind::kHostToDevice || record.copy_kind == CopyKind::kDeviceToHost);
  }

  [[nodiscard]] int64_t NumberOf(int32_t step) const {
    return step < 0 ? kNoStep : input_.steps[static_cast<size_t>(step)].number;
  }

  void CountInStep(const ActivityRecord& record, int32_t step, const KernelClass& kind, ActivitySet set) {
    // Activities of no step count in the row before the first step only while that is the current one.
    if (step < 0 && steps_.current() >= 0) return;
    StepRow* row = steps_.RowOf(step);
    if (row == nullptr) return;
    row->first_start_ns =
        row->first_start_ns == kNoTime ? record.start_ns : std::min(row->first_start_ns, record.start_ns);
    row->last_end_ns = std::max(row->last_end_ns, record.end_ns());
    if (IsHostCopy(record)) {
      ++row->host_copies;
      row->host_copy_ns += record.duration_ns;
      row->host_copy_bytes += std::max<int64_t>(record.bytes, 0);
    }
    if (record.kind != DeviceKind::kKernel) return;
    ++row->kernels;
    row->kernel_time_ns += record.duration_ns;
    if (step >= 0) phases_.Add(step, record.phase, kind.family, record.duration_ns);
    if (set == ActivitySet::kComm) {
      ++row->collectives;
      row->collective_time_ns += record.duration_ns;
      row->collective_max_ns = std::max(row->collective_max_ns, record.duration_ns);
    }
    if (step >= 0 && IsLarge(record.name)) {
      StepKernelRow& total = TotalOf(step, record.name);
      ++total.instances;
      total.total_ns += record.duration_ns;
    }
  }

  [[nodiscard]] bool IsLarge(NameId name) const { return name < large_.size() && large_[name] != kNotLarge; }

  StepKernelRow& TotalOf(int32_t step, NameId name) {
    StepTotal& recent = recent_totals_[large_[name]];
    if (recent.row == nullptr || recent.step != step) recent = {step, &step_kernels_[{step, name}]};
    return *recent.row;
  }

  // A collective's Comms Id is a hash of its group and sequence number: eight random bytes that say nothing more. Of
  // point-to-point kernels it does.
  void DropRedundantId(InstanceRow& row) const {
    if (row.seq == kNoSeq || !communicators_.IsKnown(row.communicator) || IsPointToPoint(row.op)) return;
    row.has_comms_id = false;
    row.comms_id = 0;
  }

  void OpenInstance(const ActivityRecord& record, const KernelClass& kind, int32_t step) {
    InstanceRow row;
    row.start_ns = record.start_ns;
    row.duration_ns = record.duration_ns;
    row.launch_start_ns = record.launch_start_ns;
    row.launch_end_ns = record.launch_end_ns;
    row.seq = record.seq;
    row.step = NumberOf(step);
    row.comms_id = record.comms_id;
    row.has_comms_id = record.has_comms_id;
    row.stream = record.stream;
    row.name = record.name;  // translated when it is given out
    row.op = kind.op;
    row.dtype = kind.dtype;
    row.library = kind.library;
    row.communicator = communicators_.Of(record.meta);
    if (!communicators_.IsKnown(row.communicator)) drops_.Add(DropReason::kNoGroup);
    if (record.meta != kNoId) FillFromMeta(input_.names.MetaOf(record.meta), row);
    if (record.graph_launch >= 0) {
      row.graph_launch = record.graph_launch;
      row.graph_position = NextGraphPosition(record.graph_launch);
    }
    DropRedundantId(row);
    FillSegment(row);
    instances_.Open(std::move(row));
  }

  static void FillFromMeta(const CollectiveMeta& meta, InstanceRow& row) {
    if (meta.op != CollectiveOp::kUnknown) row.op = meta.op;
    if (meta.dtype != DataType::kUnknown) row.dtype = meta.dtype;
    row.bytes = meta.bytes;
    row.peer = meta.peer;
    row.root = meta.root;
  }

  void FillSegment(InstanceRow& row) {
    const auto [last, is_new] = last_end_.emplace(row.communicator, row.end_ns());
    if (is_new) return;
    // A segment has a tile for each instance of other communicators in it: thousands of communicators in turn would
    // make thousands of tiles an instance.
    tile_budget_ = std::min(tile_budget_ + kTilesPerInstance, kMaxTileBudget);
    row.segment = segments_.Before(last->second, tile_budget_);
    tile_budget_ -= row.segment.tiles.size();
    last->second = std::max(last->second, row.end_ns());
  }

  // Replays follow one another: the positions of the last few are all that is ever needed.
  int64_t NextGraphPosition(int64_t launch) {
    while (graph_positions_.size() > 64) graph_positions_.erase(graph_positions_.begin());
    return graph_positions_[launch]++;
  }

  absl::Status EmitInstance(InstanceRow row) {
    row.name = cutter_.Name(row.name);
    return cutter_.Add(std::move(row));
  }

  static void AddHost(const HostOfStep& host, StepRow& row) {
    row.launches = host.launches;
    row.launch_ns = host.launch_ns;
    row.graph_launches = host.graph_launches;
    row.sync_calls = host.sync_calls;
    row.sync_ns = host.sync_ns;
    row.alloc_calls = host.alloc_calls;
    row.alloc_ns = host.alloc_ns;
    row.alloc_max_ns = host.alloc_max_ns;
  }

  void EmitStep(int32_t step, StepRow row) {
    overlaps_.AddRow(row);
    row.name = cutter_.Name(row.name);
    if (step >= 0) {
      AddHost(input_.host_by_step[static_cast<size_t>(step)], row);
      row.forward_ns = phases_.Annotated(step, Phase::kForward);
      row.backward_ns = phases_.Annotated(step, Phase::kBackward);
      row.optimizer_ns = phases_.Annotated(step, Phase::kOptimizer);
      row.phase = Name(phases_.Take(step));
    }
    Keep(cutter_.Add(std::move(row)));
    if (step < 0) return;
    for (StepTotal& recent : recent_totals_) {
      if (recent.step == step) recent = {};
    }
    for (auto it = step_kernels_.lower_bound({step, 0}); it != step_kernels_.end() && it->first.first == step;) {
      it->second.step = NumberOf(step);
      it->second.name = cutter_.Name(it->first.second);
      Keep(cutter_.Add(it->second));
      it = step_kernels_.erase(it);
    }
  }

  absl::Status EmitTables(HostRows host) {
    for (KernelRow& row : kernels_.TakeRows()) {
      row.name = cutter_.Name(row.name);
      row.mangled = cutter_.Name(row.mangled);
      row.range = cutter_.Name(row.range);
      LOCKSTEP_RETURN_IF_ERROR(cutter_.Add(std::move(row)));
    }
    for (MemoryRow& row : memory_.TakeRows()) LOCKSTEP_RETURN_IF_ERROR(cutter_.Add(std::move(row)));
    for (ApiRow& row : host.apis) {
      row.launch_delay = launches_.DelayOf(row.name);
      row.name = cutter_.Name(row.name);
      LOCKSTEP_RETURN_IF_ERROR(cutter_.Add(std::move(row)));
    }
    for (RangeRow& row : host.ranges) {
      row.name = cutter_.Name(row.name);
      row.domain = cutter_.Name(row.domain);
      LOCKSTEP_RETURN_IF_ERROR(cutter_.Add(std::move(row)));
    }
    for (LaunchRow& row : launches_.TakeRows()) {
      row.api = cutter_.Name(row.api);
      row.kernel = cutter_.Name(row.kernel);
      LOCKSTEP_RETURN_IF_ERROR(cutter_.Add(std::move(row)));
    }
    return absl::OkStatus();
  }

  void Keep(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  CondenseInput input_;
  absl::Status status_;
  BatchCutter cutter_;
  CommunicatorTable communicators_;
  KernelTable kernels_;
  InstanceTracker instances_;
  std::optional<int32_t> typical_step_;
  uint32_t next_place_ = 0;
  StepMeasures steps_;
  StepOverlaps overlaps_;
  StepPhases phases_;
  BucketMeasures buckets_;
  SegmentBuilder segments_;
  MemoryTable memory_;
  AllocationLevel allocation_;
  LaunchTable launches_;
  StreamIdle idle_streams_;
  StreamIdle selected_streams_;
  SelectedGaps gaps_;
  DropCounters drops_;
  ActiveCounts active_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  int64_t now_ns_ = 0;
  bool started_ = false;
  std::vector<std::optional<KernelClass>> classes_;  // by name
  std::vector<uint32_t> large_;                      // by name: its number among the largest
  std::map<std::pair<int32_t, NameId>, StepKernelRow> step_kernels_;
  std::vector<StepTotal> recent_totals_;  // by number
  std::unordered_map<uint32_t, int64_t> last_end_;
  std::map<int64_t, int64_t> graph_positions_;
  static constexpr size_t kTilesPerInstance = 32;  // on average
  static constexpr size_t kMaxTileBudget = 65'536;
  size_t tile_budget_ = kMaxTileBudget;
};

Condenser::Condenser(CondenseInput input, std::function<absl::Status(Batch)> emit)
    : impl_(std::make_unique<Impl>(std::move(input), std::move(emit))) {}
Condenser::~Condenser() = default;
absl::Status Condenser::Add(const ActivityRecord& record) { return impl_->Add(record); }
absl::Status Condenser::Finish(HostRows host, const DropCounters& drops) {
  return impl_->Finish(std::move(host), drops);
}

}  // namespace lockstep
