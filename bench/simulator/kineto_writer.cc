// One Kineto file for each rank: host rows first, then device rows by stream with their launches, annotations of the
// device, names of processes and streams, and the marks that end every file.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/status_macros.h"
#include "bench/simulator/kineto_rows.h"
#include "bench/simulator/kineto_style.h"
#include "bench/simulator/output_file.h"
#include "bench/simulator/trace_writer.h"

namespace lockstep {
namespace {

constexpr int32_t kContext = 1;
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
        name_(std::move(name)),
        base_ns_(KinetoBaseNs(run.session_start_ns)),
        rows_(style_, file, base_ns_),
        host_{.pid = ProcessIdOf(*run.cluster, rank), .tid = ProcessIdOf(*run.cluster, rank)},
        sequence_(SequenceNumbers(run, rank, timeline)) {
    for (const KernelShape& kernel : run.program->kernels()) {
      launch_args_.push_back(LaunchArgs(style_, kernel, OldNcclNames(options_) ? 108 : 132));
    }
  }

  void Write() {
    Head();
    HostRows();
    if (options_.stacks) StackRows();
    for (size_t stream = 0; stream < kStreams; ++stream) DeviceRows(static_cast<Stream>(stream));
    OtherCalls();
    if (style_.device_annotations) DeviceAnnotations();
    ProcessNames();
    Tail();
  }

 private:
  [[nodiscard]] const Op& OpOf(const Activity& activity) const {
    return run_.program->StepOf(activity.step, rank_).ops[activity.op];
  }
  [[nodiscard]] const Communicator& GroupOf(const Op& op) const {
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
    return op.kind == OpKind::kCollective && !named_only() ? ParamCommsId(activity) : OperatorId(activity);
  }

  std::string HostArgs(uint64_t id, std::string_view more = "") {
    return fmt::format(FMT_COMPILE(R"("External id": {}, "Record function id": {}{}, "Ev Idx": {})"), id, id, more,
                       event_index_++);
  }

