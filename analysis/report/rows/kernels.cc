#include "analysis/report/rows/kernels.h"

namespace lockstep::report {
namespace {

constexpr std::string_view kP99OverP50 = "p99 / p50 of the durations. Null without a p50 above zero, or without a p99.";
constexpr std::string_view kMaxOverP50 = "Longest duration / p50. Null without a p50 above zero.";
constexpr std::string_view kTailFlags =
    "\"systematic\" where p99 / p50 > 1.5, \"outliers\" where max / p50 > 2. Null without a p50 above zero.";

}  // namespace

const Record& KernelOfRank::Fields() {
  using R = KernelOfRank;
  static const Record record{
      "",
      "A kernel on one rank.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::instances>("instances", "Number of instances on the rank."),
          F<&R::total_ns>("total_ns", "Sum of their durations."),
          F<&R::min_ns>("min_ns", "Shortest duration. Null where the distribution is not known."),
          F<&R::max_ns>("max_ns", "Longest duration. Null where the distribution is not known."),
          F<&R::mean_ns>("mean_ns", "Mean duration."),
          F<&R::stddev_ns>("stddev_ns",
                           "Standard deviation of the durations. Null where the distribution is not known."),
          F<&R::p50_ns>("p50_ns", "Median duration. Null where the distribution is not known."),
          F<&R::p99_ns>("p99_ns", "99th percentile of the durations. Null below 100 instances."),
      }};
  return record;
}

const Record& KernelRow::Fields() {
  using R = KernelRow;
  static const Record record{
      "kernel",
      "One kernel over all ranks that ran it; the key is the name, or what --group-by asks for.",
      {
          F<&R::name>("name", "Name of the kernel."),
          F<&R::category>("category", "compute, communication, or another kind. Null where the instances differ."),
          F<&R::family>("family", "Family of the kernel, by the built-in table or --families. Null where they differ."),
          F<&R::ranks>("ranks", "Number of ranks that ran it."),
          F<&R::instances>("instances", "Number of instances on all ranks."),
          F<&R::total_ns>("total_ns", "Sum of the durations. Kernels that overlap count fully."),
          F<&R::share_ratio>("share_ratio",
                             "total_ns over the total of all rows before --limit; nsys stats calls it Time %. Null "
                             "where that is zero."),
          F<&R::duration_ns>("duration_ns", "Durations of all instances."),
          F<&R::tail_score>("tail_score",
                            "Time beyond the median of all instances longer than twice the median, over the sum of the "
                            "ranks' spans: the share of GPU time that rare long instances cost. Null where the "
                            "distribution is not known."),
          F<&R::tail_score_bounds>(
              "tail_score_bounds",
              "Interval that contains tail_score with certainty. Present where the durations are a "
              "histogram.")
              .LeftOutIfNull(),
          F<&R::p99_over_p50_ratio, R>("p99_over_p50_ratio", kP99OverP50),
          F<&R::max_over_p50_ratio, R>("max_over_p50_ratio", kMaxOverP50),
          F<&R::tail_flags, R>("tail_flags", kTailFlags).OneOf({"systematic", "outliers"}).Later(),
          F<&R::slowest_rank>("slowest_rank",
                              "Rank with the longest mean, among those with 10 instances or more, else among all."),
          F<&R::rank_imbalance_ratio>("rank_imbalance_ratio",
                                      "Largest total of a rank over the mean of the ranks that ran it, less one; 0 "
                                      "means that all are equal."),
          F<&R::by_rank>("by_rank", "The kernel on each rank that ran it, by rank."),
      }};
  return record;
}

const Record& FamilyOfRank::Fields() {
  using R = FamilyOfRank;
  static const Record record{"",
                             "A family on one rank.",
                             {
                                 F<&R::rank>("rank", "Global rank."),
                                 F<&R::total_ns>("total_ns", "Sum of the durations of its kernels on the rank."),
                             }};
  return record;
}

const Record& FamilyRow::Fields() {
  using R = FamilyRow;
  static const Record record{
      "family",
      "Kernels of one family over all ranks.",
      {
          F<&R::family>("family", "Name of the family, such as gemm or attention."),
          F<&R::instances>("instances", "Number of instances of its kernels."),
          F<&R::total_ns>("total_ns", "Sum of their durations."),
          F<&R::share_ratio>("share_ratio",
                             "total_ns over the total of all rows before --limit. Null where that is "
                             "zero."),
          F<&R::by_rank>("by_rank", "The family on each rank that ran it, by rank."),
      }};
  return record;
}

namespace {

constexpr std::string_view kPartP50 = "Median duration in this part. Null where the part's durations are not known.";
constexpr std::string_view kPartP99 = "99th percentile of the durations in this part. Null below 100 known instances.";
constexpr std::string_view kPartMax = "Longest duration in this part. Null where the part's durations are not known.";
constexpr std::string_view kPartShare =
    "Share of the instances in histogram buckets above that of the fleet's p99. Null where there is none.";

}  // namespace

