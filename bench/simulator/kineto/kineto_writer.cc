// One Kineto file for each rank: host rows first, then device rows by stream with their launches, annotations of the
// device, names of processes and streams, and the marks that end every file.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/base/status_macros.h"
#include "bench/simulator/kineto/kineto_envelope.h"
#include "bench/simulator/kineto/kineto_rows.h"
#include "bench/simulator/kineto/kineto_style.h"
#include "bench/simulator/run/output_file.h"
#include "bench/simulator/run/trace_writer.h"

namespace lockstep {
namespace {

constexpr int32_t kKinetoContext = 1;
constexpr int32_t kGraphId = 3;
constexpr int32_t kStackDepth = 8;
constexpr std::string_view kFrame = "site-packages/vllm/model_executor/models/decoder.py({}): forward_layer_{}";

class RankFile {
 public:
  RankFile(const RunDescription& run, int32_t rank, const RankTimeline& timeline, OutputFile* file, std::string name)
      : run_(run),
        options_(*run.options),
        style_(StyleOf(options_)),
        rank_(rank),
        place_(run.cluster->ranks[static_cast<size_t>(rank)]),
        timeline_(timeline),
        rows_(style_, file, KinetoBaseNs(run.session_start_ns)),
        host_{.pid = ProcessIdOf(*run.cluster, rank), .tid = ProcessIdOf(*run.cluster, rank)},
        envelope_(run, rank, style_, CaptureOf(timeline), std::move(name), &rows_),
        numbers_(CallNumbersOf(run, rank, timeline)),
        multiprocessors_(OldNcclNames(options_) ? 108 : 132) {
    for (const KernelShape& kernel : run.program->kernels()) {
      launch_args_.push_back(LaunchArgs(style_, kernel, kernel.shape, multiprocessors_));
    }
  }

  void Write() {
    envelope_.Head();
    HostRows();
    if (options_.stacks) StackRows();
    for (const std::vector<size_t>& stream : DeviceRowsByStream()) DeviceRows(stream);
    OtherCalls();
    if (style_.device_annotations) DeviceAnnotations();
    envelope_.Tail();
  }

 private:
  [[nodiscard]] const Op& OpOf(const Activity& activity) const {
    return run_.program->StepOf(activity.step, rank_).ops[activity.op];
  }
  [[nodiscard]] const RankGroup& GroupOf(const Op& op) const {
    return run_.cluster->communicators[static_cast<size_t>(run_.cluster->CommunicatorOf(rank_, op.group))];
  }
  [[nodiscard]] bool named_only() const { return options_.ids == IdLevel::kNames; }
  [[nodiscard]] RowPlace OnDevice(Stream stream) const { return {place_.device, StreamNumber(stream), true}; }

  // Numbers of host rows: the framework's operator, record_param_comms and the annotation of activity i.
  static uint64_t OperatorId(size_t activity) { return 3 * activity + 1; }
  static uint64_t ParamCommsId(size_t activity) { return 3 * activity + 2; }
  static uint64_t AnnotationId(size_t activity) { return 3 * activity + 3; }
  // What the device row of activity i names as its host row.
  [[nodiscard]] uint64_t LinkOf(size_t activity, const Op& op) const {
    if (style_.external_id_is_correlation) return CorrelationOf(activity);
    const bool described = op.kind == OpKind::kCollective && !named_only() && TellsGroup(op) && !IsFused(op);
    return described ? ParamCommsId(activity) : OperatorId(activity);
  }
  // Coalesced calls: the kernel is launched after them all and linked to none.
  static bool IsFused(const Op& op) { return op.collective == CollectiveOp::kSendRecv; }
  [[nodiscard]] CollectiveCall CallOfKernel(size_t index, const Op& op) const {
    const int32_t peer = PeerOf(run_, rank_, op);
    return {.op = op.collective,
            .dtype = op.dtype,
            .bytes = BytesOf(run_, rank_, timeline_.activities[index].step, op),
            .source = op.receive_from >= 0 ? peer : -1,
            .target = op.send_to >= 0 ? peer : -1,
            .seq = numbers_[index].seq};
  }

