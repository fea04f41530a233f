// The sweep as JSON, text and CSV.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "analysis/compare/sweep.h"
#include "analysis/report/csv/csv_writer.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_page.h"

namespace lockstep::compare {
namespace {

constexpr size_t kMostSweepColumns = 8;

Cell ExponentCell(const report::SweepPart& part) {
  return part.exponent ? Cell(fmt::format("{:.2f}", *part.exponent)) : Cell();
}

Cell ExponentRange(const report::SweepPart& part) {
  if (!part.exponent_interval) return {};
  return fmt::format("{:.2f} to {:.2f}", part.exponent_interval->first, part.exponent_interval->second);
}

}  // namespace

std::string RenderJson(const report::Sweep& sweep) { return lockstep::RenderJson(report::ToJson(sweep)); }

std::string RenderCsv(const report::Sweep& sweep) {
  Json rows = Json::array();
  for (const report::SweepPart& part : sweep.parts) {
    for (size_t i = 0; i < part.ns_per_step.size(); ++i) {
      Json row = {{"run", sweep.runs[i].name},
                  {"value", sweep.runs[i].value},
                  {"part", part.part},
                  {"kind", part.kind},
                  {"ns_per_step", part.ns_per_step[i]}};
      row["exponent"] = part.exponent ? Json(*part.exponent) : Json(nullptr);
      row["should_not_grow"] = part.should_not_grow;
      rows.push_back(std::move(row));
    }
  }
  return WriteCsv({"run", "value", "part", "kind", "ns_per_step", "exponent", "should_not_grow"}, rows);
}

std::string RenderText(const report::Sweep& sweep, const TextOptions& options) {
  using Row = report::SweepPart;
  TextPage page(options);
  page.Line(sweep.sentence, 0, 2, Emphasis::kStrong);
  const auto name = [](const Row& row) { return row.kind == "family" ? row.part + " kernels" : row.part; };
  std::vector<Column<Row>> columns = {{"part", name}};
  for (size_t i = 0; i < std::min(sweep.runs.size(), kMostSweepColumns); ++i) {
    const auto time = [i](const Row& row) { return Cell(row.ns_per_step[i]); };
    columns.push_back({fmt::format("{:g}", sweep.runs[i].value), time, CellKind::kTime, static_cast<int>(i % 2)});
  }
  columns.push_back({"exponent", ExponentCell});
  columns.push_back({"95 % interval", ExponentRange, CellKind::kText, 2});
  columns.push_back({"", [](const Row& row) { return row.should_not_grow ? Cell("should not grow") : Cell(""); }});
  page.Heading("growth", fmt::format("time a step by {}, on the mean rank", sweep.key));
  std::vector<Row> rows = sweep.parts;
  std::erase_if(rows, [](const Row& row) { return row.ns_per_step.front() <= 0 && row.ns_per_step.back() <= 0; });
  page.Table(rows, columns);
  for (const std::string& notice : sweep.notices) page.Line(notice, 0, 2);
  return page.Take();
}

}  // namespace lockstep::compare
