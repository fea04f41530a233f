#include "web/answers/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "analysis/base/version.h"
#include "analysis/compare/rows/comparison.h"
#include "analysis/report/fields/definitions.h"
#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/text/headline.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

constexpr size_t kFewRows = 64;  // below, columns save nothing

bool IsTable(const Json& json) {
  if (!json.is_array() || json.size() <= kFewRows) return false;
  return std::all_of(json.begin(), json.end(), [](const Json& row) { return row.is_object(); });
}

// Lists of objects by column, also inside others.
Json ByColumn(Json json) {
  if (!json.is_structured()) return json;
  for (Json& inner : json) inner = ByColumn(std::move(inner));
  if (!IsTable(json)) return json;
  std::map<std::string, Json> columns;
  const size_t rows = json.size();
  for (size_t i = 0; i < rows; ++i) {
    for (auto& [key, value] : json[i].items()) {
      Json& column = columns[key];
      if (column.is_null()) column = Json::array();
      while (column.size() < i) column.push_back(nullptr);
      column.push_back(std::move(value));
    }
  }
  Json table = Json::object();
  table["@length"] = rows;
  Json& named = table["@columns"] = Json::object();
  for (auto& [key, column] : columns) {
    while (column.size() < rows) column.push_back(nullptr);
    named[key] = std::move(column);
  }
  return table;
}

void EraseFromRows(Json& object, const char* list, std::initializer_list<const char*> keys) {
  const auto found = object.find(list);
  if (found == object.end() || !found->is_array()) return;
  for (Json& row : *found) {
    for (const char* key : keys) row.erase(key);
  }
}

void LeaveOutLongLists(Json& report) {
  if (report.contains("profile")) EraseFromRows(report["profile"], "kernels", {"step_ns", "typical_places", "range"});
  if (report.contains("imbalance"))
    EraseFromRows(report["imbalance"], "quantities", {"per_rank", "by_host", "by_group"});
  EraseFromRows(report, "tails", {"by_rank", "by_slice"});
}

Json PageOf(const PageHead& head, const char* kind, const report::Record& record, Json document) {
  std::map<std::string, std::string> definitions;
  report::AddDefinitions(record, "", definitions);
  std::erase_if(definitions, [&](const auto& entry) {
    return !document.contains(entry.first.substr(0, entry.first.find_first_of("[.")));
  });
  Json page;
  page["schema"] = "lockstep.page/1";
  page["kind"] = kind;
  page["title"] = head.title;
  page["tool"] = fmt::format("lockstep {}", Version());
  page["headline"] = head.headline;
  page["definitions"] = std::move(definitions);
  page[kind] = ByColumn(std::move(document));
  return page;
}

Json ReportPageOf(const PageHead& head, Json report) {
  LeaveOutLongLists(report);
  return PageOf(head, "report", report::Document::Fields(), std::move(report));
}

std::string Written(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// What the first picture and the sentences above it do not show, and what a run of many ranks makes long. The other
// side is PartPath in web/src/data/later_parts.ts.
constexpr auto kLater = {"/ranks",         "/quality", "/families",    "/collectives",   "/overlap",
                         "/tails",         "/profile", "/clock/hosts", "/pictures/pace", "/pictures/instances",
                         "/pictures/tails"};

std::vector<PagePart> TakeLater(Json& report) {
  std::vector<PagePart> parts;
  for (const std::string place : kLater) {
    const Json::json_pointer at(place);
    if (!report.contains(at)) continue;
    std::string path = "report" + place;
    std::replace(path.begin(), path.end(), '/', '.');
    parts.push_back({std::move(path), Written(report[at])});
    report[at.parent_pointer()].erase(at.back());
  }
  return parts;
}

std::string NamesOfRuns(const std::vector<report::ComparedRunHead>& runs) {
  std::string names;
  for (const report::ComparedRunHead& run : runs) names += (names.empty() ? "" : ", ") + Printable(run.name);
  return names;
}

}  // namespace

Json TextPart(const Json& report) {
  Json part = Json::object();
  for (const char* key : {"schema", "notices", "run", "summary", "findings"}) {
    if (report.contains(key)) part[key] = report.at(key);
  }
  return part;
}

PageHead HeadOfReport(const Json& report) {
  const auto document = report::FromJson<report::Document>(TextPart(report));
  return {Printable(document.run.name), HeadlineOf(document)};
}

PageHead HeadOfComparison(const report::ComparisonDocument& comparison) {
  return {NamesOfRuns(comparison.base) + " and " + NamesOfRuns(comparison.fresh), {comparison.headline.sentence}};
}

std::vector<std::string> PageViews() {
  std::vector<std::string> views = {"summary", "ranks",      "quality",  "families",  "collectives", "tails",
                                    "clock",   "stragglers", "findings", "imbalance", "overlap"};
  views.emplace_back(kProfileView);
  views.emplace_back(kPicturesView);
  return views;
}

PageParts ReportPageParts(const PageHead& head, Json report) {
  Json page = ReportPageOf(head, std::move(report));
  std::vector<PagePart> later = TakeLater(page["report"]);
  return {Written(page), std::move(later)};
}

std::string ReportPageData(const PageHead& head, Json report) { return Written(ReportPageOf(head, std::move(report))); }

std::string ComparisonPageData(const PageHead& head, Json comparison) {
  return Written(PageOf(head, "comparison", report::ComparisonDocument::Fields(), std::move(comparison)));
}

}  // namespace lockstep
