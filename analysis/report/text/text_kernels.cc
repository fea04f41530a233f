// kernels[], families[], tails[].
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "analysis/report/rows/kernels.h"
#include "analysis/report/text/text_sections.h"

namespace lockstep {
namespace {

// The item with the largest value of a member, the first of equal ones; nullptr if no item has one.
template <typename Item, typename Member>
const Item* Largest(const std::vector<Item>& items, Member member) {
  const Item* largest = nullptr;
  for (const Item& item : items) {
    if (!Cell(item.*member).Real()) continue;
    if (largest == nullptr || *Cell(item.*member).Real() > *Cell(largest->*member).Real()) largest = &item;
  }
  return largest;
}

// A cell of such an item; nothing where there is none.
template <typename Item, typename Member>
Cell CellOf(const Item* item, Member member) {
  return item != nullptr ? Cell(item->*member) : Cell();
}

// The rank that holds most of a tail.
const report::TailOfRank* WorstRankOf(const report::TailRow& row) {
  return Largest(row.by_rank, &report::TailOfRank::share_of_tail_ratio);
}

const report::TailExemplar* LongestOf(const report::TailRow& row) {
  return Largest(row.exemplars, &report::TailExemplar::duration_ns);
}

// The step that holds half of a tail or more.
const report::TailOfStep* WorstStepOf(const report::TailRow& row) {
  const report::TailOfStep* step = Largest(row.by_step, &report::TailOfStep::share_of_tail_ratio);
  return step != nullptr && *step->share_of_tail_ratio >= 0.5 ? step : nullptr;
}

}  // namespace

void KernelsSection(const std::vector<report::KernelRow>& rows, TextPage& page) {
  using Row = report::KernelRow;
  page.Heading("kernels", "over mean = largest total of a rank above the mean of the ranks");
  page.Table(rows, {{"kernel", &Row::name, CellKind::kKernel},
                    {"family", &Row::family, CellKind::kText, 6},
                    {"share", &Row::share_ratio, CellKind::kPercent},
                    {"total", &Row::total_ns, CellKind::kTime},
                    {"calls", &Row::instances, CellKind::kCount},
                    {"ranks", &Row::ranks, CellKind::kNumber, 7},
                    {"p50", [](const Row& row) { return row.duration_ns.p50; }, CellKind::kTime, 1},
                    {"p99", [](const Row& row) { return row.duration_ns.p99; }, CellKind::kTime, 3},
                    {"max", [](const Row& row) { return row.duration_ns.max; }, CellKind::kTime, 2},
                    {"tail", &Row::tail_score, CellKind::kPercent, 5},
                    {"slowest", &Row::slowest_rank, CellKind::kNumber, 4},
                    {"over mean", &Row::rank_imbalance_ratio, CellKind::kPercent, 4}});
  const auto communicates = [](const Row& row) { return row.category == "communication"; };
  if (std::none_of(rows.begin(), rows.end(), communicates)) return;
  page.Line("Communication kernels include waiting: see --view skew for who causes it.");
}

void FamiliesSection(const std::vector<report::FamilyRow>& rows, TextPage& page) {
  using Row = report::FamilyRow;
  page.Heading("kernel families");
  page.Table(rows, {{"family", &Row::family},
                    {"share", &Row::share_ratio, CellKind::kPercent},
                    {"total", &Row::total_ns, CellKind::kTime},
                    {"calls", &Row::instances, CellKind::kCount}});
}

void TailsSection(const std::vector<report::TailRow>& rows, TextPage& page) {
  using Row = report::TailRow;
  page.Heading("tails", "lost = GPU time beyond the median, in instances over twice as long");
  const auto worst = [](auto member) { return [member](const Row& row) { return CellOf(WorstRankOf(row), member); }; };
  const auto longest = [](auto member) { return [member](const Row& row) { return CellOf(LongestOf(row), member); }; };
  std::vector<Column<Row>> columns = {{"kernel", &Row::name, CellKind::kKernel},
                                      {"lost", &Row::tail_score, CellKind::kPercent},
                                      {"p50", [](const Row& row) { return row.fleet_ns.p50; }, CellKind::kTime, 1},
                                      {"p99", [](const Row& row) { return row.fleet_ns.p99; }, CellKind::kTime, 2},
                                      {"max", [](const Row& row) { return row.fleet_ns.max; }, CellKind::kTime},
                                      {"top rank", worst(&report::TailOfRank::rank), CellKind::kNumber, 3},
                                      {"share", worst(&report::TailOfRank::share_of_tail_ratio), CellKind::kPercent, 3},
                                      {"longest at", longest(&report::TailExemplar::start_ns), CellKind::kInstant, 4},
                                      {"longest on", longest(&report::TailExemplar::rank), CellKind::kNumber, 4},
                                      {"step", longest(&report::TailExemplar::step), CellKind::kNumber, 5}};
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return WorstStepOf(row) != nullptr; })) {
    const auto step = [](const Row& row) { return CellOf(WorstStepOf(row), &report::TailOfStep::step); };
    columns.insert(columns.begin() + 7, {"in step", step, CellKind::kNumber, 3});
  }
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.waits_for_rank.has_value(); })) {
    const auto waiting = [](const Row& row) {
      return row.waits_for_rank ? Cell(fmt::format("rank {}", *row.waits_for_rank)) : Cell();
    };
    columns.insert(columns.begin() + 5, {"waiting for", waiting});
  }
  page.Table(rows, columns);
}

}  // namespace lockstep
