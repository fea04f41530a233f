#include "analysis/report/rows/imbalance.h"

namespace lockstep::report {

const Record& ImbalanceWindow::Fields() {
  using R = ImbalanceWindow;
  static const Record record{
      "",
      "The common window, in which the ranks are compared.",
      {
          F<&R::start_ns>("start_ns",
                          "Earliest start of any rank's part of the window, since the run's start. Null where kind is "
                          "none."),
          F<&R::span_ns>("span_ns", "Length of the longest part that any rank has. Null where kind is none."),
          F<&R::kind>(
              "kind",
              "steps (the longest run of consecutive steps that all ranks have), buckets (whole time buckets "
              "inside all spans), span (of a single rank), time (--time), ranges (--nvtx), disjoint_spans (each "
              "rank over its own span), or none (no device activity, or nothing selected that all ranks have)."),
          F<&R::steps>("steps", "First and last step of the window. Present where kind is steps.").LeftOutIfNull(),
      }};
  return record;
}

const Record& QuantityOfRank::Fields() {
  using R = QuantityOfRank;
  static const Record record{"",
                             "A quantity on one rank.",
                             {
                                 F<&R::rank>("rank", "Global rank."),
                                 F<&R::value>("value", "Its value, in the unit of the quantity."),
                             }};
  return record;
}

const Record& QuantityOfHost::Fields() {
  using R = QuantityOfHost;
  static const Record record{"",
                             "A quantity on one host.",
                             {
                                 F<&R::host>("host", "Name of the host."),
                                 F<&R::mean_value>("mean_value", "Mean value of its ranks."),
                             }};
  return record;
}

const Record& QuantityOfGroup::Fields() {
  using R = QuantityOfGroup;
  static const Record record{"",
                             "A quantity in one communicator.",
                             {
                                 F<&R::communicator_id>("communicator_id", "Identifier of the communicator."),
                                 F<&R::name>("name", "Name of the process group. Null where the traces have none."),
                                 F<&R::mean_value>("mean_value", "Mean value of its members."),
                             }};
  return record;
}

const Record& QuantityRow::Fields() {
  using R = QuantityRow;
  static const Record record{
      "quantity",
      "A quantity of work or time that is compared between the ranks.",
      {
          F<&R::quantity>(
              "quantity",
              "compute, comm, exposed_wait, exposed_transfer, copy or idle (device time), step_time (mean of the "
              "steps), launches, nccl_total, nccl_count, nccl_mean or nccl_max (communication kernels of the steps), "
              "phase:NAME (kernel time launched in annotations of forward, backward or optimizer), or family:NAME "
              "(kernel time of a family)."),
          F<&R::unit>("unit", "ns or count."),
          F<&R::over>("over", "window where the common window is measured, capture where the whole capture is.")
              .OneOf({"window", "capture"})
              .Later(),
          F<&R::per_rank>("per_rank", "The quantity on each rank, by rank."),
          F<&R::by_host>("by_host", "The quantity on each host. Ranks without a known host are left out."),
          F<&R::by_group>("by_group",
                          "The quantity in up to 64 communicators of two members or more that do not hold all ranks."),
          F<&R::max_over_mean_ratio>("max_over_mean_ratio",
                                     "Largest value over the mean of the ranks. Null where all values are zero."),
          F<&R::max_minus_min_over_max_ratio>(
              "max_minus_min_over_max_ratio",
              "(largest - smallest value) / largest value. Null where all values are zero."),
          F<&R::cv_ratio>("cv_ratio",
                          "Standard deviation of the sample (n - 1) over the mean. Null for a single rank or where all "
                          "values are zero."),
          F<&R::worst_rank>("worst_rank", "Rank with the largest value. Null where all values are zero."),
          F<&R::kind>("kind",
                      "Of compute, comm, nccl_total, nccl_count, nccl_mean and families, where the worst rank exceeds "
                      "the mean by 1 % or more: more_work where its work exceeds the mean by more than its time per "
                      "work does, else slower. Otherwise unknown.")
              .OneOf({"more_work", "slower", "unknown"}),
          F<&R::waits>("waits",
                       "True where the worst rank has more of it because it waits longer for others, so that it is "
                       "neither busier nor slower; kind is unknown then.")
              .Later(),
          F<&R::waits_for_rank>("waits_for_rank",
                                "Where waits is true: the global rank that certainly caused at least half of all "
                                "waiting, if it is another member of a group of worst_rank. Null otherwise.")
              .Later(),
          F<&R::idle_cause>("idle_cause",
                            "Of idle, where the worst rank exceeds the mean by 1 % or more: the cause of at least half "
                            "of that excess, as in the view idle. Null where no cause has half of it, with --nvtx, and "
                            "for other quantities.")
              .OneOf({"host", "launch", "dependency", "other"})
              .Later(),
      }};
  return record;
}

const Record& Efficiency::Fields() {
  using R = Efficiency;
  static const Record record{
      "",
      "Efficiency of all ranks over the common window; 1 is best. parallel = load_balance * communication, and "
      "communication = busy_share * orchestration = serialisation * transfer.",
      {
          F<&R::window_ns>("window_ns", "Length of the common window, zero where there is none."),
          F<&R::parallel>("parallel", "Mean compute time of the ranks over window_ns. Null where window_ns is zero."),
          F<&R::load_balance>("load_balance",
                              "Mean compute time of the ranks over the longest one. Null where nothing is computed."),
          F<&R::communication>("communication",
                               "Longest compute time of a rank over window_ns. Null where window_ns is zero."),
          F<&R::serialisation>(
              "serialisation",
              "communication / transfer: the loss to dependencies between ranks. Null where transfer is null."),
          F<&R::transfer>("transfer",
                          "Time of the run in a replay with free transfers over its measured time. Null for a "
                          "selection, or without a replay that reproduces the run and is no shorter than the longest "
                          "compute time."),
          F<&R::busy_share>("busy_share",
                            "Longest compute time of a rank over the longest busy time of a rank. Null where nothing "
                            "runs."),
          F<&R::orchestration>("orchestration",
                               "Longest busy time of a rank over window_ns. Null where window_ns is zero."),
      }};
  return record;
}

const Record& Imbalance::Fields() {
  using R = Imbalance;
  static const Record record{"",
                             "How unevenly work and time are spread over the ranks, and the efficiency of the run.",
                             {
                                 F<&R::window>("window", "The common window, in which the ranks are compared."),
                                 F<&R::quantities>("quantities", "The quantities that are compared."),
                                 F<&R::efficiency>("efficiency", "Efficiency of all ranks over the common window."),
                             }};
  return record;
}

}  // namespace lockstep::report
