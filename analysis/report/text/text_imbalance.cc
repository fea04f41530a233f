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

// Why the worst rank has more than the mean; nothing where it hardly has.
Cell CauseOf(const report::QuantityRow& row) {
  constexpr double kEven = 1.01;
  if (row.waits)
    return row.waits_for_rank ? fmt::format("waiting for rank {}", *row.waits_for_rank) : "waiting for peers";
  if (row.max_over_mean_ratio.value_or(0) < kEven) return {};
  if (row.idle_cause == "host") return "host launches late";
  if (row.idle_cause == "launch") return "launch latency";
  if (row.idle_cause == "dependency") return "waiting for other streams";
  if (row.kind == "more_work") return "more work";
  return row.kind;
}

void WriteQuantities(const std::vector<report::QuantityRow>& quantities, TextPage& page) {
  using Row = QuantityFigures;
  std::vector<Row> rows;
  for (const report::QuantityRow& quantity : quantities) rows.push_back(FiguresOfQuantity(quantity));
  const auto over_mean = [](const Row& row) {
    const std::optional<double> ratio = row.row->max_over_mean_ratio;
    return ratio ? Cell(*ratio - 1) : Cell();
  };
  page.Table(rows, {{"quantity", [](const Row& row) { return row.row->quantity; }},
                    {"min", &Row::least, CellKind::kText, 1},
                    {"mean", &Row::mean},
                    {"max", &Row::most},
                    {"on rank", [](const Row& row) { return row.row->worst_rank; }, CellKind::kNumber},
                    {"over mean", over_mean, CellKind::kPercent},
                    {"std/mean", [](const Row& row) { return row.row->cv_ratio; }, CellKind::kPercent, 2},
                    {"cause", [](const Row& row) { return CauseOf(*row.row); }}});
}

struct Factor {
  std::string_view name;
  std::optional<double> value;
  std::string_view meaning;
};

void WriteEfficiency(const report::Efficiency& it, TextPage& page) {
  const std::vector<Factor> factors = {
      {"parallel", it.parallel, "mean compute time / window"},
      {"load_balance", it.load_balance, "mean / longest compute time of a rank"},
      {"communication", it.communication, "longest compute time / window"},
      {"serialisation", it.serialisation, "longest compute time / window with free transfers"},
      {"transfer", it.transfer, "window with free transfers / window"},
      {"busy_share", it.busy_share, "longest compute time / longest busy time"},
      {"orchestration", it.orchestration, "longest busy time / window"}};
  const auto value = [](const Factor& factor) {
    return factor.value ? Cell(fmt::format("{:.3f}", *factor.value)) : Cell();
  };
  page.Heading("efficiency", "POP factors; 1 is best; parallel = load_balance x communication");
  page.Table(factors, {{"factor", &Factor::name}, {"value", value}, {"meaning", &Factor::meaning}});
}

}  // namespace

std::string WindowText(const report::ImbalanceWindow& window) {
  if (window.kind.empty() || window.kind == "none") return "";
  if (window.kind == "disjoint_spans") return "each rank over its own span: the ranks share no time";
  const std::string_view of = window.kind == "steps"     ? "the steps that all ranks have"
                              : window.kind == "buckets" ? "the time that all ranks have"
                              : window.kind == "ranges"  ? "the ranges of --nvtx"
                              : window.kind == "time"    ? "--time"
                                                         : "the whole capture";
  const bool from_start = window.start_ns == 0;
  return fmt::format("over {}: {}, {}", of, FormatTime(window.span_ns),
                     from_start ? "from the run's start" : fmt::format("from {} on", FormatTime(window.start_ns)));
}

void ImbalanceSection(const report::Imbalance& imbalance, TextPage& page) {
  const report::ImbalanceWindow& window = imbalance.window;
  page.Heading("imbalance", WindowText(window));
  WriteQuantities(imbalance.quantities, page);
  const bool computed = !window.kind.empty();
  if (computed) WriteEfficiency(imbalance.efficiency, page);
}

}  // namespace lockstep
