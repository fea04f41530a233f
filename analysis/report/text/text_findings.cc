// findings[].
#include <fmt/format.h>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

std::string EvidenceText(const Json& evidence) {
  const std::string where =
      PlainText(FieldOf(evidence, "where").is_structured() ? Json(nullptr) : FieldOf(evidence, "where"));
  return fmt::format("{} {} (threshold {}){}{}", TextOf(FieldOf(evidence, "metric")),
                     PlainText(FieldOf(evidence, "value")), PlainText(FieldOf(evidence, "threshold")),
                     where.empty() ? "" : ", ", where);
}

void WriteFinding(const Json& finding, TextPage& page) {
  page.Line(fmt::format("{}: {}", PlainText(FieldOf(finding, "severity")), TextOf(FieldOf(finding, "title"))), 2, 2,
            Emphasis::kStrong);
  for (const Json& evidence : ListOf(finding, "evidence")) page.Line(EvidenceText(evidence), 4, 2);
  const std::string& cause = TextOf(FieldOf(finding, "cause"));
  if (!cause.empty()) page.Line(fmt::format("because {}", cause), 4, 2);
  const std::string& action = TextOf(FieldOf(finding, "next_action"));
  if (!action.empty()) page.Line(fmt::format("next: {}", action), 4, 2);
  const Json& saving = FieldOf(finding, "saving_ratio");
  if (saving.is_number()) page.Line(fmt::format("could save {}", FormatPercent(saving)), 4, 2);
}

}  // namespace

void FindingsSection(const Json& view, TextPage& page) {
  page.Heading("findings");
  if (!HasContent(view)) page.Line("(nothing)", 2, 0, Emphasis::kFaint);
  int64_t shown = 0;
  for (const Json& finding : view) {
    if (shown++ == page.options().max_rows) {
      page.Line(fmt::format("... and {} more (--limit)", static_cast<int64_t>(view.size()) - shown + 1));
      return;
    }
    WriteFinding(finding, page);
  }
}

}  // namespace lockstep