  std::string HostArgs(uint64_t id, std::string_view more = "") {
    return fmt::format(FMT_COMPILE(R"("External id": {}, "Record function id": {}{}, "Ev Idx": {})"), id, id, more,
                       event_index_++);
  }

  void HostRows() {
    for (const StepSpan& span : timeline_.steps) {
      const StepOps& step = run_.program->StepOf(span.step, rank_);
      const uint64_t first_id = 3 * timeline_.activities.size() + static_cast<uint64_t>(span.step) * 64 + 1;
      if (span.end_ns != 0) {
        rows_.Complete(style_.annotation, fmt::format("ProfilerStep#{}", span.step), host_, span.start_ns, span.end_ns,
                       HostArgs(first_id));
      }
      for (size_t i = 0; i < step.ranges.size(); ++i) {
        const OpRange& range = step.ranges[i];
        const auto at = IntervalOf(timeline_, span.first_activity + range.first_op, span.first_activity + range.last_op,
                                   kPhaseMarginNs);
        if (!at) continue;
        rows_.Complete(style_.annotation, range.name, host_, at->start_ns, at->end_ns, HostArgs(first_id + 1 + i));
      }
      for (size_t op = 0; op < step.ops.size(); ++op) HostRowsOf(span.first_activity + op, step.ops[op]);
    }
  }

  [[nodiscard]] std::string_view HostOpOf(const Op& op) const { return run_.program->kernels()[op.kernel].host_op; }

  void HostRowsOf(size_t index, const Op& op) {
    if (!HasHostRow(timeline_.activities[index], op)) return;
    if (op.kind == OpKind::kCollective && TellsGroup(op)) return CollectiveRows(index, op);
    if (!StartsDeviceWork(op.kind)) return;
    const HostInterval at = *IntervalOf(timeline_, index, index, kFrameworkMarginNs);
    rows_.Complete(style_.cpu_op, OperatorOf(op), host_, at.start_ns, at.end_ns, HostArgs(OperatorId(index)));
    for (int32_t row = 0; row < options_.host_rows; ++row) {
      const int64_t slot = (kFrameworkMarginNs - 50) / options_.host_rows;
      const int64_t start = at.start_ns + 20 + slot * row;
      rows_.Complete(style_.cpu_op, row % 2 == 0 ? "aten::empty" : "aten::view", host_, start, start + slot / 2,
                     HostArgs(OperatorId(index)));
    }
  }

  [[nodiscard]] std::string_view OperatorOf(const Op& op) const {
    switch (op.kind) {
      case OpKind::kKernel:
        return run_.program->kernels()[op.kernel].host_op;
      case OpKind::kCollective:
        return "_C_custom_ar::all_reduce";
      case OpKind::kMemcpy:
        return "aten::copy_";
      default:
        return "aten::zero_";
    }
  }

  void CollectiveRows(size_t index, const Op& op) {
    size_t first = index - timeline_.activities[index].op + op.first_of_call;
    if (timeline_.activities[first].call_end_ns == 0) first = index;  // the capture began within the call
    const C10dNames names = C10dNamesOf(op.collective);
    const HostInterval outer = *IntervalOf(timeline_, first, index, kFrameworkMarginNs);
    rows_.Complete(style_.cpu_op, names.host_op, host_, outer.start_ns, outer.end_ns, HostArgs(OperatorId(index)));
    if (named_only() || style_.year == 2021) return;
    if (IsFused(op)) {
      CoalescedRows(index, op);
    } else {
      ParamCommsRow(CallOfKernel(index, op), op, *IntervalOf(timeline_, first, index, kCollectiveMarginNs),
                    ParamCommsId(index));
    }
    const HostInterval inner = *IntervalOf(timeline_, first, index, kInnerMarginNs);
    rows_.Complete(style_.annotation, names.annotation, host_, inner.start_ns, inner.end_ns,
                   HostArgs(AnnotationId(index)));
  }

