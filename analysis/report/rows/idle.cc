#include "analysis/report/rows/idle.h"

namespace lockstep::report {

const Record& IdleOfStream::Fields() {
  using R = IdleOfStream;
  static const Record record{
      "",
      "Gaps between the activities of one stream, in the categories of Holistic Trace Analysis. Streams that are idle "
      "at the same time each count, so the sum over the streams is not the idle time of the device.",
      {
          F<&R::stream>("stream", "Id of the stream."),
          F<&R::host_wait_ns>("host_wait_ns",
                              "Gaps before an activity whose launch call starts after the end of the previous "
                              "activity, or is not in the trace."),
          F<&R::kernel_wait_ns>("kernel_wait_ns", "Other gaps that are shorter than 30 us."),
          F<&R::other_ns>("other_ns", "All other gaps."),
      }};
  return record;
}

const Record& IdleBursts::Fields() {
  using R = IdleBursts;
  static const Record record{
      "",
      "Bursts of device work that idle time follows, in the buckets of the whole capture. A burst is two or more "
      "buckets in a row that are busy for more than 80 %; it counts if two or more that are idle for more than 80 % "
      "follow it at once, or after one bucket in between.",
      {
          F<&R::count>("count", "Number of bursts."),
          F<&R::busy_ns>("busy_ns", "Busy time in the buckets of the bursts."),
          F<&R::idle_after_ns>("idle_after_ns", "Idle time in the idle buckets that follow the bursts."),
      }};
  return record;
}

const Record& IdleRow::Fields() {
  using R = IdleRow;
  static const Record record{
      "idle",
      "Idle time of the device of one rank, by cause. The causes are as exact as the clocks of host and device agree.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::device>("device", "Index of the device. Null where it is not known."),
          F<&R::gaps>("gaps",
                      "Number of gaps in which the device is idle. Null where a stored run is restricted, and where "
                      "steps and --time are asked for together."),
          F<&R::idle_ns>("idle_ns",
                         "Time in which no activity runs on the device: host_ns + launch_ns + dependency_ns + "
                         "other_ns."),
          F<&R::host_ns>("host_ns", "Part of the gaps before the end of the call that launches the next activity."),
          F<&R::launch_ns>("launch_ns", "Rest of the gaps whose rest after host_ns is at most 15 us."),
          F<&R::dependency_ns>("dependency_ns",
                               "Rest of longer gaps, where a recorded event wait or synchronization precedes the next "
                               "activity on its stream."),
          F<&R::other_ns>("other_ns",
                          "All other idle time, such as gaps before an activity whose launch call is not in the "
                          "trace."),
          F<&R::gap_ns>("gap_ns", "Lengths of the gaps. Null where gaps is null."),
          F<&R::dominant_gap_ns>("dominant_gap_ns",
                                 "Median over the steps of the longest gap in a step. Null without steps, and with "
                                 "--time."),
          F<&R::streams>("streams", "Gaps of the single streams. Empty where gaps is null."),
          F<&R::bursts>("bursts",
                        "Bursts of device work that idle time follows. Null for captures of fewer than 16 buckets, and "
                        "with --time.")
              .Later(),
      }};
  return record;
}

}  // namespace lockstep::report
