#include "analysis/report/rows/steps.h"

namespace lockstep::report {

const Record& IdleOfStep::Fields() {
  using R = IdleOfStep;
  static const Record record{
      "",
      "Idle time of a step by cause; the four sum to idle_ns.",
      {
          F<&R::host_ns>("host_ns", "Part of the gaps before the end of the call that launches the next activity."),
          F<&R::launch_ns>("launch_ns", "Rest of the gaps whose rest after host_ns is at most 15 us."),
          F<&R::dependency_ns>("dependency_ns",
                               "Rest of longer gaps, where a recorded event wait or synchronization precedes the next "
                               "activity on its stream."),
          F<&R::other_ns>("other_ns",
                          "All other idle time, such as gaps before an activity whose launch call is not in the "
                          "trace."),
      }};
  return record;
}

const Record& HostOfStep::Fields() {
  using R = HostOfStep;
  static const Record record{
      "",
      "What the host does in a step. Calls belong to the step in which they start, copies to that in which they are "
      "launched.",
      {
          F<&R::launch_ns>("launch_ns", "Time in the launch calls that launches counts."),
          F<&R::graph_launches>("graph_launches", "Number of those calls that launch a CUDA graph."),
          F<&R::sync_calls>("sync_calls", "Number of calls that wait for the device, such as cudaStreamSynchronize."),
          F<&R::sync_ns>("sync_ns", "Time in these calls."),
          F<&R::alloc_calls>("alloc_calls",
                             "Number of calls that allocate, release or register memory, such as cudaMalloc."),
          F<&R::alloc_ns>("alloc_ns", "Time in these calls."),
          F<&R::alloc_max_ns>("alloc_max_ns",
                              "Duration of the longest of these calls; over 1 ms it points to fragmented memory."),
          F<&R::host_copies>("host_copies", "Number of copies between host and device."),
          F<&R::host_copy_ns>("host_copy_ns", "Sum of the durations of these copies."),
      }};
  return record;
}

const Record& PhasesOfStep::Fields() {
  using R = PhasesOfStep;
  static const Record record{
      "",
      "Shares of the kernel time of a step that are launched inside annotations of training phases. What is launched "
      "in none of them counts in none.",
      {
          F<&R::forward_ratio>("forward_ratio", "Kernel time of the forward pass over all kernel time of the step."),
          F<&R::backward_ratio>("backward_ratio", "Kernel time of the backward pass over all kernel time of the step."),
          F<&R::optimizer_ratio>("optimizer_ratio", "Kernel time of the optimizer over all kernel time of the step."),
      }};
  return record;
}

const Record& BudgetOfStep::Fields() {
  using R = BudgetOfStep;
  static const Record record{
      "",
      "Shares of the device window that verdict compares; what is left is idle for another reason.",
      {
          F<&R::busy_ratio>("busy_ratio",
                            "(compute_ns + copy_only_ns + opaque_only_ns) / span_ns. Null for a window of zero "
                            "length."),
          F<&R::host_gap_ratio>("host_gap_ratio",
                                "(idle.host_ns + idle.launch_ns) / span_ns. Null for a window of zero length."),
          F<&R::communication_ratio>("communication_ratio",
                                     "exposed_comm_ns / span_ns. Null for a window of zero length."),
      }};
  return record;
}

namespace {

std::vector<Field> TimesOfStep() {
  using R = StepRow;
  return {
      F<&R::rank>("rank", "Global rank."),
      F<&R::step>("step", "Number of the step, as the trace has it, else counted from the first one of the rank."),
      F<&R::name>("name", "Text of the range that marks the step. Null where no range marks it."),
      F<&R::start_ns>("start_ns",
                      "Start of the device window, since the run's start: the earliest start of an activity that is "
                      "launched in the step."),
      F<&R::span_ns>("span_ns", "Length of the device window, which ends where that of the next step starts."),
      F<&R::first_start_ns>("first_start_ns",
                            "First start of an activity that is launched in the step, since the run's start. Null "
                            "where none is known."),
      F<&R::last_end_ns>("last_end_ns",
                         "Last end of an activity that is launched in the step, since the run's start. Null where "
                         "none is known."),
  };
}

std::vector<Field> PartsOfStep() {
  using R = StepRow;
  return {
      F<&R::compute_ns>("compute_ns", "Time in which kernels compute: all but those that communicate."),
      F<&R::comm_ns>("comm_ns", "Time in which communication runs."),
      F<&R::exposed_comm_ns>("exposed_comm_ns",
                             "Time in which communication runs and nothing computes: exposed_wait_ns + "
                             "exposed_transfer_ns + exposed_unresolved_ns."),
      F<&R::exposed_wait_ns>("exposed_wait_ns", "Exposed time before the last rank has arrived at the collective."),
      F<&R::exposed_transfer_ns>("exposed_transfer_ns", "Exposed time after the last rank has arrived."),
      F<&R::exposed_unresolved_ns>("exposed_unresolved_ns",
                                   "Exposed time before an arrival that is unknown, ambiguous, or closer than its "
                                   "uncertainty."),
      F<&R::copy_only_ns>("copy_only_ns", "Time in which copies or memsets run, and no kernel."),
      F<&R::opaque_only_ns>("opaque_only_ns", "Time in which only CUDA graphs run that are traced as one span."),
      F<&R::idle_ns>("idle_ns", "Time in which no activity runs."),
      F<&R::idle>("idle", "idle_ns by cause."),
  };
}

std::vector<Field> FindingsOfStep() {
  using R = StepRow;
  return {
      F<&R::launches>("launches", "Number of launch calls that start in the step."),
      F<&R::host>("host", "What the host does in the step.").Later(),
      F<&R::phase>("phase",
                   "prefill, decode, mixed, forward, backward or optimizer: what annotations around the launches say, "
                   "else what attention kernels are made for. Null where neither tells."),
      F<&R::phases>("phases", "Kernel time by training phase. Null where no kernel is launched in such an annotation.")
          .Later(),
      F<&R::verdict>("verdict",
                     "Largest part of the window: device work (gpu), exposed communication (communication), or idle "
                     "time for the host (host). Null where none is over a third.")
          .OneOf({"gpu", "host", "communication"}),
      F<&R::budget>("budget", "The parts that verdict compares.").Later(),
      F<&R::why>("why",
                 "Why the step is slower than the median of the steps of the same rank and phase, with numbers. Null "
                 "for steps within the noise, and where fewer than five can be compared."),
  };
}

std::vector<Field> AllOfStep() {
  std::vector<Field> all = TimesOfStep();
  for (Field& field : PartsOfStep()) all.push_back(std::move(field));
  for (Field& field : FindingsOfStep()) all.push_back(std::move(field));
  return all;
}

}  // namespace

const Record& StepRow::Fields() {
  static const Record record{"step",
                             "One step of one rank, measured over its device window. compute_ns + exposed_comm_ns + "
                             "copy_only_ns + opaque_only_ns + idle_ns = span_ns.",
                             AllOfStep()};
  return record;
}

}  // namespace lockstep::report
