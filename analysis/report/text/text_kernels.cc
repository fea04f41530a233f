// kernels[], families[], tails[].
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

// The entry of a list with the largest value of a field, the first of equal ones; null if no entry has one.
Json Largest(const Json& row, std::string_view list, std::string_view field) {
  const Json* largest = nullptr;
  std::optional<double> most;
  for (const Json& entry : ListOf(row, list)) {
    const std::optional<double> value = RealOf(FieldOf(entry, field));
    if (value.has_value() && (!most.has_value() || *value > *most)) {
      largest = &entry;
      most = value;
    }
  }
  return largest != nullptr ? *largest : Json();
}

// The rank that holds most of a tail, the step that holds half of it or more, and where its longest instance lies, as
// fields of the row.
void AddWorst(Json& row) {
  Json worst = Largest(row, "by_rank", "share_of_tail_ratio");
  Json step = Largest(row, "by_step", "share_of_tail_ratio");
  Json longest = Largest(row, "exemplars", "duration_ns");
  row["worst"] = std::move(worst);
  row["worst_step"] = RealOf(FieldOf(step, "share_of_tail_ratio")).value_or(0) >= 0.5 ? std::move(step) : Json();
  row["longest"] = std::move(longest);
}

}  // namespace

void KernelsSection(const Json& view, TextPage& page) {
  page.Heading("kernels", "skew = longest total of a rank over the mean, less one");
  page.Table(view, {{"kernel", "name", CellKind::kKernel},
                    {"family", "family", CellKind::kText, 5},
                    {"share", "share_ratio", CellKind::kPercent},
                    {"total", "total_ns", CellKind::kTime},
                    {"calls", "instances", CellKind::kCount},
                    {"ranks", "ranks", CellKind::kNumber, 6},
                    {"p50", "duration_ns.p50", CellKind::kTime},
                    {"p99", "duration_ns.p99", CellKind::kTime, 1},
                    {"max", "duration_ns.max", CellKind::kTime, 1},
                    {"tail", "tail_score", CellKind::kPercent, 4},
                    {"slowest", "slowest_rank", CellKind::kNumber, 3},
                    {"skew", "rank_imbalance_ratio", CellKind::kPercent, 2}});
}

void FamiliesSection(const Json& view, TextPage& page) {
  page.Heading("families of kernels");
  page.Table(view, {{"family", "family", CellKind::kText},
                    {"share", "share_ratio", CellKind::kPercent},
                    {"total", "total_ns", CellKind::kTime},
                    {"calls", "instances", CellKind::kCount}});
}

void TailsSection(const Json& view, TextPage& page) {
  page.Heading("tails", "lost = part of the rank-time spent in instances over twice the median");
  Json rows = RowsOf(view);
  for (Json& row : rows) AddWorst(row);
  std::vector<TableColumn> columns = {{"kernel", "name", CellKind::kKernel},
                                      {"lost", "tail_score", CellKind::kPercent},
                                      {"p50", "fleet_ns.p50", CellKind::kTime},
                                      {"p99", "fleet_ns.p99", CellKind::kTime},
                                      {"max", "fleet_ns.max", CellKind::kTime},
                                      {"rank", "worst.rank", CellKind::kNumber, 2},
                                      {"of tail", "worst.share_of_tail_ratio", CellKind::kPercent, 2},
                                      {"longest at", "longest.start_ns", CellKind::kInstant, 3},
                                      {"on rank", "longest.rank", CellKind::kNumber, 3},
                                      {"step", "longest.step", CellKind::kNumber, 4}};
  const bool any_step =
      std::any_of(rows.begin(), rows.end(), [](const Json& row) { return !FieldOf(row, "worst_step").is_null(); });
  if (any_step) columns.insert(columns.begin() + 7, {"in step", "worst_step.step", CellKind::kNumber, 2});
  page.Table(rows, std::move(columns));
}

}  // namespace lockstep
