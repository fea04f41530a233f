// The comparison as JSON, JSON Schema, reference and CSV: all made from the tables of its fields.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/compare/render/render.h"
#include "analysis/report/csv/csv_writer.h"
#include "analysis/report/fields/document.h"
#include "analysis/report/json.h"

namespace lockstep::compare {
namespace {

using report::ComparisonDocument;

constexpr std::string_view kIntroduction = R"(# Reference of the comparison

Every field of the JSON document that `lockstep compare --format json` prints. `lockstep schema --comparison` prints the
same as a JSON Schema. How the numbers are computed, and why, is described in [comparing](algorithms/compare.md).

* The suffix of a name is its unit: `_ns` nanoseconds, `_bytes` bytes, `_ratio` a share or a ratio, `_gbps` 10^9 bytes a
  second. An interval has the unit of its quantity.
* A change is new minus base. Of a step, less time is better.
* Null means that a value is not known. It never means zero.

This file is generated: `lockstep schema --comparison --reference > docs/comparison.md`.
)";

struct CsvView {
  std::string_view view;
  const report::Record& (*record)();
  Json (*rows)(const ComparisonDocument& document);
};

template <typename Row>
Json JsonRows(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(report::ToJson(row));
  return list;
}

constexpr std::array<CsvView, 11> kCsvViews = {{
    {"comparison", report::MetricChange::Fields, [](const ComparisonDocument& d) { return JsonRows(d.metrics); }},
    {"ledger", report::LedgerEntry::Fields, [](const ComparisonDocument& d) { return JsonRows(d.ledger); }},
    {"kernels", report::KernelChange::Fields, [](const ComparisonDocument& d) { return JsonRows(d.kernels); }},
    {"families", report::FamilyChange::Fields, [](const ComparisonDocument& d) { return JsonRows(d.families); }},
    {"roles", report::RoleChange::Fields, [](const ComparisonDocument& d) { return JsonRows(d.roles); }},
    {"collectives", report::CollectiveChange::Fields,
     [](const ComparisonDocument& d) { return JsonRows(d.collectives); }},
    {"waits", report::LateChange::Fields, [](const ComparisonDocument& d) { return JsonRows(d.late); }},
    {"ranks", report::RankChange::Fields, [](const ComparisonDocument& d) { return JsonRows(d.ranks.ranks); }},
    {"hosts", report::HostChange::Fields, [](const ComparisonDocument& d) { return JsonRows(d.hosts); }},
    {"context", report::ContextDifference::Fields,
     [](const ComparisonDocument& d) { return JsonRows(d.comparable.differences); }},
    {"gates", report::GateResult::Fields, [](const ComparisonDocument& d) { return JsonRows(d.gates); }},
}};

}  // namespace

std::string RenderJson(const ComparisonDocument& document) { return lockstep::RenderJson(report::ToJson(document)); }

absl::StatusOr<std::string> RenderCsv(const ComparisonDocument& document, std::string_view view) {
  const auto* found =
      std::find_if(kCsvViews.begin(), kCsvViews.end(), [&](const CsvView& known) { return known.view == view; });
  if (found == kCsvViews.end()) {
    return absl::InvalidArgumentError(
        fmt::format("--format csv: there is no view '{}'; the views are {}", view, fmt::join(ComparisonViews(), ", ")));
  }
  return WriteCsv(ColumnsOf(found->record()), found->rows(document));
}

std::string ComparisonSchema() {
  return lockstep::RenderJson(
      report::SchemaOfDocument(ComparisonDocument::Fields(), "urn:lockstep:comparison:1", report::kComparisonSchema));
}

std::string ComparisonReference() { return report::ReferenceOfDocument(ComparisonDocument::Fields(), kIntroduction); }

}  // namespace lockstep::compare
