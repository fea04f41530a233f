#include "analysis/report/rows/stragglers.h"

namespace lockstep::report {

const Record& StragglerPart::Fields() {
  using R = StragglerPart;
  static const Record record{
      "",
      "A part of the lateness of a straggler.",
      {
          F<&R::cause>(
              "cause",
              "Kind of trouble: slow_device, slow_kernel, more_work, host_delay, host_pause, copies, transfer, "
              "dependency or unknown."),
          F<&R::kernel>("kernel", "Kernel behind it. Null where no single kernel explains it."),
          F<&R::ns>("ns", "Mean excess per step."),
          F<&R::excess_ratio>("excess_ratio",
                              "How much slower it is than its peers, or how much more work it has. Null where that is "
                              "not known.")
              .Later(),
      }};
  return record;
}

const Record& StragglerRow::Fields() {
  using R = StragglerRow;
  static const Record record{
      "straggler",
      "A rank, or a group of ranks or links, that is late again and again, largest saving first. Steps are blocks of "
      "time where the traces have no steps.",
      {
          F<&R::scope>("scope", "What it is; gpu stands for the GPUs of equal place on all hosts.")
              .OneOf({"rank", "gpu", "host", "rail", "stage", "communicator"}),
          F<&R::id>("id", "Which one it is: the number of the rank, the name of the host, \"rail 2\", \"stage 0\"."),
          F<&R::name>("name",
                      "Of a communicator: description of its process group, else its name. Null where the traces have "
                      "neither, and for other scopes.")
              .Later(),
          F<&R::rank>("rank", "Global rank. Null for other scopes."),
          F<&R::host>("host", "Host of its ranks. Null where they are on several hosts, or it is not known."),
          F<&R::ranks>("ranks", "Global ranks that belong to it.").Later(),
          F<&R::kind>("kind",
                      "How it recurs: in nearly every step, at equal distances, in one stretch of steps, or in no "
                      "order.")
              .OneOf({"persistent", "periodic", "bursty", "random"}),
          F<&R::effect_ns_per_step>("effect_ns_per_step", "Mean lateness per step against those it is compared with."),
          F<&R::confidence_interval_ns>("confidence_interval_ns",
                                        "95 % interval of effect_ns_per_step, by a moving block bootstrap."),
          F<&R::p_adjusted>("p_adjusted",
                            "Probability of such lateness by chance, adjusted by Holm's method for everything tested."),
          F<&R::confidence>("confidence",
                            "How certain it is that the others wait for it, as in summary.culprits: 1 / (1 - e p ln p) "
                            "with p = p_adjusted, and "
                            "0.5 at most where something speaks for somebody else.")
              .Later(),
          F<&R::saving_ns_per_step>("saving_ns_per_step",
                                    "Time per step that a replay saves with this straggler as fast as its peers. Null "
                                    "where no replay tells it; saving_reason says why."),
          F<&R::saving_ratio>("saving_ratio",
                              "The same as a share of the step. Null where saving_ns_per_step is null."),
          F<&R::saving_bound_ns>("saving_bound_ns",
                                 "Least and largest saving per step: the replayed saving, and the time by which its "
                                 "ranks alone were last. Null where saving_ns_per_step is null."),
          F<&R::saving_reason>("saving_reason", "Why no saving is given. Null where one is given.").Later(),
          F<&R::saving_after_others_ratio>(
              "saving_after_others_ratio",
              "Share of a step saved once the stragglers before it are mended, for one that "
              "saves nothing alone because the others wait for a slower one. Null for "
              "all others.")
              .Later(),
          F<&R::blamed_wait_ns>("blamed_wait_ns",
                                "GPU time that its peers lost to it over the whole run, also through other ranks. "
                                "Null where it is not known.")
              .Later(),
          F<&R::blamed_critical_ns>("blamed_critical_ns",
                                    "Delay of the collectives themselves by it: that of the last to arrive beyond the "
                                    "next one, summed over all "
                                    "groups, which may run at the same time. Null where it is not known.")
              .Later(),
          F<&R::frontier>("frontier", "Whether durations alone, without any clock, point to it too.")
              .OneOf({"agrees", "disagrees", "cannot_tell"})
              .Later(),
          F<&R::parts>("parts", "Parts of its lateness, largest first."),
          F<&R::persistence>("persistence",
                             "Share of the steps in which it is late by more than the least effect that counts, 0.2 % "
                             "of a step; of transfers more where the clocks are less certain."),
          F<&R::period_steps>("period_steps", "Steps from one late step to the next. Null unless it is periodic.")
              .Later(),
          F<&R::steps>("steps", "Number of steps that were tested."),
          F<&R::block_ns>("block_ns",
                          "Length of the blocks of time that stand for steps where the collectives have none. Null "
                          "where the steps are steps.")
              .Later(),
          F<&R::n_eff>("n_eff", "Number of independent steps that they are worth, by their autocorrelation."),
      }};
  return record;
}

}  // namespace lockstep::report
