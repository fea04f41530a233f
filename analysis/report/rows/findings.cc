#include "analysis/report/rows/findings.h"

namespace lockstep::report {

const Record& Evidence::Fields() {
  using R = Evidence;
  static const Record record{
      "",
      "A number that speaks for a finding.",
      {
          F<&R::metric>("metric", "Name of the number, with its unit."),
          F<&R::value>("value", "Its value."),
          F<&R::threshold>("threshold", "The threshold of the value; 0 if there is none."),
          F<&R::where>(
              "where",
              "Where it was found: \"rank 3 on node1\"; of a value of all ranks \"most on rank 3 on node1\" or "
              "\"all ranks\"; or a kernel. Null for the whole run."),
      }};
  return record;
}

const Record& FindingRow::Fields() {
  using R = FindingRow;
  static const Record record{
      "finding",
      "Something that is wrong with the run. A particular finding stands for the general ones that it explains.",
      {
          F<&R::id>("id", "Name of the check, such as sync_in_step."),
          F<&R::severity>("severity", "How much it matters.").OneOf({"info", "minor", "major"}),
          F<&R::title>("title", "What is wrong, in a sentence."),
          F<&R::evidence>("evidence", "The numbers that say so, one or more."),
          F<&R::cause>("cause", "Likely cause. Null where it is not known."),
          F<&R::next_action>("next_action", "What to do next."),
          F<&R::saving_ratio>("saving_ratio",
                              "Share of the ranks' time that it costs, so that mending it saves this at most; of a "
                              "straggler the share of a step that a replay saves. Null where it is not known."),
      }};
  return record;
}

}  // namespace lockstep::report
