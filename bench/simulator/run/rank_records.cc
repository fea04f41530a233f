#include "bench/simulator/run/rank_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "analysis/base/hash128.h"
#include "analysis/base/time.h"
#include "analysis/condense/condenser.h"
#include "analysis/model/kernel_class.h"
#include "bench/simulator/kineto/kineto_style.h"
#include "bench/simulator/run/collective_teller.h"

namespace lockstep {
namespace {

constexpr size_t kLargestNames = 32;
constexpr int64_t kClockOrderToleranceNs = 20'000;  // as the pipeline's join has it

struct Joined {
  ActivityRecord record;
  int64_t instance = -1;
};

class Reader {
 public:
  Reader(const Scenario& scenario, int32_t rank, TraceOfRank which)
      : s_(scenario),
        rank_(rank),
        which_(which),
        place_(scenario.cluster.ranks[static_cast<size_t>(rank)]),
        timeline_(which == TraceOfRank::kOwn ? scenario.recorded[static_cast<size_t>(rank)] : *scenario.duplicate),
        teller_(scenario, rank),
        telling_(teller_.telling()),
        style_(StyleOf(scenario.options)),
        whole_us_(!telling_.nsys && style_.whole_us),
        name_ids_(scenario.program->kernels().size(), kNoId),
        is_communication_(name_ids_.size()),
        kernel_time_(name_ids_.size()) {}

