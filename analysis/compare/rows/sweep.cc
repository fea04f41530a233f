#include "analysis/compare/rows/sweep.h"

namespace lockstep::report {

const Record& SweepRun::Fields() {
  using R = SweepRun;
  static const Record record{"sweep_run",
                             "One run of the sweep.",
                             {
                                 F<&R::name>("name", "Name of the run."),
                                 F<&R::value>("value", "Value of the key in its context."),
                                 F<&R::steps>("steps", "Number of its steps, without the warm-up."),
                                 F<&R::step_time_ns>("step_time_ns", "Mean step time."),
                             }};
  return record;
}

const Record& SweepPart::Fields() {
  using R = SweepPart;
  static const Record record{
      "sweep_part",
      "One part of the step, or the kernels of one family, on the mean rank.",
      {
          F<&R::part>("part", "Name of the part, or of the family."),
          F<&R::kind>("kind", "What it is.").OneOf({"step", "family", "part"}),
          F<&R::ns_per_step>("ns_per_step", "Time a step, in the order of the runs."),
          F<&R::exponent>("exponent",
                          "The time grows as the value to this power: slope of the logarithms, by least squares. Null "
                          "where a run has none of it."),
          F<&R::exponent_interval>("exponent_interval", "95 % interval of the exponent. Null where the exponent is."),
          F<&R::should_not_grow>("should_not_grow",
                                 "Whether it grows although nothing of it depends on the key: only for keys of known "
                                 "meaning, and if it adds at least 1 % to the step."),
      }};
  return record;
}

const Record& Sweep::Fields() {
  using R = Sweep;
  static const Record record{
      "",
      "The answer of lockstep compare --by. Units are in the names; null is absent knowledge.",
      {
          F<&R::schema>("schema", "Name and version of the format.").OneOf({kSweepSchema}),
          F<&R::key>("key", "Key of the context that orders the runs."),
          F<&R::runs>("runs", "The runs, by value of the key."),
          F<&R::parts>("parts", "The step, its parts, and the families of kernels; the largest growth first."),
          F<&R::sentence>("sentence", "The answer in words."),
          F<&R::notices>("notices", "What restricts the answer."),
      }};
  return record;
}

}  // namespace lockstep::report
