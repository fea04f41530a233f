#include "analysis/report/rows/host.h"

namespace lockstep::report {

const Record& HostRow::Fields() {
  using R = HostRow;
  static const Record record{
      "host",
      "Calls of one function of the CUDA runtime or driver API, over all ranks. What a stored run holds is of whole "
      "captures.",
      {
          F<&R::api>("api",
                     "Name of the function without a version suffix of four digits, as nsys stats prints it. (rest) "
                     "stands for the functions beyond the limit of names."),
          F<&R::ranks>("ranks", "Number of ranks that call it."),
          F<&R::calls>("calls", "Number of calls."),
          F<&R::total_ns>("total_ns", "Sum of the durations of the calls."),
          F<&R::duration_ns>("duration_ns", "Durations of the calls."),
          F<&R::p99_over_p50_ratio, R>("p99_over_p50_ratio",
                                       "p99 / p50 of the durations. Null without a p50 above zero, or without a p99.")
              .Later(),
          F<&R::max_over_p50_ratio, R>("max_over_p50_ratio", "Longest duration / p50. Null without a p50 above zero.")
              .Later(),
          F<&R::tail_flags, R>("tail_flags",
                               "\"systematic\" where p99 / p50 > 1.5, \"outliers\" where max / p50 > 2. Null without a "
                               "p50 above zero.")
              .OneOf({"systematic", "outliers"})
              .Later(),
          F<&R::launch_delay_ns>("launch_delay_ns",
                                 "Times from the end of a call to the start of the kernel that it launches; kernels "
                                 "that start before that end are left out."),
          F<&R::queue_ns>("queue_ns", "The same distribution as launch_delay_ns."),
      }};
  return record;
}

const Record& LaunchRow::Fields() {
  using R = LaunchRow;
  static const Record record{
      "launch",
      "Launches of one kernel by one API function on one thread of a rank, as cuda_kern_exec_sum of nsys stats has "
      "them. For a stored run, the numbers are those of whole captures.",
      {
          F<&R::api>("api", "Name of the API function. (rest) stands for what is beyond the limit of pairs."),
          F<&R::kernel>("kernel", "Name of the kernel. (rest) stands for what is beyond the limit of pairs."),
          F<&R::rank>("rank", "Global rank."),
          F<&R::pid>("pid", "Process of the rank. Null where it is not known."),
          F<&R::tid>("tid", "Thread that calls the API. Null where it is not known.").Later(),
          F<&R::device>("device", "Index of the device. Null where it is not known."),
          F<&R::count>("count", "Number of launches."),
          F<&R::queue_count>("queue_count", "Number of launches whose kernel starts no earlier than its call ends."),
          F<&R::total_ns>("total_ns",
                          "Times from the start of the call to the end of the kernel, or to that of the call if it is "
                          "later."),
          F<&R::api_ns>("api_ns", "Durations of the calls."),
          F<&R::queue_ns>("queue_ns",
                          "Times from the end of the call to the start of the kernel, of the launches that queue_count "
                          "counts."),
          F<&R::kernel_ns>("kernel_ns", "Durations of the kernels."),
      }};
  return record;
}

const Record& RangeRow::Fields() {
  using R = RangeRow;
  static const Record record{
      "range",
      "NVTX ranges and annotations of one domain, text and style, over all ranks. What a stored run holds is of whole "
      "captures.",
      {
          F<&R::range>(
              "range",
              "Text of the range, without the call numbers of PyTorch (\", op_id = N\", \", seq = N\"). (rest) "
              "stands for the texts beyond the limit of names."),
          F<&R::domain>("domain", "NVTX domain. Null for the default domain."),
          F<&R::style>("style",
                       "push_pop, start_end (begun by one call and ended by another, maybe on another thread), step "
                       "(pushed and popped, and marks a step) or collective (describes a collective)."),
          F<&R::rank>("rank", "Always null: ranges are summed over the ranks."),
          F<&R::instances>("instances", "Number of ranges."),
          F<&R::total_ns>("total_ns", "Sum of the durations on the host."),
          F<&R::duration_ns>("duration_ns", "Durations on the host."),
          F<&R::projected_ns>("projected_ns",
                              "Durations on the device, of the ranges inside which their thread launched device work: "
                              "from the first start to the last end of that work."),
      }};
  return record;
}

}  // namespace lockstep::report