  RankRecords Read() {
    FillIdentity();
    TakeSteps();
    TakeHostWindow();
    TakeHostWaits();
    if (HidesGraphs()) TakeSpans();
    const std::vector<CallNumber> numbers = CallNumbersOf(s_.run, rank_, timeline_);
    for (size_t i = 0; i < timeline_.activities.size(); ++i) TakeActivity(i, numbers[i]);
    Order();
    FillTimes();
    ListLargest();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const Op& OpOf(const Activity& activity) const {
    return s_.program->StepOf(activity.step, rank_).ops[activity.op];
  }
  // Old tools count whole microseconds.
  [[nodiscard]] int64_t Shown(int64_t ns) const { return whole_us_ ? ns / 1000 * 1000 : ns; }
  [[nodiscard]] bool HidesGraphs() const { return s_.options.files.opaque_graphs && telling_.nsys; }

  void FillIdentity() {
    SourceContext& context = out_.context;
    const bool again = which_ == TraceOfRank::kDuplicate;
    context.format = telling_.nsys ? "nsys" : "kineto";
    context.host = s_.cluster.HostName(place_.host);
    const bool tells_host = telling_.nsys || style_.host_name;
    context.host_source = tells_host ? HostSource::kTrace : HostSource::kUnknown;
    if (!tells_host) context.host.clear();
    context.pid = telling_.nsys || !timeline_.activities.empty() ? ProcessIdOf(s_.cluster, rank_) : -1;
    context.device = place_.device;
    context.gpu.ordinal = place_.device;
    context.gpu.name = GpuName(s_.options);
    const RanksOfFile file = FileOf(s_, rank_, which_);
    context.processes_in_file = file.last - file.first + 1;
    if (telling_.nsys) context.session = fmt::format("session{:03}", place_.host);
    context.path = PathOf(file);
    context.classifier_version = kClassifierVersion;
    context.condense_version = kCondenseVersion;
    context.groups = teller_.Groups();
    FillClaims(context);
    context.source_id = HashBuilder()
                            .Add(static_cast<int64_t>(s_.options.seed))
                            .Add(int64_t{rank_})
                            .Add(int64_t{again ? 1 : 0})
                            .Finish();
  }

  [[nodiscard]] std::string PathOf(const RanksOfFile& file) const {
    const std::string_view mark = which_ == TraceOfRank::kDuplicate ? "_again" : "";
    if (!telling_.nsys) return fmt::format("rank{}{}.json{}", rank_, mark, s_.options.gzip ? ".gz" : "");
    if (file.first == file.last) return fmt::format("rank{}{}.sqlite", file.first, mark);
    return fmt::format("rank{}-{}.sqlite", file.first, file.last);
  }

  void FillClaims(SourceContext& context) const {
    if (telling_.nsys && !context.groups.empty()) {
      const auto largest = std::ranges::max_element(context.groups, {}, &GroupConfig::size);
      if (std::ranges::count(context.groups, largest->size, &GroupConfig::size) == 1) {
        context.claims.push_back({largest->own_rank, RankSource::kNcclInit});
        context.world_size = largest->size;
      }
    }
    if (!telling_.nsys && s_.options.ids != IdLevel::kNames) {
      context.claims.push_back({rank_, RankSource::kMetadata});
      const RankGroup& job = s_.cluster.communicators[static_cast<size_t>(place_.world)];
      context.world_size = static_cast<int32_t>(job.members.size());
    }
    if (context.processes_in_file == 1) context.claims.push_back({rank_, RankSource::kFileName});
  }

  void TakeSteps() {
    for (const StepSpan& span : timeline_.steps) {
      if (span.end_ns == 0) continue;
      StepRange range{.start_ns = Shown(span.start_ns), .end_ns = Shown(span.end_ns), .number = span.step};
      range.name = out_.names.Name(fmt::format("ProfilerStep#{}", span.step), out_.drops);
      out_.steps.push_back(range);
    }
    if (!out_.steps.empty()) out_.context.step_source = StepSource::kProfiler;
    out_.host_by_step.assign(out_.steps.size(), HostOfStep());
  }

  void TakeHostWindow() {
    for (const Activity& activity : timeline_.activities) {
      if (activity.call_end_ns == 0) continue;
      host_first_ns_ = std::min(host_first_ns_, activity.call_start_ns);
      host_last_ns_ = std::max(host_last_ns_, activity.call_end_ns);
    }
    for (const StepRange& step : out_.steps) {
      host_first_ns_ = std::min(host_first_ns_, step.start_ns);
      host_last_ns_ = std::max(host_last_ns_, step.end_ns);
    }
  }

  // What the host waited for before each call that may launch. Activities stand in the order of the host's calls.
  void TakeHostWaits() {
    HostWaits waits;
    host_waits_.resize(timeline_.activities.size());
    for (size_t i = 0; i < timeline_.activities.size(); ++i) {
      const Activity& activity = timeline_.activities[i];
      if (activity.call_end_ns == 0) continue;
      const ApiKind kind = CallKindOf(OpOf(activity).kind);
      const int64_t start_ns = Shown(activity.call_start_ns);
      if (kind == ApiKind::kSync) waits.Add({start_ns, Shown(activity.call_end_ns)});
      if (kind != ApiKind::kSync && kind != ApiKind::kAlloc) host_waits_[i] = waits.AtLaunch(start_ns);
    }
  }

  [[nodiscard]] HostWait WaitBefore(const Activity& activity) const {
    return host_waits_[static_cast<size_t>(&activity - timeline_.activities.data())];
  }

  void TakeActivity(size_t index, const CallNumber& number) {
    const Activity& activity = timeline_.activities[index];
    const Op& op = OpOf(activity);
    const bool has_call = activity.call_end_ns != 0;
    if (has_call && !op.in_graph) TakeCall(activity, op);
    if (op.kind == OpKind::kStreamWait || op.kind == OpKind::kStreamSync) {
      if (has_call && (telling_.nsys || style_.sync_rows)) TakeSync(activity, op);
      return;
    }
    if (!StartsDeviceWork(op.kind) || !HasDeviceRow(activity, op) || (op.in_graph && HidesGraphs())) return;
    if (!IsUsable(activity)) return;
    Joined joined;
    joined.record = RecordOf(activity, op);
    joined.record.host_wait = WaitBefore(activity);
    if (op.kind == OpKind::kCollective) {
      // Kineto's kernels bear it themselves, nsys knows it from the range around the call.
      if (TellsGroup(op) && (has_call || !telling_.nsys)) {
        teller_.Describe(activity, op, number, out_.names, out_.file_drops, joined.record);
      }
      if (is_communication_[op.kernel]) joined.instance = InstanceOf(index);
    }
    Count(joined.record, op);
    joined_.push_back(std::move(joined));
  }

  [[nodiscard]] int64_t InstanceOf(size_t index) const {
    return which_ == TraceOfRank::kOwn ? s_.instance_of[static_cast<size_t>(rank_)][index] : -1;
  }

  void TakeCall(const Activity& activity, const Op& op) {
    if (op.kind == OpKind::kGraphLaunch) ++graph_launches_;
    ++out_.context.api_rows;
    const int64_t start_ns = Shown(activity.call_start_ns);
    const int32_t step = StepAt(out_.steps, start_ns);
    if (step < 0) return;
    const int64_t duration_ns = Shown(activity.call_end_ns) - start_ns;
    CountCall(CallKindOf(op.kind), duration_ns, out_.host_by_step[static_cast<size_t>(step)]);
  }

  static ApiKind CallKindOf(OpKind kind) {
    switch (kind) {
      case OpKind::kKernel:
      case OpKind::kCollective:
        return ApiKind::kLaunch;
      case OpKind::kGraphLaunch:
        return ApiKind::kGraphLaunch;
      case OpKind::kStreamSync:
        return ApiKind::kSync;
      case OpKind::kAllocate:
      case OpKind::kFree:
        return ApiKind::kAlloc;
      default:
        return ApiKind::kOther;
    }
  }

  void TakeSync(const Activity& activity, const Op& op) {
    Joined joined;
    joined.record.type = ActivityType::kSync;
    joined.record.start_ns = Shown(activity.call_start_ns);
    joined.record.duration_ns = Shown(activity.call_end_ns) - joined.record.start_ns;
    joined.record.stream = StreamNumber(op.stream);
    joined.record.sync = op.kind == OpKind::kStreamWait ? SyncKind::kStreamWaitEvent : SyncKind::kStreamSync;
    joined_.push_back(std::move(joined));
  }

  // What the innermost range around the launch says that the model does.
  Phase PhaseAt(const Activity& activity, uint32_t launch) {
    if (phase_step_ != activity.step) {
      phase_step_ = activity.step;
      TakePhases(timeline_.steps[static_cast<size_t>(activity.step)]);
    }
    return phases_[launch];
  }

  void TakePhases(const StepSpan& span) {
    const StepOps& step = s_.program->StepOf(span.step, rank_);
    phases_.assign(step.ops.size(), Phase::kNone);
    const bool look_like_operators = !telling_.nsys && style_.annotation == style_.cpu_op;
    for (const OpRange& range : step.ranges) {
      if (look_like_operators && !range.name.starts_with("Optimizer.step#")) continue;  // torch's own are known
      const Phase phase = PhaseOfRange(range.name);
      if (phase == Phase::kNone) continue;
      const size_t first = span.first_activity + range.first_op;
      if (!IntervalOf(timeline_, first, span.first_activity + range.last_op, 0)) continue;
      std::fill(phases_.begin() + range.first_op, phases_.begin() + range.last_op + 1, phase);
    }
  }

  // The readers' and the join's judgement of damaged times.
  bool IsUsable(const Activity& activity) {
    const int64_t zero = ZeroOfFile(s_.run, rank_);
    if (activity.start_ns == zero && activity.end_ns == zero) {
      out_.file_drops.Add(DropReason::kZeroTime);
    } else if (Shown(activity.end_ns) < Shown(activity.start_ns)) {
      out_.file_drops.Add(DropReason::kNegativeDuration);
    } else if (host_first_ns_ <= host_last_ns_ &&
               (activity.start_ns < host_first_ns_ - kNsPerHour || activity.start_ns > host_last_ns_ + kNsPerHour)) {
      out_.drops.Add(DropReason::kOutsideWindow);
    } else {
      return true;
    }
    return false;
  }

  ActivityRecord RecordOf(const Activity& activity, const Op& op) {
    ActivityRecord record;
    record.start_ns = Shown(activity.start_ns);
    record.duration_ns = Shown(activity.end_ns) - record.start_ns;
    record.stream = StreamNumber(op.stream);
    if (op.kind == OpKind::kKernel || op.kind == OpKind::kCollective) {
      record.name = NameOf(op.kernel);
      record.shape = out_.names.Shape(ShapeOf(s_.run, rank_, activity.step, op), out_.drops);
    } else {
      record.kind = op.kind == OpKind::kMemcpy ? DeviceKind::kMemcpy : DeviceKind::kMemset;
      record.copy_kind = op.copy;
      record.bytes = op.bytes;
      record.source_memory = op.kind == OpKind::kMemset ? MemoryKind::kUnknown : SourceMemoryOf(op);
      record.target_memory = op.kind == OpKind::kMemset ? MemoryKind::kDevice : TargetMemoryOf(op);
    }
    if (activity.call_end_ns != 0) {
      AddLaunch(activity, op, record);
    } else {
      out_.drops.Add(DropReason::kMissingLaunch);
    }
    return record;
  }

  void AddLaunch(const Activity& activity, const Op& op, ActivityRecord& record) {
    record.launch_start_ns = Shown(activity.call_start_ns);
    record.launch_end_ns = Shown(activity.call_end_ns);
    record.step = StepAt(out_.steps, record.launch_start_ns);
    record.phase = PhaseAt(activity, op.in_graph ? op.first_of_call : activity.op);
    if (op.in_graph) {
      record.graph_launch = graph_launches_ - 1;
      record.from_graph = true;
    }
    if (record.start_ns >= record.launch_start_ns) return;
    const bool large = record.launch_start_ns - record.start_ns > kClockOrderToleranceNs;
    out_.drops.Add(large ? DropReason::kClockOrderViolation : DropReason::kNegativeLaunchDelay);
  }

  NameId NameOf(uint32_t kernel) {
    if (name_ids_[kernel] == kNoId) {
      const std::string& name = s_.program->kernels()[kernel].name;
      name_ids_[kernel] = out_.names.Name(name, out_.drops);
      is_communication_[kernel] = ClassifyKernel(name).category == Category::kCommunication;
      if (is_communication_[kernel]) row_names_.insert(name_ids_[kernel]);
    }
    return name_ids_[kernel];
  }

  void Count(const ActivityRecord& record, const Op& op) {
    SourceContext& context = out_.context;
    switch (record.kind) {
      case DeviceKind::kKernel:
        ++context.kernels;
        context.kernel_time_ns += record.duration_ns;
        kernel_time_[op.kernel] += record.duration_ns;
        context.graph_kernels += record.from_graph ? 1 : 0;
        context.collectives += is_communication_[op.kernel] ? 1 : 0;
        break;
      case DeviceKind::kMemcpy:
        ++context.memcpys;
        break;
      default:
        ++context.memsets;
    }
    Widen(record);
  }

  void Widen(const ActivityRecord& record) {
    first_start_ns_ = std::min(first_start_ns_, record.start_ns);
    last_end_ns_ = std::max(last_end_ns_, record.end_ns());
  }

  // One span for each graph launch whose kernels would have been recorded.
  void TakeSpans() {
    int64_t ordinal = -1;
    std::optional<Joined> open;
    const auto close = [&] {
      if (!open) return;
      Widen(open->record);
      ++out_.context.graph_spans;
      joined_.push_back(*std::exchange(open, std::nullopt));
    };
    for (const Activity& activity : timeline_.activities) {
      const Op& op = OpOf(activity);
      if (op.kind == OpKind::kGraphLaunch) {
        close();
        if (activity.call_end_ns != 0) ++ordinal;
      }
      if (!op.in_graph || activity.end_ns == 0 || activity.end_ns < activity.start_ns) continue;
      if (!open) open = SpanAt(activity, op, ordinal);
      const int64_t end = std::max(open->record.end_ns(), activity.end_ns);
      open->record.start_ns = std::min(open->record.start_ns, activity.start_ns);
      open->record.duration_ns = end - open->record.start_ns;
    }
    close();
  }

  [[nodiscard]] Joined SpanAt(const Activity& activity, const Op& op, int64_t ordinal) {
    Joined joined;
    joined.record.kind = DeviceKind::kGraphSpan;
    joined.record.start_ns = activity.start_ns;
    joined.record.duration_ns = activity.end_ns - activity.start_ns;
    joined.record.stream = StreamNumber(op.stream);
    if (activity.call_end_ns == 0) return joined;
    joined.record.launch_start_ns = activity.call_start_ns;
    joined.record.launch_end_ns = activity.call_end_ns;
    joined.record.host_wait = WaitBefore(activity);
    joined.record.step = StepAt(out_.steps, activity.call_start_ns);
    joined.record.phase = PhaseAt(activity, op.first_of_call);
    joined.record.graph_launch = ordinal;
    joined.record.from_graph = true;
    return joined;
  }

  void Order() {
    std::sort(joined_.begin(), joined_.end(),
              [](const Joined& a, const Joined& b) { return ActivityOrder()(a.record, b.record); });
    out_.records.reserve(joined_.size());
    for (const Joined& joined : joined_) {
      if (IsRow(joined.record)) out_.instances.push_back(joined.instance);
      out_.records.push_back(joined.record);
    }
  }

  // Becomes an instance row when it is condensed.
  [[nodiscard]] bool IsRow(const ActivityRecord& record) const {
    return record.type == ActivityType::kDevice && record.kind == DeviceKind::kKernel &&
           row_names_.contains(record.name);
  }

  void FillTimes() {
    SourceContext& context = out_.context;
    context.base_unix_ns = ZeroOfFile(s_.run, rank_);
    context.capture_start_ns = telling_.nsys ? context.base_unix_ns : host_first_ns_;
    context.capture_end_ns = host_last_ns_;
    const bool any = first_start_ns_ <= last_end_ns_;
    context.first_start_ns = any ? first_start_ns_ : context.capture_start_ns;
    context.last_end_ns = any ? last_end_ns_ : context.capture_start_ns;
    context.slice_ns = SliceWidth(context.last_end_ns - context.first_start_ns);
    context.bucket_ns = BucketWidth(context.last_end_ns - context.first_start_ns);
  }

  void ListLargest() {
    std::vector<uint32_t> order;
    for (uint32_t kernel = 0; kernel < kernel_time_.size(); ++kernel) {
      if (name_ids_[kernel] != kNoId) order.push_back(kernel);
    }
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      if (kernel_time_[a] != kernel_time_[b]) return kernel_time_[a] > kernel_time_[b];
      return s_.program->kernels()[a].name < s_.program->kernels()[b].name;
    });
    for (const uint32_t kernel : order) {
      if (out_.largest_names.size() < kLargestNames) out_.largest_names.push_back(name_ids_[kernel]);
    }
  }

