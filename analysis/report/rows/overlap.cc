#include "analysis/report/rows/overlap.h"

namespace lockstep::report {

const Record& OverlapRow::Fields() {
  using R = OverlapRow;
  static const Record record{
      "overlap",
      "How the time of one rank divides. Intervals that overlap count once: compute_ns + exposed_comm_ns + "
      "copy_only_ns + opaque_only_ns + idle_ns = span_ns.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::span_ns>("span_ns",
                         "Time from the first start to the last end of device activity in what was selected."),
          F<&R::compute_ns>("compute_ns", "Time in which a kernel runs that is not communication."),
          F<&R::comm_ns>("comm_ns", "Time in which communication runs: a kernel, or a collective of copy engines."),
          F<&R::copy_ns>("copy_ns", "Time in which a memcpy or memset runs on the device."),
          F<&R::overlap_ns>("overlap_ns",
                            "Time in which communication and computing run at once. Null where CUDA graphs traced as "
                            "whole spans cover over 1 % of span_ns."),
          F<&R::overlap_ratio>("overlap_ratio",
                               "overlap_ns / comm_ns. Null without communication or where overlap_ns is null."),
          F<&R::exposed_comm_ns>("exposed_comm_ns", "Time in which communication runs and nothing is computed."),
          F<&R::strict_exposed_comm_ns>("strict_exposed_comm_ns",
                                        "Time in which communication runs, and neither computing nor a copy. Null "
                                        "where overlap_ns is null."),
          F<&R::exposed_wait_ns>("exposed_wait_ns",
                                 "Part of exposed_comm_ns before the last arrival: the rank waits for a later one."),
          F<&R::exposed_transfer_ns>("exposed_transfer_ns",
                                     "Part of exposed_comm_ns after the last arrival of any collective that runs: what "
                                     "a faster network can save."),
          F<&R::exposed_unresolved_ns>("exposed_unresolved_ns",
                                       "Rest of exposed_comm_ns, where the last arrival is unknown, ambiguous, or "
                                       "closer than the uncertainty of the clocks."),
          F<&R::copy_only_ns>("copy_only_ns", "Time in which a copy runs, and neither computing nor communication."),
          F<&R::opaque_only_ns>("opaque_only_ns",
                                "Time in which a CUDA graph traced as one whole span runs, and no other activity."),
          F<&R::idle_ns>("idle_ns", "Time in which nothing runs on the device."),
          F<&R::busy_ratio>("busy_ratio", "1 - idle_ns / span_ns. Null where span_ns is zero."),
      }};
  return record;
}

}  // namespace lockstep::report
