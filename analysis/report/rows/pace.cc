#include "analysis/report/rows/pace.h"

namespace lockstep::report {

const Record& PaceOfRank::Fields() {
  using R = PaceOfRank;
  static const Record record{
      "pace_rank",
      "The course of one rank: one value for each bucket, of the rank's own time in the bucket.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::compute_ratio>("compute_ratio", "Share of the time in which kernels compute."),
          F<&R::comm_ratio>("comm_ratio", "Share of the time in which communication runs."),
          F<&R::busy_ratio>("busy_ratio", "Share of the time in which any activity runs."),
          F<&R::steps_done>("steps_done",
                            "Steps finished by the end of each bucket, from the rank's first step on; a step in "
                            "progress counts by the part of its device window that has passed. Empty without steps.")
              .Later(),
      }};
  return record;
}

const Record& KernelPaceOfSlice::Fields() {
  using R = KernelPaceOfSlice;
  static const Record record{"",
                             "A kernel on one rank in one time slice.",
                             {
                                 F<&R::start_ns>("start_ns", "Start of the slice, since the run's start."),
                                 F<&R::span_ns>("span_ns", "Length of the slice."),
                                 F<&R::instances>("instances", "Number of instances in the slice."),
                                 F<&R::mean_ns>("mean_ns", "Mean duration of these instances."),
                             }};
  return record;
}

const Record& KernelPaceOfRank::Fields() {
  using R = KernelPaceOfRank;
  static const Record record{"",
                             "A kernel on one rank over time.",
                             {
                                 F<&R::rank>("rank", "Global rank."),
                                 F<&R::slices>("slices", "Time slices in which the kernel ran, by start."),
                             }};
  return record;
}

const Record& KernelPace::Fields() {
  using R = KernelPace;
  static const Record record{"",
                             "A kernel over time.",
                             {
                                 F<&R::name>("name", "Name of the kernel."),
                                 F<&R::ranks>("ranks", "The kernel on each rank that ran it, by rank."),
                             }};
  return record;
}

const Record& Pace::Fields() {
  using R = Pace;
  static const Record record{
      "",
      "The course of the ranks over the time that all of them share, in buckets that are the same for all ranks.",
      {
          F<&R::bucket_ns>("bucket_ns",
                           "Length of a bucket, a power of two for at most 256 buckets. Null where the ranks share no "
                           "time."),
          F<&R::start_ns>("start_ns",
                          "Start of the first bucket, since the run's start. Null where the ranks share no time."),
          F<&R::ranks>("ranks", "The course of each rank."),
          F<&R::kernels>("kernels",
                         "The five kernels of most time over all slices, without communication; --kernels restricts "
                         "them.")
              .Later(),
      }};
  return record;
}

}  // namespace lockstep::report
