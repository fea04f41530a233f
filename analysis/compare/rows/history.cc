#include "analysis/compare/rows/history.h"

namespace lockstep::report {

const Record& HistoryRun::Fields() {
  using R = HistoryRun;
  static const Record record{
      "history_run",
      "One run.",
      {
          F<&R::name>("name", "Name of the run."),
          F<&R::start_unix_ns>("start_unix_ns", "When it began, since 1970. Null where that is not known."),
          F<&R::steps>("steps", "Number of its steps, without the warm-up."),
          F<&R::value>("value", "Value of the metric."),
          F<&R::error>("error", "Standard error of the value within the run. Null where it has too few steps for one."),
          F<&R::begins_level>("begins_level", "Whether the metric changed from the run before to this one."),
      }};
  return record;
}

const Record& HistoryChange::Fields() {
  using R = HistoryChange;
  static const Record record{
      "history_change",
      "A run from which on the metric has another level.",
      {
          F<&R::run>("run", "The first run of the new level."),
          F<&R::previous_run>("previous_run", "The run before it."),
          F<&R::before>("before", "Mean of the metric from the change before to this one."),
          F<&R::after>("after", "Mean of the metric from this change to the next one."),
          F<&R::change_ratio>("change_ratio", "after / before - 1."),
          F<&R::p>("p", "Probability of such a change by chance."),
          F<&R::sentence>("sentence", "The change in words."),
          F<&R::context>("context", "What differs in the context from the run before."),
          F<&R::ledger>("ledger", "Change of the mean step from the run before, as in a comparison of the two runs."),
      }};
  return record;
}

const Record& LeftOutRun::Fields() {
  using R = LeftOutRun;
  static const Record record{"left_out_run",
                             "A run that is not part of the history.",
                             {
                                 F<&R::name>("name", "Name of the run."),
                                 F<&R::reason>("reason", "Why it is left out."),
                             }};
  return record;
}

const Record& History::Fields() {
  using R = History;
  static const Record record{"",
                             "The answer of lockstep history. Units are in the names; null is absent knowledge. "
                             "Further fields may be added at "
                             "any time.",
                             {
                                 F<&R::schema>("schema", "Name and version of the format.").OneOf({kHistorySchema}),
                                 F<&R::metric>("metric", "Name of the metric."),
                                 F<&R::unit>("unit", "Unit of its values."),
                                 F<&R::runs>("runs", "The runs in order of time."),
                                 F<&R::changes>("changes", "Where the metric changed."),
                                 F<&R::left_out>("left_out", "Runs that are not part of it."),
                                 F<&R::sentence>("sentence", "The answer in words."),
                             }};
  return record;
}

}  // namespace lockstep::report
