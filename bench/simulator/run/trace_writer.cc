#include "bench/simulator/run/trace_writer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/simulator/engine/exchange.h"

namespace lockstep {

TraceForm FormOfHost(const SimulatorOptions& options, int32_t host) {
  if (options.form != TraceForm::kMixed) return options.form;
  return host % 2 == 0 ? TraceForm::kKineto : TraceForm::kNsys;
}

int64_t ProcessIdOf(const Cluster& cluster, int32_t rank) {
  return 10'000 + cluster.ranks[static_cast<size_t>(rank)].device;
}

std::string GpuName(const SimulatorOptions& options) {
  return OldNcclNames(options) ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H100 80GB HBM3";
}

std::vector<CallNumber> CallNumbersOf(const RunDescription& run, int32_t rank, const RankTimeline& timeline) {
  const Cluster& cluster = *run.cluster;
  std::vector<int64_t> collectives(cluster.communicators.size(), 0);
  std::vector<int64_t> pairwise(cluster.communicators.size(), 0);
  std::vector<int64_t> met(cluster.meetings, 0);
  std::vector<CallNumber> numbers(timeline.activities.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Activity& activity = timeline.activities[i];
    const Op& op = run.program->StepOf(activity.step, rank).ops[activity.op];
    if (op.kind != OpKind::kCollective) continue;
    const auto group = static_cast<size_t>(cluster.CommunicatorOf(rank, op.group));
    const int64_t first = cluster.communicators[group].first_seq;
    const int64_t own = IsPairwise(op) ? pairwise[group]++ : collectives[group]++;
    numbers[i] = {.seq = first + own, .shared = first + met[MeetingOf(cluster, op, rank)]++};
  }
  return numbers;
}

LaunchShape ShapeOf(const RunDescription& run, int32_t rank, int32_t step, const Op& op) {
  LaunchShape shape = run.program->kernels()[op.kernel].shape;
  if (run.effects == nullptr || op.kind != OpKind::kKernel) return shape;
  double work = run.effects->WorkFactor(rank, step);
  if (op.expert) work *= run.effects->ExpertFactor(rank, step);
  if (work != 1) shape.grid[0] = std::max(1, static_cast<int32_t>(std::lround(shape.grid[0] * work)));
  return shape;
}

int64_t BytesOf(const RunDescription& run, int32_t rank, int32_t step, const Op& op) {
  if (op.collective != CollectiveOp::kAllToAllV) return op.bytes;
  const auto index = static_cast<size_t>(run.cluster->CommunicatorOf(rank, op.group));
  const RankGroup& group = run.cluster->communicators[index];
  const auto position = static_cast<size_t>(run.cluster->PositionIn(group, rank));
  return Exchange(group, op, step, run.effects, run.rng).Sent(position);
}

int32_t PeerOf(const RunDescription& run, int32_t rank, const Op& op) {
  if (!IsPairwise(op)) return -1;
  const auto index = static_cast<size_t>(run.cluster->CommunicatorOf(rank, op.group));
  const int32_t position = op.send_to >= 0 ? op.send_to : op.receive_from;
  return run.cluster->communicators[index].members[static_cast<size_t>(position)];
}

std::optional<HostInterval> IntervalOf(const RankTimeline& timeline, size_t first, size_t last, int64_t margin_ns) {
  const Activity& begin = timeline.activities[first];
  const Activity& end = timeline.activities[last];
  if (begin.call_end_ns == 0 || end.call_end_ns == 0) return std::nullopt;
  return HostInterval{begin.call_start_ns - margin_ns, end.call_end_ns + margin_ns};
}

HostInterval CaptureOf(const RankTimeline& timeline) {
  HostInterval span;
  const auto widen = [&span](int64_t start_ns, int64_t end_ns) {
    if (end_ns == 0) return;
    span.start_ns = span.end_ns == 0 ? start_ns : std::min(span.start_ns, start_ns);
    span.end_ns = std::max(span.end_ns, end_ns);
  };
  for (const StepSpan& step : timeline.steps) widen(step.start_ns, step.end_ns);
  for (const Activity& activity : timeline.activities) widen(activity.call_start_ns, activity.call_end_ns);
  return span;
}

const CudaCall& CallOf(OpKind kind) {
  static constexpr std::array<CudaCall, 10> kCalls = {{
      {"cudaLaunchKernel", "cudaLaunchKernel_v7000", 211},
      {"cudaLaunchKernelExC", "cudaLaunchKernelExC_v11060", 430},
      {"cudaMemcpyAsync", "cudaMemcpyAsync_v3020", 41},
      {"cudaMemsetAsync", "cudaMemsetAsync_v3020", 51},
      {"cudaEventRecord", "cudaEventRecord_v3020", 135},
      {"cudaStreamWaitEvent", "cudaStreamWaitEvent_v3020", 147},
      {"cudaStreamSynchronize", "cudaStreamSynchronize_v3020", 131},
      {"cudaGraphLaunch", "cudaGraphLaunch_v10000", 311},
      {"cudaMalloc", "cudaMalloc_v3020", 20},
      {"cudaFree", "cudaFree_v3020", 22},
  }};
  return kCalls[static_cast<size_t>(kind)];
}

}  // namespace lockstep
