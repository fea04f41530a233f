// findings[].
#include <fmt/format.h>

#include "analysis/report/rows/findings.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

std::string EvidenceText(const report::Evidence& evidence) {
  const std::string where = evidence.where.value_or("");
  return fmt::format("{} {} (threshold {}){}{}", evidence.metric, Cell(evidence.value).Text(),
                     Cell(evidence.threshold).Text(), where.empty() ? "" : ", ", where);
}

void WriteFinding(const report::FindingRow& finding, TextPage& page) {
  page.Line(fmt::format("{}: {}", finding.severity, finding.title), 2, 2, Emphasis::kStrong);
  for (const report::Evidence& evidence : finding.evidence) page.Line(EvidenceText(evidence), 4, 2);
  if (finding.cause) page.Line(fmt::format("because {}", *finding.cause), 4, 2);
  if (!finding.next_action.empty()) page.Line(fmt::format("next: {}", finding.next_action), 4, 2);
  if (finding.saving_ratio) page.Line(fmt::format("could save {}", FormatPercent(finding.saving_ratio)), 4, 2);
}

}  // namespace

void FindingsSection(const std::vector<report::FindingRow>& rows, TextPage& page) {
  page.Heading("findings");
  if (rows.empty()) page.Line("(nothing)", 2, 0, Emphasis::kFaint);
  int64_t shown = 0;
  for (const report::FindingRow& finding : rows) {
    if (shown++ == page.options().max_rows) {
      page.Line(fmt::format("... and {} more (--limit)", static_cast<int64_t>(rows.size()) - shown + 1));
      return;
    }
    WriteFinding(finding, page);
  }
}

}  // namespace lockstep
