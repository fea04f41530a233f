#include "agent/pipeline/launch_join.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "agent/pipeline/range_names.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/model/kernel_class.h"

namespace lockstep {
namespace {

// CPU and GPU clocks may disagree by this much without an error of the clock domain.
constexpr int64_t kClockOrderToleranceNs = 20'000;

class LaunchJoin {
 public:
  LaunchJoin(RecordCollector& collector, LaunchSorter& launches, RangeProjection& ranges)
      : collector_(collector), launches_(launches), ranges_(ranges), range_names_(collector) {
    result_.opaque_graph_launches.assign(collector.context().processes.size(), 0);
  }

  absl::StatusOr<JoinResult> Run() {
    LOCKSTEP_RETURN_IF_ERROR(NextLaunch());
    DeviceRecord device;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, collector_.devices().Next(device));
      if (!more) break;
      LOCKSTEP_RETURN_IF_ERROR(AdvanceTo(device));
      LOCKSTEP_RETURN_IF_ERROR(Emit(device));
    }
    LOCKSTEP_RETURN_IF_ERROR(DrainLaunches());
    result_.sources.resize(collector_.sources().size());
    return std::move(result_);
  }

 private:
  absl::Status NextLaunch() {
    LOCKSTEP_ASSIGN_OR_RETURN(has_next_, launches_.Next(next_));
    return absl::OkStatus();
  }

  static bool Before(const Launch& launch, const DeviceRecord& device) {
    return std::tie(launch.process, launch.correlation) < std::tie(device.process, device.correlation);
  }
  static bool Matches(const Launch& launch, const DeviceRecord& device) {
    return device.has_correlation && launch.process == device.process && launch.correlation == device.correlation;
  }

  void Retire(const Launch& launch, bool had_device_work) {
    if (launch.kind == ApiKind::kGraphLaunch && !had_device_work) ++result_.opaque_graph_launches[launch.process];
  }

  // Makes current_ the launch of this device record, if there is one. Of several calls with one correlation (a runtime
  // call and the driver call inside it) the outer one counts: it comes first.
  absl::Status AdvanceTo(const DeviceRecord& device) {
    if (!device.has_correlation) return absl::OkStatus();
    if (current_.has_value() && Matches(*current_, device)) return absl::OkStatus();
    if (current_.has_value()) Retire(*current_, current_has_work_);
    current_.reset();
    while (has_next_ && (Before(next_, device) || Matches(next_, device))) {
      const bool matches = Matches(next_, device);
      if (matches && !current_.has_value()) {
        current_ = next_;
        current_has_work_ = false;
      } else if (matches && current_->meta == kNoId) {
        current_->meta = next_.meta;
      }
      if (!matches) RetireSkipped();
      LOCKSTEP_RETURN_IF_ERROR(NextLaunch());
    }
    return absl::OkStatus();
  }

  // A call without device rows; nested calls of one correlation count once.
  void RetireSkipped() {
    const std::pair skipped(next_.process, next_.correlation);
    if (skipped_ != skipped) Retire(next_, false);
    skipped_ = skipped;
  }

  absl::Status DrainLaunches() {
    if (current_.has_value()) Retire(*current_, current_has_work_);
    while (has_next_) {
      RetireSkipped();
      LOCKSTEP_RETURN_IF_ERROR(NextLaunch());
    }
    return absl::OkStatus();
  }

  absl::Status Emit(const DeviceRecord& device) {
    const uint32_t source = collector_.SourceIndex(device.process, device.device);
    if (source == kNoId) return absl::OkStatus();
    if (result_.sources.size() <= source) {
      result_.sources.resize(source + 1);
      recent_times_ = {};
    }
    SourceStats& stats = result_.sources[source];
    if (IsOutsideWindow(device)) {
      stats.drops.Add(DropReason::kOutsideWindow);
      return absl::OkStatus();
    }
    ActivityRecord activity = ActivityOf(device, source);
    if (device.has_correlation && current_.has_value() && Matches(*current_, device)) {
      AddLaunch(*current_, activity, stats);
      activity.range = range_names_.Of(current_->range_name);
      ranges_.Extend(current_->range, activity.start_ns, activity.end_ns());
      if (device.kind != DeviceKind::kGraphSpan) current_has_work_ = true;
    } else {
      stats.drops.Add(DropReason::kMissingLaunch);
    }
    if (collector_.steps_by_device(device.process)) {
      activity.step = StepAt(collector_.steps()[device.process], device.start_ns);
    }
    if (activity.meta == kNoId && device.external_id != 0) {
      activity.meta = collector_.MetaOfExternalId(device.external_id);
    }
    Count(activity, stats);
    return collector_.activities().Add(activity);
  }

  // More than an hour outside what the host did: a broken timestamp (seen after profiler re-registration).
  [[nodiscard]] bool IsOutsideWindow(const DeviceRecord& device) const {
    if (collector_.host_first_ns() > collector_.host_last_ns()) return false;
    return device.start_ns < collector_.host_first_ns() - kNsPerHour ||
           device.start_ns > collector_.host_last_ns() + kNsPerHour;
  }