  void ParamCommsRow(const CollectiveCall& call, const Op& op, const HostInterval& at, uint64_t id) {
    std::string args;
    if (style_.collective_args) {
      const RankGroup& group = GroupOf(op);
      const bool pairwise = call.source >= 0 || call.target >= 0;
      const int32_t peer = std::max(call.source, call.target);
      const int32_t own = op.root >= 0 ? op.root : run_.cluster->PositionIn(group, pairwise ? peer : rank_);
      args = fmt::format(R"(, {}, "Rank": {})", CollectiveArgs(style_, call, group), own);
      if (style_.strides) {
        args += fmt::format(R"(, "Global rank start": {}, "Global rank stride": {})", group.members.front(),
                            group.members[1] - group.members[0]);
      }
    }
    rows_.Complete(style_.cpu_op, "record_param_comms", host_, at.start_ns, at.end_ns, HostArgs(id, args));
  }

  // Both calls come before the launch, which belongs to neither.
  void CoalescedRows(size_t index, const Op& op) {
    const int64_t launch = timeline_.activities[index].call_start_ns;
    CollectiveCall send = CallOfKernel(index, op);
    CollectiveCall receive = send;
    send.op = CollectiveOp::kSend;
    send.source = -1;
    receive.op = CollectiveOp::kRecv;
    receive.target = -1;
    ParamCommsRow(send, op, {launch - 240, launch - 140}, ParamCommsId(index));
    ParamCommsRow(receive, op, {launch - 120, launch - 20}, ParamCommsId(index));
  }

  void StackRows() {
    uint64_t python_id = 1;
    for (size_t index = 0; index < timeline_.activities.size(); ++index) {
      const Op& op = OpOf(timeline_.activities[index]);
      if (!StartsDeviceWork(op.kind) || op.kind == OpKind::kCollective) continue;
      if (!HasHostRow(timeline_.activities[index], op)) continue;
      for (int32_t depth = 0; depth < kStackDepth; ++depth) {
        const HostInterval at = *IntervalOf(timeline_, index, index, kPhaseMarginNs + 5 * (kStackDepth - depth));
        rows_.Complete("python_function", fmt::format(kFrame, 100 + 17 * depth, depth), host_, at.start_ns, at.end_ns,
                       fmt::format(R"("Python parent id": {}, "Python id": {}, "Ev Idx": {})", python_id - 1, python_id,
                                   event_index_++));
        ++python_id;
      }
    }
  }

  [[nodiscard]] std::array<std::vector<size_t>, kStreams> DeviceRowsByStream() const {
    std::array<std::vector<size_t>, kStreams> rows;
    for (size_t index = 0; index < timeline_.activities.size(); ++index) {
      const Op& op = OpOf(timeline_.activities[index]);
      if (HasDeviceRow(timeline_.activities[index], op)) rows[static_cast<size_t>(op.stream)].push_back(index);
    }
    return rows;
  }

  void DeviceRows(const std::vector<size_t>& indices) {
    for (const size_t index : indices) {
      const Activity& activity = timeline_.activities[index];
      const Op& op = OpOf(activity);
      DeviceRow(index, activity, op);
      if (activity.call_end_ns == 0) continue;  // launched before the capture
      const uint64_t correlation = CorrelationOf(LaunchOf(index, activity, op));
      rows_.Flow(false, correlation, OnDevice(op.stream), activity.start_ns);
      if (HasHostRow(activity, op)) RuntimeRow(index, activity, op);
      rows_.Flow(true, correlation, host_, activity.call_start_ns);
    }
  }