  const Scenario& s_;
  const int32_t rank_;
  const TraceOfRank which_;
  const RankPlace& place_;
  const RankTimeline& timeline_;
  CollectiveTeller teller_;
  const Telling& telling_;
  const KinetoStyle style_;
  const bool whole_us_;
  RankRecords out_;
  std::vector<Joined> joined_;
  std::vector<NameId> name_ids_;  // by kernel
  std::vector<bool> is_communication_;
  std::set<NameId> row_names_;  // of communication kernels
  std::vector<int64_t> kernel_time_;
  int32_t phase_step_ = -1;    // the step of `phases_`
  std::vector<Phase> phases_;  // by op
  int64_t graph_launches_ = 0;
  int64_t host_first_ns_ = INT64_MAX;
  int64_t host_last_ns_ = INT64_MIN;
  std::vector<HostWait> host_waits_;  // before the call of each activity
  int64_t first_start_ns_ = INT64_MAX;
  int64_t last_end_ns_ = INT64_MIN;
};

}  // namespace

RanksOfFile FileOf(const Scenario& scenario, int32_t rank, TraceOfRank which) {
  const int32_t host = scenario.cluster.ranks[static_cast<size_t>(rank)].host;
  if (which == TraceOfRank::kDuplicate || FormOfHost(scenario.options, host) != TraceForm::kNsys) return {rank, rank};
  RanksOfFile file{host * scenario.cluster.gpus_per_host, (host + 1) * scenario.cluster.gpus_per_host - 1};
  const int32_t gap = scenario.defects.missing_rank.value_or(-1);
  if (gap >= file.first && gap < rank) file.first = gap + 1;
  if (gap > rank && gap <= file.last) file.last = gap - 1;
  return file;
}

RankRecords RecordsOf(const Scenario& scenario, int32_t rank, TraceOfRank which) {
  return Reader(scenario, rank, which).Read();
}

}  // namespace lockstep
