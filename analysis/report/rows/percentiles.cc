#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

const Record& PercentileBounds::Fields() {
  using R = PercentileBounds;
  static const Record record{"",
                             "Intervals that certainly hold the percentiles.",
                             {
                                 F<&R::p50>("p50", "Interval of p50.").LeftOutIfNull(),
                                 F<&R::p90>("p90", "Interval of p90.").LeftOutIfNull(),
                                 F<&R::p95>("p95", "Interval of p95.").LeftOutIfNull(),
                                 F<&R::p99>("p99", "Interval of p99.").LeftOutIfNull(),
                                 F<&R::p999>("p999", "Interval of p999.").LeftOutIfNull(),
                             }};
  return record;
}

const Record& Percentiles::Fields() {
  using R = Percentiles;
  static const Record record{
      "pct",
      "A distribution. A percentile pQ is the value of rank ceil(Q n) of the n values in order, never interpolated, "
      "and "
      "null below 1 / (1 - Q) values: p50 needs 2, p90 10, p95 20, p99 100, p999 1,000.",
      {
          F<&R::p50>("p50", "Half of the values are no larger. Null below 2 values."),
          F<&R::p90>("p90", "90 % of the values are no larger. Null below 10 values."),
          F<&R::p95>("p95", "95 % of the values are no larger. Null below 20 values."),
          F<&R::p99>("p99", "99 % of the values are no larger. Null below 100 values."),
          F<&R::p999>("p999", "99.9 % of the values are no larger. Null below 1,000 values."),
          F<&R::max>("max", "Largest value, exact. Null without a value."),
          F<&R::min>("min", "Smallest value, exact. Null without a value."),
          F<&R::mean>("mean", "Mean, exact. Null without a value."),
          F<&R::count>("count", "Number of values."),
          F<&R::stddev>("stddev", "Standard deviation of the sample (n - 1), 0 for one value. Null without a value."),
          F<&R::bounds>("bounds",
                        "Intervals that certainly hold the percentiles. Present where more than 1,024 distinct values "
                        "were put into a histogram, whose percentiles are off by 0.54 % at most.")
              .LeftOutIfNull(),
          F<&R::median>("median",
                        "Mean of the two middle values, as nsys stats prints it. Null where the percentiles are not "
                        "exact.")
              .LeftOutIfNull(),
      }};
  return record;
}

}  // namespace lockstep::report