  // `"External id": 7, "device": 0, "context": 1, "stream": 7, "correlation": 1007` with what stands in between; what a
  // graph replays has no link to an operator, but to its node.
  std::string DeviceArgs(size_t index, const Op& op, bool queued) {
    const size_t launch = LaunchOf(index, timeline_.activities[index], op);
    const std::string where = fmt::format(
        FMT_COMPILE(R"({}"device": {}, "context": {}, "stream": {}, "correlation": {})"),
        queued ? "\"queued\": 0, " : "", place_.device, kKinetoContext, StreamNumber(op.stream), CorrelationOf(launch));
    if (op.in_graph) {
      if (style_.year < 2024) return where;
      return fmt::format(R"({}, "graph id": {}, "graph node id": {})", where, kGraphId, index - launch);
    }
    const std::string link = fmt::format(FMT_COMPILE(R"("{}": {})"), style_.external_id, LinkOf(index, op));
    return style_.year == 2021 ? where + ", " + link : link + ", " + where;
  }

  void DeviceRow(size_t index, const Activity& activity, const Op& op) {
    if (op.kind == OpKind::kMemcpy || op.kind == OpKind::kMemset) return CopyRow(index, activity, op);
    const KernelShape& kernel = run_.program->kernels()[op.kernel];
    const LaunchShape shape = ShapeOf(run_, rank_, activity.step, op);
    std::string args = DeviceArgs(index, op, true) + ", ";
    args += shape == kernel.shape ? launch_args_[op.kernel] : LaunchArgs(style_, kernel, shape, multiprocessors_);
    if (op.kind == OpKind::kCollective && style_.collective_args && TellsGroup(op) && !IsFused(op)) {
      args += ", " + CollectiveArgs(style_, CallOfKernel(index, op), GroupOf(op));
    }
    rows_.Complete(style_.kernel, kernel.name, OnDevice(op.stream), activity.start_ns, activity.end_ns, args);
  }

  static std::string CopyName(const Op& op) {
    const std::string_view host = op.pageable ? "Pageable" : "Pinned";
    if (op.copy == CopyKind::kHostToDevice) return fmt::format("Memcpy HtoD ({} -> Device)", host);
    if (op.copy == CopyKind::kDeviceToHost) return fmt::format("Memcpy DtoH (Device -> {})", host);
    return "Memcpy DtoD (Device -> Device)";
  }

  void CopyRow(size_t index, const Activity& activity, const Op& op) {
    const bool copy = op.kind == OpKind::kMemcpy;
    const std::string name = copy ? CopyName(op) : "Memset (Device)";
    const int64_t length = std::max<int64_t>(1, activity.end_ns - activity.start_ns);
    rows_.Complete(
        copy ? style_.memcpy : style_.memset, name, OnDevice(op.stream), activity.start_ns, activity.end_ns,
        fmt::format(R"row({}, "bytes": {}, "memory bandwidth (GB/s)": {:.9g})row", DeviceArgs(index, op, false),
                    op.bytes, static_cast<double>(op.bytes) / static_cast<double>(length)));
  }

  void RuntimeRow(size_t index, const Activity& activity, const Op& op) {
    const CudaCall& call = CallOf(op.kind);
    rows_.Complete(style_.runtime, call.name, host_, activity.call_start_ns, activity.call_end_ns,
                   fmt::format(FMT_COMPILE(R"("{}": {}, "cbid": {}, "correlation": {})"), style_.external_id,
                               LinkOf(index, op), call.callback_id, CorrelationOf(index)));
  }

  void OtherCalls() {
    for (size_t index = 0; index < timeline_.activities.size(); ++index) {
      const Activity& activity = timeline_.activities[index];
      const Op& op = OpOf(activity);
      if (HasDeviceRow(activity, op) || !HasHostRow(activity, op)) continue;
      RuntimeRow(index, activity, op);
      const bool synchronises = op.kind == OpKind::kStreamWait || op.kind == OpKind::kStreamSync;
      if (style_.sync_rows && synchronises) SyncRow(index, activity, op);
    }
  }