  static ActivityRecord ActivityOf(const DeviceRecord& device, uint32_t source) {
    ActivityRecord activity;
    activity.start_ns = device.start_ns;
    activity.duration_ns = device.duration_ns;
    activity.seq = device.seq;
    activity.bytes = device.bytes;
    activity.comms_id = device.comms_id;
    activity.has_comms_id = device.has_comms_id;
    activity.source = source;
    activity.name = device.name;
    activity.mangled = device.mangled;
    activity.shape = device.shape;
    activity.meta = device.meta;
    activity.stream = device.stream;
    activity.kind = device.kind;
    activity.copy_kind = device.copy_kind;
    activity.source_memory = device.source_memory;
    activity.target_memory = device.target_memory;
    activity.from_graph = device.from_graph;
    return activity;
  }

  static void AddLaunch(const Launch& launch, ActivityRecord& activity, SourceStats& stats) {
    activity.launch_start_ns = launch.start_ns;
    activity.launch_end_ns = launch.end_ns;
    activity.host_wait = launch.host_wait;
    activity.tid = launch.tid;
    activity.api = launch.api;
    activity.step = launch.step;
    activity.phase = launch.phase;
    activity.graph_launch = launch.graph_launch;
    if (launch.kind == ApiKind::kGraphLaunch) activity.from_graph = true;
    if (activity.meta == kNoId) activity.meta = launch.meta;
    if (!activity.has_comms_id && launch.has_comms_id) {
      activity.comms_id = launch.comms_id;
      activity.has_comms_id = true;
    }
    if (activity.seq == kNoSeq) activity.seq = launch.seq;
    if (activity.start_ns < launch.start_ns) {
      const bool large = launch.start_ns - activity.start_ns > kClockOrderToleranceNs;
      stats.drops.Add(large ? DropReason::kClockOrderViolation : DropReason::kNegativeLaunchDelay);
    }
  }

  void Count(const ActivityRecord& activity, SourceStats& stats) {
    switch (activity.kind) {
      case DeviceKind::kKernel:
        ++stats.kernels;
        stats.kernel_time_ns += activity.duration_ns;
        TimeOf(activity, stats) += activity.duration_ns;
        if (activity.from_graph) ++stats.graph_kernels;
        if (IsCommunication(activity.name)) ++stats.collectives;
        break;
      case DeviceKind::kMemcpy:
        ++stats.memcpys;
        break;
      case DeviceKind::kMemset:
        ++stats.memsets;
        break;
      case DeviceKind::kGraphSpan:
        ++stats.graph_spans;
        break;
    }
    if (IsOffDevice(activity)) return;
    stats.first_start_ns = std::min(stats.first_start_ns, activity.start_ns);
    stats.last_end_ns = std::max(stats.last_end_ns, activity.end_ns());
    if (activity.step >= 0) CountInStep(static_cast<size_t>(activity.step), stats.activities_by_step);
  }

  int64_t& TimeOf(const ActivityRecord& kernel, SourceStats& stats) {
    RecentTime& recent = recent_times_[(kernel.name * 3 + kernel.source) % recent_times_.size()];
    const bool known = recent.time_ns != nullptr && recent.name == kernel.name && recent.source == kernel.source;
    if (!known) recent = {kernel.name, kernel.source, &stats.time_by_name[kernel.name]};
    return *recent.time_ns;
  }

  static void CountInStep(size_t step, std::vector<uint32_t>& counts) {
    if (counts.size() <= step) counts.resize(step + 1, 0);
    if (counts[step] < UINT32_MAX) ++counts[step];
  }

  bool IsCommunication(NameId name) {
    if (name == kNoId) return false;
    if (name >= communication_.size()) communication_.resize(name + 1);
    std::optional<bool>& known = communication_[name];
    if (!known.has_value()) {
      known = collector_.interner().ClassOf(name).category == Category::kCommunication;
    }
    return *known;
  }

  RecordCollector& collector_;
  LaunchSorter& launches_;
  RangeProjection& ranges_;
  RangeNames range_names_;
  Launch next_;
  bool has_next_ = false;
  std::optional<Launch> current_;
  std::optional<std::pair<uint32_t, uint64_t>> skipped_;  // process and correlation
  bool current_has_work_ = false;
  // Where the time of a kernel name in a source is summed.
  struct RecentTime {
    NameId name = kNoId;
    uint32_t source = 0;
    int64_t* time_ns = nullptr;
  };
  std::array<RecentTime, 256> recent_times_{};
  std::vector<std::optional<bool>> communication_;  // by name
  JoinResult result_;
};

}  // namespace

absl::StatusOr<JoinResult> JoinLaunches(RecordCollector& collector, LaunchSorter& launches, RangeProjection& ranges) {
  return LaunchJoin(collector, launches, ranges).Run();
}

}  // namespace lockstep
