// What a page is given to draw: "lockstep.page/1", one JSON document. web/src/data/types.ts is its other side.
//
//   schema       "lockstep.page/1"
//   kind         "report" or "comparison"
//   title        name of the run, or of both sides
//   tool         name and version of the program
//   headline     sentences, the most important first
//   report       views of "lockstep.report/1", or
//   comparison   "lockstep.comparison/1"
//   definitions  definition of every field, by its path from `report` or `comparison` on
//
// A list of more than 64 objects is written by column: {"@length": n, "@columns": {key: [value of each object]}}, where
// an object without the key has null. Long lists that no picture needs are left out. Pure and thread safe.
//
// A file has the page of a report in parts: what its first picture shows, and each further view by itself. A part is
// put into the page at its path, which gives the same document.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/rows/comparison.h"
#include "analysis/report/report.h"
#include "web/page/page_part.h"

namespace lockstep {

// The views that a page of a report draws.
[[nodiscard]] std::vector<std::string> PageViews();

// What the text of a page says.
[[nodiscard]] Json TextPart(const Json& report);

struct PageHead {
  std::string title;
  std::vector<std::string> headline;
};

// What is said first. `report` has the views of PageViews; throws Json::exception where it is no report of this
// release.
[[nodiscard]] PageHead HeadOfReport(const Json& report);
[[nodiscard]] PageHead HeadOfComparison(const report::ComparisonDocument& comparison);

// `report` has the views of PageViews.
[[nodiscard]] PageParts ReportPageParts(const PageHead& head, Json report);
[[nodiscard]] std::string ReportPageData(const PageHead& head, Json report);
[[nodiscard]] std::string ComparisonPageData(const PageHead& head, Json comparison);

}  // namespace lockstep