const Record& TailOfRank::Fields() {
  using R = TailOfRank;
  static const Record record{"",
                             "The part of a tail on one rank.",
                             {
                                 F<&R::rank>("rank", "Global rank."),
                                 F<&R::p50_ns, R>("p50_ns", kPartP50),
                                 F<&R::p99_ns, R>("p99_ns", kPartP99),
                                 F<&R::max_ns, R>("max_ns", kPartMax),
                                 F<&R::share_of_tail_ratio, R>("share_of_tail_ratio", kPartShare),
                             }};
  return record;
}

const Record& TailOfHost::Fields() {
  using R = TailOfHost;
  static const Record record{"",
                             "The part of a tail on one host; ranks of unknown host are left out.",
                             {
                                 F<&R::host>("host", "Name of the host."),
                                 F<&R::p50_ns, R>("p50_ns", kPartP50),
                                 F<&R::p99_ns, R>("p99_ns", kPartP99),
                                 F<&R::max_ns, R>("max_ns", kPartMax),
                                 F<&R::share_of_tail_ratio, R>("share_of_tail_ratio", kPartShare),
                             }};
  return record;
}

const Record& TailOfPhase::Fields() {
  using R = TailOfPhase;
  static const Record record{
      "",
      "The part of a tail in one phase: of instances launched in an annotated phase, else in a step that has one.",
      {
          F<&R::phase>("phase", "Name of the phase."),
          F<&R::p50_ns, R>("p50_ns", kPartP50),
          F<&R::p99_ns, R>("p99_ns", kPartP99),
          F<&R::max_ns, R>("max_ns", kPartMax),
          F<&R::share_of_tail_ratio, R>("share_of_tail_ratio", kPartShare),
      }};
  return record;
}

const Record& TailOfSlice::Fields() {
  using R = TailOfSlice;
  static const Record record{"",
                             "The part of a tail in one time slice.",
                             {
                                 F<&R::start_ns>("start_ns", "Start of the slice, since the run's start."),
                                 F<&R::span_ns>("span_ns", "Length of the slice."),
                                 F<&R::share_of_tail_ratio>("share_of_tail_ratio", kPartShare),
                             }};
  return record;
}

const Record& TailOfStep::Fields() {
  using R = TailOfStep;
  static const Record record{"",
                             "The part of a tail in one step.",
                             {
                                 F<&R::step>("step", "Number of the step. Null: launched in none."),
                                 F<&R::share_of_tail_ratio>("share_of_tail_ratio", kPartShare),
                             }};
  return record;
}

const Record& TailExemplar::Fields() {
  using R = TailExemplar;
  static const Record record{"",
                             "One of the longest instances.",
                             {
                                 F<&R::rank>("rank", "Global rank."),
                                 F<&R::start_ns>("start_ns", "Its start, since the run's start."),
                                 F<&R::duration_ns>("duration_ns", "Its duration."),
                                 F<&R::step>("step", "The step it was launched in. Null: in none."),
                             }};
  return record;
}

const Record& TailRow::Fields() {
  using R = TailRow;
  static const Record record{
      "tail",
      "A kernel that loses time in instances longer than twice its median, most lost first. Communication kernels too: "
      "a long one is mostly a long wait.",
      {
          F<&R::name>("name",
                      "Name of the kernel. One name that runs at several sizes looks like a tail: --group-by "
                      "shape separates the sizes."),
          F<&R::category>("category", "compute, communication, or another kind. Null where the instances differ."),
          F<&R::fleet_ns>("fleet_ns", "Durations on all ranks."),
          F<&R::by_rank>("by_rank", "The tail by rank."),
          F<&R::by_host>("by_host", "The tail by host."),
          F<&R::by_phase>("by_phase", "The tail by phase, where phases are known."),
          F<&R::by_slice>("by_slice", "The tail by time slice."),
          F<&R::by_step>("by_step", "The eight steps with the largest part of the tail.").Later(),
          F<&R::by_step_told_ratio>("by_step_told_ratio",
                                    "Part of the tail whose step is known. Below 1, by_step covers only the longest "
                                    "instances. Null where no instance is above the fleet's p99.")
              .Later(),
          F<&R::tail_score>("tail_score",
                            "Time beyond the median of all instances longer than twice the median, over the sum of the "
                            "ranks' spans."),
          F<&R::tail_score_bounds>(
              "tail_score_bounds",
              "Interval that contains tail_score with certainty. Present where the durations are a "
              "histogram.")
              .LeftOutIfNull(),
          F<&R::wait_ns>("wait_ns", "Waiting in the matched instances. Null for kernels that do not communicate."),
          F<&R::transfer_ns>("transfer_ns",
                             "Transfer in the matched instances. Null for kernels that do not communicate."),
          F<&R::waits_for_rank>("waits_for_rank",
                                "Global rank that the long instances wait for, where waits longer than the median "
                                "duration sum to at least half of the time that tail_score counts: the rank that "
                                "certainly caused at least half of all waiting, if it is another member of a group of "
                                "the rank that loses most to the tail. Null otherwise.")
              .Later(),
          F<&R::exemplars>("exemplars", "The eight longest instances."),
      }};
  return record;
}

}  // namespace lockstep::report
