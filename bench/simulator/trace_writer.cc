#include "bench/simulator/trace_writer.h"

#include <array>

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

std::vector<int64_t> SequenceNumbers(const RunDescription& run, int32_t rank, const RankTimeline& timeline) {
  std::vector<int64_t> next;
  for (const Communicator& group : run.cluster->communicators) next.push_back(group.first_seq);
  std::vector<int64_t> numbers(timeline.activities.size(), -1);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Activity& activity = timeline.activities[i];
    const Op& op = run.program->StepOf(activity.step, rank).ops[activity.op];
    if (op.kind != OpKind::kCollective) continue;
    numbers[i] = next[static_cast<size_t>(run.cluster->CommunicatorOf(rank, op.group))]++;
  }
  return numbers;
}

HostInterval IntervalOf(const RankTimeline& timeline, size_t first, size_t last, int64_t margin_ns) {
  return {timeline.activities[first].call_start_ns - margin_ns, timeline.activities[last].call_end_ns + margin_ns};
}

const CudaCall& CallOf(OpKind kind) {
  static constexpr std::array<CudaCall, 7> kCalls = {{
      {"cudaLaunchKernel", "cudaLaunchKernel_v7000", 211},
      {"cudaLaunchKernelExC", "cudaLaunchKernelExC_v11060", 430},
      {"cudaMemcpyAsync", "cudaMemcpyAsync_v3020", 41},
      {"cudaMemsetAsync", "cudaMemsetAsync_v3020", 51},
      {"cudaEventRecord", "cudaEventRecord_v3020", 135},
      {"cudaStreamWaitEvent", "cudaStreamWaitEvent_v3020", 147},
      {"cudaStreamSynchronize", "cudaStreamSynchronize_v3020", 131},
  }};
  return kCalls[static_cast<size_t>(kind)];
}

}  // namespace lockstep