  void Head() {
    rows_.Text("\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    const bool old = OldNcclNames(options_);
    for (int32_t device = 0; device < run_.cluster->gpus_per_host; ++device) {
      rows_.Text(fmt::format(
          "{}\n    {{\n      \"id\": {}, \"name\": \"{}\", \"totalGlobalMem\": {},\n      \"computeMajor\": {}, "
          "\"computeMinor\": 0,\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      "
          "\"regsPerBlock\": 65536, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 49152, \"numSms\": {}\n    }}",
          device == 0 ? "" : ",", device, GpuName(options_), int64_t{85'017'755'648}, old ? 8 : 9, old ? 108 : 132));
    }
    rows_.Text("\n  ],\n");
    Versions();
    if (!named_only()) DistributedInfo();
    if (style_.base_first) Base("  ", ",\n");
    rows_.Text("  \"traceEvents\": [\n");
  }

  void Versions() {
    if (style_.year >= 2024) {
      rows_.Text("  \"cupti_version\": 24,\n  \"cuda_runtime_version\": 12080,\n  \"cuda_driver_version\": 12080,\n");
    }
    if (style_.year >= 2023) rows_.Text(options_.stacks ? "  \"with_stack\": 1,\n" : "  \"record_shapes\": 0,\n");
    if (style_.host_name) rows_.Text(fmt::format("  \"host_name\": \"{}\",\n", run_.cluster->HostName(place_.host)));
  }

  void DistributedInfo() {
    std::string text = fmt::format(R"(  "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {})", rank_,
                                   run_.cluster->world());
    if (style_.group_config) {
      std::vector<std::string> groups;
      for (const int32_t index : place_.groups) {
        if (index < 0) continue;
        const Communicator& group = run_.cluster->communicators[static_cast<size_t>(index)];
        groups.push_back(fmt::format(
            R"({{"pg_name": "{}", "pg_desc": "{}", "backend_config": "cuda:nccl", "pg_size": {}, "ranks": [{}]}})",
            group.name, group.desc, group.members.size(), fmt::join(group.members, ", ")));
      }
      text += fmt::format(R"(, "pg_count": {}, "pg_config": [{}], "nccl_version": "{}")",
                          run_.cluster->communicators.size(), fmt::join(groups, ", "),
                          style_.year >= 2026 ? "2.27.5" : "2.22.3");
    }
    rows_.Text(text + "},\n");
  }

  void Base(std::string_view indent, std::string_view end) {
    rows_.Text(
        fmt::format("{}\"displayTimeUnit\": \"ms\",\n{}\"baseTimeNanoseconds\": {}{}", indent, indent, base_ns_, end));
  }

  void HostRows() {
    for (const StepSpan& span : timeline_.steps) {
      const StepOps& step = run_.program->StepOf(span.step, rank_);
      const uint64_t first_id = 3 * timeline_.activities.size() + static_cast<uint64_t>(span.step) * 8 + 1;
      rows_.Complete(style_.annotation, fmt::format("ProfilerStep#{}", span.step), host_, span.start_ns, span.end_ns,
                     HostArgs(first_id));
      for (size_t i = 0; i < step.ranges.size(); ++i) {
        const OpRange& range = step.ranges[i];
        const HostInterval at = IntervalOf(timeline_, span.first_activity + range.first_op,
                                           span.first_activity + range.last_op, kPhaseMarginNs);
        rows_.Complete(style_.annotation, range.name, host_, at.start_ns, at.end_ns, HostArgs(first_id + 1 + i));
      }
      for (size_t op = 0; op < step.ops.size(); ++op) HostRowsOf(span.first_activity + op, step.ops[op]);
    }
  }

  [[nodiscard]] std::string_view HostOpOf(const Op& op) const { return run_.program->kernels()[op.kernel].host_op; }

  void HostRowsOf(size_t index, const Op& op) {
    if (op.kind == OpKind::kCollective) return CollectiveRows(index, op);
    if (!StartsOperator(op.kind)) return;
    const std::string_view copy_op = op.kind == OpKind::kMemcpy ? "aten::copy_" : "aten::zero_";
    const std::string_view name = op.kind == OpKind::kKernel ? HostOpOf(op) : copy_op;
    const HostInterval at = IntervalOf(timeline_, index, index, kFrameworkMarginNs);
    rows_.Complete(style_.cpu_op, name, host_, at.start_ns, at.end_ns, HostArgs(OperatorId(index)));
    for (int32_t row = 0; row < options_.host_rows; ++row) {
      const int64_t slot = (kFrameworkMarginNs - 50) / options_.host_rows;
      const int64_t start = at.start_ns + 20 + slot * row;
      rows_.Complete(style_.cpu_op, row % 2 == 0 ? "aten::empty" : "aten::view", host_, start, start + slot / 2,
                     HostArgs(OperatorId(index)));
    }
  }

  static bool StartsOperator(OpKind kind) {
    return kind == OpKind::kKernel || kind == OpKind::kMemcpy || kind == OpKind::kMemset;
  }

  void CollectiveRows(size_t index, const Op& op) {
    const size_t first = index - timeline_.activities[index].op + op.first_of_call;
    const C10dNames names = C10dNamesOf(op.collective);
    const HostInterval outer = IntervalOf(timeline_, first, index, kFrameworkMarginNs);
    rows_.Complete(style_.cpu_op, names.host_op, host_, outer.start_ns, outer.end_ns, HostArgs(OperatorId(index)));
    if (named_only() || style_.year == 2021) return;
    const HostInterval call = IntervalOf(timeline_, first, index, kCollectiveMarginNs);
    std::string args;
    if (style_.collective_args) {
      const Communicator& group = GroupOf(op);
      args = fmt::format(R"(, {}, "Rank": {}, "Global rank start": {}, "Global rank stride": {})",
                         CollectiveArgs(style_, op, group, sequence_[index]), run_.cluster->PositionIn(group, rank_),
                         group.members.front(), group.members[1] - group.members[0]);
    }
    rows_.Complete(style_.cpu_op, "record_param_comms", host_, call.start_ns, call.end_ns,
                   HostArgs(ParamCommsId(index), args));
    const HostInterval inner = IntervalOf(timeline_, first, index, kInnerMarginNs);
    rows_.Complete(style_.annotation, names.annotation, host_, inner.start_ns, inner.end_ns,
                   HostArgs(AnnotationId(index)));
  }

  void StackRows() {
    uint64_t python_id = 1;
    for (size_t index = 0; index < timeline_.activities.size(); ++index) {
      if (!StartsOperator(OpOf(timeline_.activities[index]).kind)) continue;
      for (int32_t depth = 0; depth < kStackDepth; ++depth) {
        const HostInterval at = IntervalOf(timeline_, index, index, kPhaseMarginNs + 5 * (kStackDepth - depth));
        rows_.Complete("python_function", fmt::format(kFrame, 100 + 17 * depth, depth), host_, at.start_ns, at.end_ns,
                       fmt::format(R"("Python parent id": {}, "Python id": {}, "Ev Idx": {})", python_id - 1, python_id,
                                   event_index_++));
        ++python_id;
      }
    }
  }

  void DeviceRows(Stream stream) {
    for (size_t index = 0; index < timeline_.activities.size(); ++index) {
      const Activity& activity = timeline_.activities[index];
      const Op& op = OpOf(activity);
      if (activity.end_ns == 0 || op.stream != stream) continue;
      DeviceRow(index, activity, op);
      const uint64_t correlation = CorrelationOf(index);
      rows_.Flow(false, correlation, OnDevice(stream), activity.start_ns);
      RuntimeRow(index, activity, op);
      rows_.Flow(true, correlation, host_, activity.call_start_ns);
    }
  }

  // `"External id": 7, "device": 0, "context": 1, "stream": 7, "correlation": 1007` with what stands in between.
  std::string DeviceArgs(size_t index, const Op& op, bool queued) {
    const std::string link = fmt::format(FMT_COMPILE(R"("{}": {})"), style_.external_id, LinkOf(index, op));
    const std::string where = fmt::format(
        FMT_COMPILE(R"({}"device": {}, "context": {}, "stream": {}, "correlation": {})"),
        queued ? "\"queued\": 0, " : "", place_.device, kContext, StreamNumber(op.stream), CorrelationOf(index));
    return style_.year == 2021 ? where + ", " + link : link + ", " + where;
  }

  void DeviceRow(size_t index, const Activity& activity, const Op& op) {
    if (op.kind == OpKind::kMemcpy || op.kind == OpKind::kMemset) return CopyRow(index, activity, op);
    std::string args = DeviceArgs(index, op, true) + ", " + launch_args_[op.kernel];
    if (op.kind == OpKind::kCollective && style_.collective_args) {
      args += ", " + CollectiveArgs(style_, op, GroupOf(op), sequence_[index]);
    }
    rows_.Complete(style_.kernel, run_.program->kernels()[op.kernel].name, OnDevice(op.stream), activity.start_ns,
                   activity.end_ns, args);
  }

  void CopyRow(size_t index, const Activity& activity, const Op& op) {
    const bool copy = op.kind == OpKind::kMemcpy;
    const std::string_view name = !copy                                ? "Memset (Device)"
                                  : op.copy == CopyKind::kHostToDevice ? "Memcpy HtoD (Pinned -> Device)"
                                                                       : "Memcpy DtoH (Device -> Pinned)";
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
      if (activity.end_ns != 0) continue;
      const Op& op = OpOf(activity);
      RuntimeRow(index, activity, op);
      if (style_.sync_rows && op.kind != OpKind::kEventRecord) SyncRow(index, activity, op);
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
                    more, StreamNumber(op.stream), CorrelationOf(index), place_.device, kContext));
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
        if (activity.end_ns == 0) continue;
        if (step.ops[op].kind == OpKind::kCollective && !named_only()) {
          DeviceAnnotation(C10dNamesOf(step.ops[op].collective).annotation, step.ops[op].stream, activity.start_ns,
                           activity.end_ns, AnnotationId(index));
        }
        if (step.ops[op].stream != Stream::kCompute) continue;
        first = first == 0 ? activity.start_ns : first;
        last = activity.end_ns;
      }
      if (style_.device_steps && first != 0) {
        DeviceAnnotation(fmt::format("ProfilerStep#{}", span.step), Stream::kCompute, first, last, 0);
      }
    }
  }