  void SyncRow(size_t index, const Activity& activity, const Op& op) {
    const bool wait = op.kind == OpKind::kStreamWait;
    const std::string_view name = wait ? "Stream Wait Event" : "Stream Sync";
    const std::string more = wait ? fmt::format(R"("wait_on_stream": {}, "wait_on_cuda_event_record_corr_id": {}, )"
                                                R"("wait_on_cuda_event_id": {}, )",
                                                StreamNumber(op.waits_for), CorrelationOf(index) - 1, 40)
                                  : std::string();
    RowPlace place = OnDevice(op.stream);
    if (!wait && style_.year >= 2026) place.tid += 1'000'000;
    rows_.Complete(
        "cuda_sync", name, place, activity.call_start_ns, activity.call_end_ns,
        fmt::format(R"("cuda_sync_kind": "{}", {}"stream": {}, "correlation": {}, "device": {}, "context": {})", name,
                    more, StreamNumber(op.stream), CorrelationOf(index), place_.device, kKinetoContext));
  }

  void DeviceAnnotation(std::string_view name, Stream stream, int64_t start_ns, int64_t end_ns, uint64_t id) {
    rows_.Complete("gpu_user_annotation", name, OnDevice(stream), start_ns - style_.annotation_before_ns,
                   end_ns + style_.annotation_after_ns, fmt::format(R"("External id": {})", id));
  }

  void DeviceAnnotations() {
    for (const StepSpan& span : timeline_.steps) {
      const StepOps& step = run_.program->StepOf(span.step, rank_);
      int64_t first = 0;
      int64_t last = 0;
      for (size_t op = 0; op < step.ops.size(); ++op) {
        const size_t index = span.first_activity + op;
        const Activity& activity = timeline_.activities[index];
        if (!HasDeviceRow(activity, step.ops[op]) || activity.call_end_ns == 0) continue;
        if (step.ops[op].kind == OpKind::kCollective && !named_only() && TellsGroup(step.ops[op])) {
          DeviceAnnotation(C10dNamesOf(step.ops[op].collective).annotation, step.ops[op].stream, activity.start_ns,
                           activity.end_ns, AnnotationId(index));
        }
        if (step.ops[op].stream != Stream::kCompute) continue;
        first = first == 0 ? activity.start_ns : first;
        last = activity.end_ns;
      }
      if (style_.device_steps && first != 0 && span.end_ns != 0) {
        DeviceAnnotation(fmt::format("ProfilerStep#{}", span.step), Stream::kCompute, first, last, 0);
      }
    }
  }

  const RunDescription& run_;
  const SimulatorOptions& options_;
  KinetoStyle style_;
  int32_t rank_;
  const RankPlace& place_;
  const RankTimeline& timeline_;
  KinetoRows rows_;
  RowPlace host_;
  KinetoEnvelope envelope_;
  std::vector<CallNumber> numbers_;
  int32_t multiprocessors_;
  std::vector<std::string> launch_args_;
  uint64_t event_index_ = 0;
};

class KinetoWriter : public TraceWriter {
 public:
  explicit KinetoWriter(const RunDescription& run) : run_(run) {}

  absl::StatusOr<std::vector<WrittenFile>> Write(const HostCapture& capture, const std::string& folder) override {
    std::vector<WrittenFile> files;
    for (size_t i = 0; i < capture.ranks.size(); ++i) {
      const int32_t rank = capture.first_rank + static_cast<int32_t>(i);
      const std::string name = fmt::format("rank{}.json{}", rank, run_.options->gzip ? ".gz" : "");
      LOCKSTEP_ASSIGN_OR_RETURN(auto file, OutputFile::Create(folder + "/" + name, run_.options->gzip));
      RankFile(run_, rank, capture.ranks[i], file.get(), fmt::format("rank{}.json", rank)).Write();
      LOCKSTEP_RETURN_IF_ERROR(file->Close());
      files.push_back({.name = name, .ranks = {rank}});
    }
    return files;
  }

 private:
  const RunDescription& run_;
};

}  // namespace

std::unique_ptr<TraceWriter> MakeKinetoWriter(const RunDescription& run) { return std::make_unique<KinetoWriter>(run); }

}  // namespace lockstep
