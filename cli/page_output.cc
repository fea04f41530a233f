#include "cli/page_output.h"

#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/compare/render/render.h"
#include "analysis/report/json.h"
#include "web/answers/page_data.h"
#include "web/page/page.h"

namespace lockstep {
namespace {

constexpr int kTextColumns = 100;

}  // namespace

absl::Status CheckPages() {
  if (Assets() != nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      "--format html: this lockstep was built without pages, because node or npm was missing; install the packages "
      "nodejs and npm and build again, or use --format text or json");
}

absl::StatusOr<std::string> ReportPage(Json report) {
  LOCKSTEP_RETURN_IF_ERROR(CheckPages());
  const Json part = TextPart(report);
  const PageHead head = HeadOfReport(report);
  const std::string text = RenderText(part, {.color = false, .width = kTextColumns});
  const PageParts data = ReportPageParts(head, std::move(report));
  return ComposePage(*Assets(), {head.title, head.headline, text, data});
}

absl::StatusOr<std::string> ComparisonPage(const report::ComparisonDocument& comparison) {
  LOCKSTEP_RETURN_IF_ERROR(CheckPages());
  const PageHead head = HeadOfComparison(comparison);
  const std::vector<std::string> views(compare::ComparisonViews().begin(), compare::ComparisonViews().end());
  const std::string text = compare::RenderText(comparison, views, {.color = false, .width = kTextColumns});
  const PageParts data = {ComparisonPageData(head, report::ToJson(comparison)), {}};
  return ComposePage(*Assets(), {head.title, head.headline, text, data});
}

}  // namespace lockstep