  void ProcessNames() {
    const int64_t at = timeline_.steps.front().start_ns;
    const std::string pid = std::to_string(host_.pid);
    rows_.Metadata("process_name", pid, 0, at, R"("name": "python3")");
    rows_.Metadata("process_labels", pid, 0, at, R"("labels": "CPU")");
    rows_.Metadata("process_sort_index", pid, 0, at, fmt::format(R"("sort_index": {})", host_.pid));
    for (int32_t device = 0; device < run_.cluster->gpus_per_host; ++device) {
      const std::string gpu = std::to_string(device);
      rows_.Metadata("process_name", gpu, 0, at, R"("name": "python3")");
      rows_.Metadata("process_labels", gpu, 0, at, fmt::format(R"("labels": "GPU {}")", device));
      rows_.Metadata("process_sort_index", gpu, 0, at, fmt::format(R"("sort_index": {})", 16'777'216 + device));
    }
    rows_.Metadata("thread_name", pid, host_.tid, at, fmt::format(R"row("name": "thread {} (python3)")row", host_.tid));
    for (size_t stream = 0; stream < kStreams; ++stream) {
      const int32_t number = StreamNumber(static_cast<Stream>(stream));
      rows_.Metadata("thread_name", std::to_string(place_.device), number, at,
                     fmt::format(R"("name": "stream {} ")", number));
    }
  }

  void Tail() {
    const int64_t start = timeline_.steps.front().start_ns;
    const int64_t end = timeline_.steps.back().end_ns;
    rows_.Text(
        fmt::format("  {{\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": {}, \"dur\": {},\n    \"pid\": \"Spans\", "
                    "\"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {{\n"
                    "      \"Op count\": 0\n    }}\n  }},\n",
                    rows_.Time(start), (end - start) / 1000));
    rows_.Text(
        fmt::format("  {{\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    "
                    "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": {}\n  }},\n",
                    rows_.Time(start)));
    rows_.Text(
        fmt::format("  {{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", "
                    "\"tid\": \"\", \"ts\": {}\n  }}\n  ],\n",
                    rows_.Time(end)));
    rows_.Text(fmt::format("  \"traceName\": \"{}\"{}\n", name_, style_.base_first || style_.whole_us ? "" : ","));
    if (!style_.base_first && !style_.whole_us) Base("  ", "\n");
    rows_.Text("}\n");
  }

  const RunDescription& run_;
  const SimulatorOptions& options_;
  KinetoStyle style_;
  int32_t rank_;
  const RankPlace& place_;
  const RankTimeline& timeline_;
  std::string name_;
  int64_t base_ns_;
  KinetoRows rows_;
  RowPlace host_;
  std::vector<int64_t> sequence_;
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
