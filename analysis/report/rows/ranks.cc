#include "analysis/report/rows/ranks.h"

namespace lockstep::report {

const Record& StepsOfRank::Fields() {
  using R = StepsOfRank;
  static const Record record{
      "",
      "Training steps, or passes of a serving engine, that the trace of a rank marks.",
      {
          F<&R::first>("first", "Lowest number of a step. Null without steps."),
          F<&R::last>("last", "Highest number of a step. Null without steps."),
          F<&R::count>("count", "Number of steps."),
          F<&R::source>("source",
                        "What marks the steps: the name that they share, such as ProfilerStep; where they have several "
                        "names or none, how they were found: profiler_step, range (--step-range), engine (passes that "
                        "a serving engine annotates) or detected (the rhythm of kernel launches). Null without steps."),
      }};
  return record;
}

const Record& RankRow::Fields() {
  using R = RankRow;
  static const Record record{
      "rank",
      "A rank that is analysed: where it ran, and which trace is its own.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::rank_source>("rank_source",
                             "What the rank's number is taken from: rank_map (--rank-map), metadata (PyTorch's "
                             "distributedInfo), mpi, nccl_init (NCCL's initialisation), environment, file_name, or "
                             "assumed."),
          F<&R::host>("host", "Name of its host. Null where it is not known."),
          F<&R::host_source>("host_source",
                             "What the host's name is taken from: rank_map, trace, file_name, option, assumed (ranks "
                             "of unknown host whose collectives show one clock), or unknown."),
          F<&R::domain>("domain", "Clock domain of the rank: ranks of one domain have timestamps of the same clock."),
          F<&R::capture>("capture", "Index, from 0, of the capture that the trace belongs to."),
          F<&R::device>("device", "Ordinal of its GPU in the process. Null where it is not known."),
          F<&R::pid>("pid", "Process ID. Null where it is not known."),
          F<&R::gpu_name>("gpu_name", "Product name of the GPU. Null where it is not known."),
          F<&R::gpu_uuid>("gpu_uuid", "UUID of the GPU, as nvidia-smi prints it. Null where it is not known."),
          F<&R::pci_bus>("pci_bus", "PCI bus ID of the GPU. Null where it is not known."),
          F<&R::format>("format", "Format of the trace: kineto (PyTorch) or nsys. Null where it is not known."),
          F<&R::tool_version>("tool_version", "Version of the profiler. Null where the trace does not state it."),
          F<&R::versions>("versions", "Versions of driver, CUDA, NCCL and others that the trace states, by component."),
          F<&R::path>("path", "Path of the trace file. Null where it is not known."),
          F<&R::start_unix_ns>("start_unix_ns",
                               "First start of device activity, in Unix time by the trace's own clock. Null without "
                               "device activity."),
          F<&R::span_ns>("span_ns",
                         "Time from the first start to the last end of device activity. Null without device activity."),
          F<&R::kernels>("kernels", "Number of kernels in the trace."),
          F<&R::collectives>("collectives", "Number of communication kernels among them."),
          F<&R::copies>("copies", "Number of memcpys and memsets in the trace."),
          F<&R::steps>("steps", "Steps that the trace marks."),
          F<&R::complete>("complete", "True if all data of the trace has arrived."),
      }};
  return record;
}

}  // namespace lockstep::report
