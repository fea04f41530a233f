// imbalance{}: quantities have units of their own, so every row is written in its own unit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

std::string ValueText(std::optional<double> value, std::string_view unit) {
  if (!value) return "-";
  if (unit == "ns") return FormatTime(Json(*value));
  if (unit == "bytes") return FormatBytes(Json(*value));
  constexpr double kMostGrouped = 1e15;
  const bool grouped = *value >= 1000 && *value < kMostGrouped;
  return grouped ? FormatCount(Json(static_cast<int64_t>(*value))) : fmt::format("{:.4g}", *value);
}

void AddFigures(Json& quantity) {
  const std::string unit = TextOf(FieldOf(quantity, "unit"));
  double sum = 0;
  std::optional<double> largest;
  std::optional<double> smallest;
  int64_t count = 0;
  for (const Json& rank : ListOf(quantity, "per_rank")) {
    const auto value = RealOf(FieldOf(rank, "value"));
    if (!value) continue;
    sum += *value;
    ++count;
    largest = std::max(largest.value_or(*value), *value);
    smallest = std::min(smallest.value_or(*value), *value);
  }
  quantity["mean"] = ValueText(largest ? std::optional(sum / static_cast<double>(count)) : std::nullopt, unit);
  quantity["least"] = ValueText(smallest, unit);
  quantity["most"] = ValueText(largest, unit);
  const auto ratio = RealOf(FieldOf(quantity, "max_over_mean_ratio"));
  quantity["over"] = ratio ? Json(*ratio - 1) : Json(nullptr);
  if (FieldOf(quantity, "waits") == Json(true)) quantity["kind"] = "waits for others";
}

struct Factor {
  std::string_view key;
  std::string_view meaning;
};
constexpr std::array<Factor, 7> kFactors = {{{"parallel", "time computing, mean of the ranks"},
                                             {"load_balance", "mean of computing over that of the busiest rank"},
                                             {"communication", "time the busiest rank computes"},
                                             {"serialisation", "loss to dependencies with free transfer"},
                                             {"transfer", "loss to moving data"},
                                             {"busy_share", "computing over all device activity"},
                                             {"orchestration", "time with any device activity"}}};

void WriteEfficiency(const Json& efficiency, TextPage& page) {
  page.Heading("efficiency", "1 is best; parallel = load_balance x communication");
  Json rows = Json::array();
  for (const Factor& factor : kFactors) {
    const auto value = RealOf(FieldOf(efficiency, factor.key));
    rows.push_back({{"factor", factor.key},
                    {"value", value ? Json(fmt::format("{:.3f}", *value)) : Json(nullptr)},
                    {"meaning", factor.meaning}});
  }
  page.Table(rows, {{"factor", "factor"}, {"value", "value"}, {"meaning", "meaning"}});
}

}  // namespace

void ImbalanceSection(const Json& view, TextPage& page) {
  const Json& window = FieldOf(view, "window");
  page.Heading("imbalance", fmt::format("window: {} from {} ({})", FormatTime(FieldOf(window, "span_ns")),
                                        FormatTime(FieldOf(window, "start_ns")), TextOf(FieldOf(window, "kind"))));
  Json rows = RowsOf(ListOf(view, "quantities"));
  for (Json& row : rows) AddFigures(row);
  page.Table(rows, {{"quantity", "quantity", CellKind::kText},
                    {"least", "least", CellKind::kText},
                    {"mean", "mean", CellKind::kText},
                    {"most", "most", CellKind::kText},
                    {"on rank", "worst_rank", CellKind::kNumber},
                    {"over mean", "over", CellKind::kPercent},
                    {"variation", "cv_ratio", CellKind::kPercent, 1},
                    {"because", "kind", CellKind::kText}});
  if (HasContent(FieldOf(view, "efficiency"))) WriteEfficiency(FieldOf(view, "efficiency"), page);
}

}  // namespace lockstep
