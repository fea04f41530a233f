#include "analysis/report/rows/profile.h"

namespace lockstep::report {
namespace {

// The fields that ProfileStep and ProfileRank share, behind `fields`.
template <typename R>
std::vector<Field> WithParts(std::vector<Field> fields) {
  const std::vector<Field> parts = {
      F<&R::compute_ns, R>("compute_ns", "Time in which a kernel runs that is not communication."),
      F<&R::exposed_wait_ns, R>("exposed_wait_ns",
                                "Time in which nothing is computed and communication waits for a later rank."),
      F<&R::exposed_transfer_ns, R>("exposed_transfer_ns",
                                    "Time in which nothing is computed and communication moves data."),
      F<&R::exposed_unresolved_ns, R>("exposed_unresolved_ns",
                                      "Time in which nothing is computed and communication runs whose wait cannot be "
                                      "separated from its transfer."),
      F<&R::copy_only_ns, R>("copy_only_ns", "Time in which a copy runs, and neither computing nor communication."),
      F<&R::opaque_only_ns, R>("opaque_only_ns",
                               "Time in which a CUDA graph traced as one whole span runs, and no other activity."),
      F<&R::idle_host_ns, R>("idle_host_ns", "Idle time in which the host had not launched the next work yet."),
      F<&R::idle_launch_ns, R>("idle_launch_ns", "Idle time between a launch call and the start of its kernel."),
      F<&R::idle_dependency_ns, R>("idle_dependency_ns",
                                   "Idle time in which launched work waited for other work of its rank."),
      F<&R::idle_other_ns, R>("idle_other_ns", "Idle time for which no cause is known."),
  };
  fields.insert(fields.end(), parts.begin(), parts.end());
  return fields;
}

}  // namespace

const Record& ProfileStep::Fields() {
  using R = ProfileStep;
  static const Record record{
      "profile_step", "One step of the job, summed over its ranks. The ten parts sum to span_total_ns.",
      WithParts<R>({
          F<&R::step>("step", "Number of the step."),
          F<&R::longest_ns>(
              "longest_ns",
              "The job's step time: from when the last rank begins the step to when the last rank begins the "
              "next one, so that the steps add up to the run."),
          F<&R::longest_rank>("longest_rank", "Rank on which the step takes longest; the lowest of equal ones."),
          F<&R::span_total_ns>("span_total_ns", "Sum of the step's time over the ranks."),
          F<&R::kernel_time_ns>("kernel_time_ns",
                                "Sum of the durations of the kernels that were launched in the step."),
      })};
  return record;
}

const Record& ProfileRank::Fields() {
  using R = ProfileRank;
  static const Record record{
      "profile_rank", "One rank, summed over the steps of the job. The ten parts sum to span_total_ns.",
      WithParts<R>({
          F<&R::rank>("rank", "Global rank."),
          F<&R::host>("host", "Host name. Null where it is not known."),
          F<&R::gpu_uuid>("gpu_uuid", "UUID of the GPU. Null where the trace lacks it."),
          F<&R::gpu_name>("gpu_name", "Model of the GPU. Null where the trace lacks it."),
          F<&R::span_total_ns>("span_total_ns", "Sum of the steps' time on this rank."),
          F<&R::wait_total_ns>("wait_total_ns",
                               "Time that this rank waited in collectives whose arrivals can be compared, hidden or "
                               "not. Null without such collectives."),
          F<&R::caused_wait_total_ns>("caused_wait_total_ns",
                                      "Time that the others certainly waited for this rank. Null without such "
                                      "collectives."),
      })};
  return record;
}

const Record& ProfileKernel::Fields() {
  using R = ProfileKernel;
  static const Record record{
      "profile_kernel",
      "Kernels of one name, summed over the ranks.",
      {
          F<&R::name>("name", "Demangled name."),
          F<&R::mangled>("mangled", "Mangled name. Null where the trace lacks it or several share the name."),
          F<&R::category>("category", "Category of the kernel. Null where kernels of several share the name."),
          F<&R::family>("family", "Family of the kernel. Null where kernels of several share the name."),
          F<&R::range>("range",
                       "Innermost range or annotation around at least 95 % of the launches, with # for the numbers in "
                       "its name. Null without one, or if it marks the steps.")
              .Later(),
          F<&R::ranks>("ranks", "Number of ranks that ran it."),
          F<&R::instances>("instances", "Number of instances in what was selected."),
          F<&R::total_ns>("total_ns", "Sum of their durations."),
          F<&R::duration_ns>("duration_ns", "Their durations."),
          F<&R::places>("places",
                        "Where in a step they start, as shares of the step's time: the quartiles of up to 256 of the "
                        "longest instances of each rank. Empty where that is not known."),
          F<&R::typical_places>("typical_places",
                                "Which kernels of a typical step they are on the lowest rank that knows it, in the "
                                "order of their start on the device: rising numbers from 0, of more than 64 the first "
                                "63 and the last one. Null where the step has none, or none is known to be typical.")
              .Later(),
          F<&R::typical_kernels>("typical_kernels",
                                 "Number of kernels of that step on that rank. Null where typical_places is.")
              .Later(),
          F<&R::step_ns>("step_ns",
                         "Sum of durations in each of the steps, in their order, by launch. Null for kernels that are "
                         "not among the 32 largest names on every rank that ran them."),
          F<&R::step_instances>("step_instances", "Number of instances in these steps. Null where step_ns is."),
      }};
  return record;
}

const Record& ProfileCollective::Fields() {
  using R = ProfileCollective;
  static const Record record{
      "profile_collective",
      "Collectives of one operation, type, message size and kind of group, summed over the groups of that kind.",
      {
          F<&R::op>("op", "Operation. Null where it is not known."),
          F<&R::dtype>("dtype", "Data type. Null where it is not known."),
          F<&R::bytes>("bytes", "Size of the message. Null where it is not known."),
          F<&R::members>("members", "Number of ranks in the group."),
          F<&R::desc>("desc", "Description or name that the groups share. Null where they have none, or several."),
          F<&R::groups>("groups", "Number of groups."),
          F<&R::instances>("instances", "Number of collectives, matched or not."),
          F<&R::matched>("matched", "Number of those that were matched across ranks."),
          F<&R::wait_ns>("wait_ns", "Waiting times, one a member and collective."),
          F<&R::wait_total_ns>("wait_total_ns", "Sum of the waiting times."),
          F<&R::transfer_ns>("transfer_ns", "Time from the last arrival to the end, one a collective."),
          F<&R::bus_bandwidth_gbps>("bus_bandwidth_gbps",
                                    "Bus bandwidth as nccl-tests has it, of collectives with little waiting."),
      }};
  return record;
}

const Record& Profile::Fields() {
  using R = Profile;
  static const Record record{
      "",
      "What `lockstep compare` needs of a run: its steps, ranks, kernels and collectives, summed.",
      {
          F<&R::ranks>("ranks", "Number of ranks that have steps: those which the steps are summed over."),
          F<&R::comparable_steps>("comparable_steps",
                                  "Whether the ranks number their steps alike, so that equal numbers are one step of "
                                  "the job."),
          F<&R::partial_steps>("partial_steps",
                               "Number of steps that some of these ranks have and others lack: they are left out."),
          F<&R::steps>("steps",
                       "Steps that all these ranks have, ascending by number. The last step of a capture is left out, "
                       "because nothing shows where it ends, unless it is the only one."),
          F<&R::by_rank>("by_rank", "The ranks, over these steps."),
          F<&R::kernels>("kernels", "Kernels by name, by total_ns descending."),
          F<&R::collectives>("collectives", "Collectives by operation, type, size and kind of group."),
          F<&R::context>("context", "What makes runs comparable: versions, GPU models, profiler options."),
      }};
  return record;
}

}  // namespace lockstep::report
