#include "analysis/report/rows/clock.h"

namespace lockstep::report {

const Record& ClockComponent::Fields() {
  using R = ClockComponent;
  static const Record record{
      "",
      "Clock domains that share collectives, directly or through others. Times of different components are not "
      "compared.",
      {
          F<&R::component>("component", "Number of the component, from 0."),
          F<&R::reference_host>("reference_host",
                                "Host whose clock the others are measured against: that of the lowest rank. Null where "
                                "its name is not known."),
          F<&R::hosts>("hosts", "Names of its hosts."),
          F<&R::not_resolvable_below_ns>(
              "not_resolvable_below_ns",
              "Largest uncertainty (95 %) of comparing two of its ranks, in the middle of "
              "the run: of two arrivals that are closer, it is unknown which came first. Null "
              "where it has only one analysed rank."),
          F<&R::worst_pair>("worst_pair", "The two ranks of not_resolvable_below_ns. Null where that is null."),
      }};
  return record;
}

const Record& ClockDevice::Fields() {
  using R = ClockDevice;
  static const Record record{"",
                             "A device of a clock domain.",
                             {
                                 F<&R::rank>("rank", "Global rank."),
                                 F<&R::bias_ns>("bias_ns",
                                                "How far its timestamps are ahead of its domain's clock, in the middle "
                                                "of the run. Negative: behind."),
                             }};
  return record;
}

const Record& ClockKnot::Fields() {
  using R = ClockKnot;
  static const Record record{
      "",
      "A point of the piecewise linear offset of a domain's clock.",
      {
          F<&R::t_ns>("t_ns", "Aligned time of the knot, since the run's start."),
          F<&R::offset_ns>("offset_ns", "How far the clock is ahead of the reference at this time."),
          F<&R::lo_ns>("lo_ns", "Lower certified bound of the offset. Null where nothing bounds it."),
          F<&R::hi_ns>("hi_ns", "Upper certified bound of the offset. Null where nothing bounds it."),
          F<&R::sigma_ns>("sigma_ns", "Standard deviation of the offset."),
      }};
  return record;
}

const Record& ClockStep::Fields() {
  using R = ClockStep;
  static const Record record{"",
                             "A jump of a domain's clock, as when it is set.",
                             {
                                 F<&R::t_ns>("t_ns", "Aligned time of the jump, since the run's start."),
                                 F<&R::size_ns>("size_ns", "How far the clock jumped forward. Negative: back."),
                             }};
  return record;
}

const Record& ClockHostRow::Fields() {
  using R = ClockHostRow;
  static const Record record{
      "clock_host",
      "A clock domain: ranks whose timestamps are of the same clock. One host has several where it was recorded in "
      "several nsys sessions.",
      {
          F<&R::host>("host", "Host of its lowest analysed rank. Null where it is not known."),
          F<&R::domain>("domain", "Number of the domain, as in ranks[].domain."),
          F<&R::ranks>("ranks", "Number of its analysed ranks."),
          F<&R::component>("component", "Number of its component."),
          F<&R::offset_ns>("offset_ns",
                           "How far its clock is ahead of the reference of its component, at at_ns. 0 for the "
                           "reference itself, and for a domain that no other shares collectives with."),
          F<&R::uncertainty_ns>("uncertainty_ns",
                                "Half-width of the 95 % interval of comparing its records with those of the reference: "
                                "of the offset, and of the scatter of single records. Null for the reference, where "
                                "the reference has no analysed rank, and where the domain is alone in its component."),
          F<&R::drift_ppm>("drift_ppm",
                           "Drift against the reference. Null for the reference, where the domain is alone in its "
                           "component, and where the half-width of its 95 % interval exceeds 5 ppm."),
          F<&R::at_ns>(
              "at_ns",
              "Aligned time, since the run's start, for which offset_ns, certified_ns and sigma_ns are valid: the "
              "knot nearest to the middle of the run. Null where the domain is alone in its component."),
          F<&R::certified_ns>(
              "certified_ns",
              "Bounds of the offset that follow from the collectives: no member ends before those that it depends on "
              "have started. Null where one side is not bounded, and where the domain is alone in its component."),
          F<&R::certified>("certified",
                           "True if both sides bound the offset at every knot, at most 1 % of the instances "
                           "contradict the others, and single records do not scatter too far."),
          F<&R::sigma_ns>("sigma_ns",
                          "Standard deviation of the offset. Null where the domain is alone in its component."),
          F<&R::method>("method",
                        "How the offset was found. shared: it is the reference, or the only domain of its component; "
                        "band: from collectives that bound it on both sides; ends: collectives are taken to end at "
                        "once on all ranks, which is coarse; utc: the clocks' own claims; none: a single rank with "
                        "nothing to compare with.")
              .OneOf({"shared", "band", "ends", "utc", "none"}),
          F<&R::instances>("instances",
                           "Number of matched collectives that compare the domain with others. Where it is alone in "
                           "its component, number of matched collectives of its own ranks."),
          F<&R::inside_ns>("inside_ns",
                           "Largest uncertainty (95 %) of comparing two analysed ranks of the domain. Null where it "
                           "has only one."),
          F<&R::devices>("devices", "Bias of each of its analysed devices. Empty where no bias was found."),
          F<&R::knots>("knots", "Knots of the offset, in order of time; between them it is linear."),
          F<&R::steps>("steps", "Jumps of the clock, in order of time."),
      }};
  return record;
}

const Record& Clock::Fields() {
  using R = Clock;
  static const Record record{
      "",
      "How the clocks of the hosts were aligned. It holds for the whole run, whatever the analysis is restricted to.",
      {
          F<&R::reference_host>("reference_host",
                                "Host of the reference clock. Null where there are several components, or its name is "
                                "not known."),
          F<&R::components>("components", "Groups of clocks that can be compared."),
          F<&R::hosts>("hosts", "The clock domains of the analysed ranks, in order of their lowest rank."),
      }};
  return record;
}

}  // namespace lockstep::report
