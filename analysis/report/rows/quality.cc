#include "analysis/report/rows/quality.h"

namespace lockstep::report {

const Record& GateRow::Fields() {
  using R = GateRow;
  static const Record record{"gate",
                             "A check of the data.",
                             {
                                 F<&R::name>("name", "Name of the check."),
                                 F<&R::ok>("ok", "True if the check passes. Null where it does not apply to the run."),
                                 F<&R::detail>("detail", "What was found."),
                                 F<&R::fix>("fix", "What to do about it. Null unless the check fails."),
                             }};
  return record;
}

const Record& CountersOfRank::Fields() {
  using R = CountersOfRank;
  static const Record record{
      "",
      "What could not be used as recorded on one rank.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::counters>("counters",
                          "Number of dropped, repaired or ambiguous records of its trace, and of its unmatched or "
                          "ambiguous collectives, by reason. Reasons that count zero are left out."),
      }};
  return record;
}

const Record& FileRow::Fields() {
  using R = FileRow;
  static const Record record{
      "",
      "What became of one input file.",
      {
          F<&R::path>("path", "Path of the file."),
          F<&R::status>("status",
                        "used: read whole; partial: damaged, and read as far as possible; skipped: no trace, or not "
                        "needed; refused: not usable.")
              .OneOf({"used", "partial", "skipped", "refused"}),
          F<&R::reason>("reason", "Why the file is not used whole. Null if it is."),
          F<&R::offset>("offset",
                        "Where the first damage is: a byte offset, or the number of a row in an nsys export. Null if "
                        "none was found."),
          F<&R::counters>("counters",
                          "Number of dropped or repaired records by reason. Reasons that count zero are left out.")
              .Later(),
      }};
  return record;
}

const Record& Quality::Fields() {
  using R = Quality;
  static const Record record{"",
                             "How far the data can be believed.",
                             {
                                 F<&R::gates>("gates", "The checks of the data."),
                                 F<&R::ranks>("ranks", "Dropped and repaired records by rank."),
                                 F<&R::files>("files", "The input files."),
                             }};
  return record;
}

}  // namespace lockstep::report
