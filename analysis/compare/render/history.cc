// The history as JSON, text and CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/compare/history.h"
#include "analysis/compare/words.h"
#include "analysis/report/csv/csv_writer.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_page.h"
#include "analysis/report/text/text_words.h"

namespace lockstep::compare {
namespace {

constexpr size_t kMostCauses = 4;
constexpr double kLongestBar = 40;

// Every run as a bar, so that a change is seen.
void WriteRuns(const report::History& history, TextPage& page) {
  using Row = report::HistoryRun;
  double largest = 0;
  for (const Row& run : history.runs) largest = std::max(largest, run.value);
  const auto bar = [largest](const Row& row) {
    const double length = largest > 0 ? std::nearbyint(row.value / largest * kLongestBar) : 0;
    return std::string(static_cast<size_t>(length), '#') + (row.begins_level ? "  <- change" : "");
  };
  page.Heading("runs", "in order of time");
  page.Table(history.runs, {{"run", &Row::name, CellKind::kName},
                            {"steps", &Row::steps, CellKind::kCount, 1},
                            {history.metric, &Row::value, CellKind::kTime},
                            {"", bar}});
}

void WriteChange(const report::HistoryChange& change, TextPage& page) {
  page.Line(change.sentence, 2, 2, change.change_ratio > 0 ? Emphasis::kBad : Emphasis::kGood);
  for (size_t i = 0; i < std::min(kMostCauses, change.ledger.size()); ++i) {
    const report::LedgerEntry& entry = change.ledger[i];
    page.Line(fmt::format("{}: {} a step", entry.label, SignedTime(static_cast<double>(entry.change_ns_per_step))), 4,
              2);
  }
  for (const report::ContextDifference& difference : change.context) {
    page.Line(
        fmt::format("{}: {}, was {}", Printable(difference.key), Printable(difference.fresh.value_or("not known")),
                    Printable(difference.base.value_or("not known"))),
        4, 2);
  }
}

}  // namespace

std::string RenderJson(const report::History& history) { return lockstep::RenderJson(report::ToJson(history)); }

std::string RenderCsv(const report::History& history) {
  Json rows = Json::array();
  for (const report::HistoryRun& run : history.runs) rows.push_back(report::ToJson(run));
  return WriteCsv(ColumnsOf(report::HistoryRun::Fields()), rows);
}

std::string RenderText(const report::History& history, const TextOptions& options) {
  TextPage page(options);
  page.Line(history.sentence, 0, 2, Emphasis::kStrong);
  for (const report::HistoryChange& change : history.changes) WriteChange(change, page);
  WriteRuns(history, page);
  if (!history.left_out.empty()) {
    page.Heading("left out");
    for (const report::LeftOutRun& run : history.left_out) {
      page.Line(fmt::format("{}: {}", Printable(run.name), Printable(run.reason)), 2, 2);
    }
  }
  return page.Take();
}

}  // namespace lockstep::compare
