// imbalance{}: quantities have units of their own, so every row is written in its own unit.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/rows/imbalance.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

std::string ValueText(double value, std::string_view unit) {
  if (unit == "ns") return FormatTime(value);
  constexpr double kMostGrouped = 1e15;
  const bool grouped = value >= 1000 && value < kMostGrouped;
  return grouped ? FormatCount(static_cast<int64_t>(value)) : fmt::format("{:.4g}", value);
}

// A quantity over all ranks, in its own unit.
struct QuantityFigures {
  const report::QuantityRow* row;
  std::string least;
  std::string mean;
  std::string most;
};

QuantityFigures FiguresOfQuantity(const report::QuantityRow& row) {
  if (row.per_rank.empty()) return {&row, "-", "-", "-"};
  double sum = 0;
  double largest = row.per_rank.front().value.Real();
  double smallest = largest;
  for (const report::QuantityOfRank& rank : row.per_rank) {
    const double value = rank.value.Real();
    sum += value;
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
  }
  const double mean = sum / static_cast<double>(row.per_rank.size());
  return {&row, ValueText(smallest, row.unit), ValueText(mean, row.unit), ValueText(largest, row.unit)};
}

void WriteQuantities(const std::vector<report::QuantityRow>& quantities, TextPage& page) {
  using Row = QuantityFigures;
  std::vector<Row> rows;
  for (const report::QuantityRow& quantity : quantities) rows.push_back(FiguresOfQuantity(quantity));
  const auto over_mean = [](const Row& row) {
    const std::optional<double> ratio = row.row->max_over_mean_ratio;
    return ratio ? Cell(*ratio - 1) : Cell();
  };
  const auto reason = [](const Row& row) { return row.row->waits ? "waits for others" : row.row->kind; };
  page.Table(rows, {{"quantity", [](const Row& row) { return row.row->quantity; }},
                    {"least", &Row::least},
                    {"mean", &Row::mean},
                    {"most", &Row::most},
                    {"on rank", [](const Row& row) { return row.row->worst_rank; }, CellKind::kNumber},
                    {"over mean", over_mean, CellKind::kPercent},
                    {"variation", [](const Row& row) { return row.row->cv_ratio; }, CellKind::kPercent, 1},
                    {"because", reason}});
}

struct Factor {
  std::string_view name;
  std::optional<double> value;
  std::string_view meaning;
};

void WriteEfficiency(const report::Efficiency& it, TextPage& page) {
  const std::vector<Factor> factors = {
      {"parallel", it.parallel, "time computing, mean of the ranks"},
      {"load_balance", it.load_balance, "mean of computing over that of the busiest rank"},
      {"communication", it.communication, "time the busiest rank computes"},
      {"serialisation", it.serialisation, "loss to dependencies with free transfer"},
      {"transfer", it.transfer, "loss to moving data"},
      {"busy_share", it.busy_share, "computing over all device activity"},
      {"orchestration", it.orchestration, "time with any device activity"}};
  const auto value = [](const Factor& factor) {
    return factor.value ? Cell(fmt::format("{:.3f}", *factor.value)) : Cell();
  };
  page.Heading("efficiency", "1 is best; parallel = load_balance x communication");
  page.Table(factors, {{"factor", &Factor::name}, {"value", value}, {"meaning", &Factor::meaning}});
}

}  // namespace

void ImbalanceSection(const report::Imbalance& imbalance, TextPage& page) {
  const report::ImbalanceWindow& window = imbalance.window;
  page.Heading("imbalance", fmt::format("window: {} from {} ({})", FormatTime(window.span_ns),
                                        FormatTime(window.start_ns), window.kind));
  WriteQuantities(imbalance.quantities, page);
  const bool computed = !window.kind.empty();
  if (computed) WriteEfficiency(imbalance.efficiency, page);
}

}  // namespace lockstep
