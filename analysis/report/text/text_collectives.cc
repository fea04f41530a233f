// collectives[], skew{}.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analysis/base/rank_list.h"
#include "analysis/report/rows/collectives.h"
#include "analysis/report/rows/summary.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

constexpr size_t kMostWaitColumns = 9;

// "0-7", "3,11..27" for every eighth one, else as FoldedNumbers.
std::string ShortRanks(const std::vector<int32_t>& ascending) {
  constexpr size_t kMostListed = 3;
  const auto stride = [&](size_t i) { return ascending[i + 1] - ascending[i]; };
  bool even = ascending.size() > kMostListed && stride(0) > 1;
  for (size_t i = 1; even && i + 1 < ascending.size(); ++i) even = stride(i) == stride(0);
  return even ? fmt::format("{},{}..{}", ascending[0], ascending[1], ascending.back()) : FoldedNumbers(ascending, 2);
}

// "default_pg (0-7)": how people name a group; several groups may have one name.
std::string WithRanks(const std::string& name, const std::vector<int32_t>& ranks) {
  return ranks.empty() ? name : fmt::format("{} ({})", name, ShortRanks(ranks));
}

std::string GroupText(const report::CollectiveRow& row) {
  const report::CollectiveGroup& group = row.communicator;
  std::string text = group.desc.value_or("");
  if (text.empty()) text = group.name.value_or("");
  if (text.empty()) text = group.communicator_id;
  return WithRanks(text, row.members);
}

std::string GroupOfInstance(const report::SkewInstance& instance) {
  std::vector<int32_t> ranks;
  for (const report::SkewMember& member : instance.members) ranks.push_back(member.rank);
  return WithRanks(instance.communicator_name.value_or(instance.communicator_id), ranks);
}

// The rows in their order, or the largest first where not all of them will be shown.
template <typename Row, typename Member>
std::vector<Row> LargestFirst(std::vector<Row> rows, Member member, const TextPage& page) {
  if (static_cast<int64_t>(rows.size()) > page.options().max_rows) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return Cell(a.*member).Real().value_or(-1) > Cell(b.*member).Real().value_or(-1);
    });
  }
  return rows;
}

// Cells from a distribution of a row.
template <typename Row>
std::function<Cell(const Row&)> CellFrom(report::Percentiles Row::*distribution,
                                         report::Percentiles::Value report::Percentiles::*value) {
  return [=](const Row& row) { return Cell(row.*distribution.*value); };
}

// The headline and the table differ, because waits that went through other ranks count elsewhere.
bool CountsElsewhere(const report::Skew& skew, const report::Summary& summary) {
  constexpr double kVisible = 0.002;  // of all waiting
  const double least = kVisible * static_cast<double>(summary.wait_total_ns.value);
  return std::any_of(summary.culprits.begin(), summary.culprits.end(), [&](const report::Culprit& culprit) {
    auto difference = static_cast<double>(culprit.caused_wait_total_ns.value);
    for (const report::SkewOfRank& row : skew.ranks) {
      const bool of_it = std::find(culprit.ranks.begin(), culprit.ranks.end(), row.rank) != culprit.ranks.end();
      if (of_it) difference -= static_cast<double>(row.caused_wait_total_ns.value);
    }
    return std::abs(difference) > least;
  });
}

// The rank that certainly arrived last for a good part of the waiting is none of those that the headline names.
bool MostIsNotNamed(const report::Skew& skew, const report::Summary& summary) {
  constexpr double kGoodPart = 0.2;
  if (summary.culprits.empty() || skew.ranks.empty()) return false;
  const auto most = std::max_element(skew.ranks.begin(), skew.ranks.end(), [](const auto& a, const auto& b) {
    return a.caused_wait_total_ns.value < b.caused_wait_total_ns.value;
  });
  const bool named = std::any_of(summary.culprits.begin(), summary.culprits.end(), [&](const auto& culprit) {
    return std::find(culprit.ranks.begin(), culprit.ranks.end(), most->rank) != culprit.ranks.end();
  });
  return !named && static_cast<double>(most->caused_wait_total_ns.value) >=
                       kGoodPart * static_cast<double>(summary.wait_total_ns.value);
}

void WriteSkewOfRanks(const report::Skew& skew, const report::Summary* summary, TextPage& page) {
  using Row = report::SkewOfRank;
  using PercentilesOfRow = report::Percentiles;
  page.Heading("skew", "caused = waiting of peers for this rank, where it certainly arrived last");
  page.Table(LargestFirst(skew.ranks, &Row::caused_wait_total_ns, page),
             {{"rank", &Row::rank, CellKind::kNumber},
              {"caused", &Row::caused_wait_total_ns, CellKind::kTime},
              {"+-", &Row::caused_wait_uncertainty_ns, CellKind::kTime},
              {"waited", &Row::wait_total_ns, CellKind::kTime},
              {"+-", &Row::wait_uncertainty_ns, CellKind::kTime, 3},
              {"last", &Row::last_arrivals, CellKind::kCount, 4},
              {"last in", &Row::last_arrival_ratio, CellKind::kPercent},
              {"late p50", CellFrom(&Row::lateness_ns, &PercentilesOfRow::p50), CellKind::kTime},
              {"late p99", CellFrom(&Row::lateness_ns, &PercentilesOfRow::p99), CellKind::kTime, 2},
              {"late max", CellFrom(&Row::lateness_ns, &PercentilesOfRow::max), CellKind::kTime, 1},
              {"instances", &Row::instances, CellKind::kCount, 1}});
  if (skew.ranks.empty()) return;  // not computed
  page.Line(fmt::format("Waiting that cannot be assigned to one rank with certainty: {}",
                        FormatTime(skew.unassigned_wait_ns)));
  if (summary != nullptr && CountsElsewhere(skew, *summary)) {
    page.Line(
        "Here a wait counts for the rank that certainly arrived last; the headline follows it back to where the delay "
        "began.",
        2, 2);
  } else if (summary != nullptr && MostIsNotNamed(skew, *summary)) {
    page.Line(
        "The headline names who makes the steps longer. A rank may arrive last more often because of the order of the "
        "program, and be no later than the others on the whole.",
        2, 2);
  }
}

// The steps that cost most, where not all of them will be shown.
void WriteSkewOfSteps(const std::vector<report::SkewOfStep>& steps, TextPage& page) {
  using Row = report::SkewOfStep;
  if (steps.empty()) return;
  page.Heading("skew by step", "worst rank = certainly caused the most waiting in the step");
  page.Table(LargestFirst(steps, &Row::wait_total_ns, page),
             {{"step", &Row::step, CellKind::kNumber},
              {"collectives", &Row::instances, CellKind::kCount, 2},
              {"waiting", &Row::wait_total_ns, CellKind::kTime},
              {"+-", &Row::wait_uncertainty_ns, CellKind::kTime},
              {"worst rank", &Row::worst_rank, CellKind::kNumber},
              {"caused", &Row::worst_caused_wait_ns, CellKind::kTime},
              {"spread p50", CellFrom(&Row::spread_ns, &report::Percentiles::p50), CellKind::kTime, 1},
              {"spread max", CellFrom(&Row::spread_ns, &report::Percentiles::max), CellKind::kTime}});
}

// "7" where it is certain, "7?" where another rank may have been the last one.
Cell LastRankCell(const report::SkewInstance& instance) {
  if (!instance.last_rank) return {};
  return fmt::format("{}{}", *instance.last_rank, instance.last_certain ? "" : "?");
}

void WriteInstances(const std::vector<report::SkewInstance>& instances, TextPage& page) {
  using Row = report::SkewInstance;
  page.Heading("instances", "spread = from first to last arrival; \"?\" = another rank may be last");
  page.Table(instances, {{"group", GroupOfInstance, CellKind::kName, 2},
                         {"index", &Row::index, CellKind::kNumber},
                         {"operation", &Row::op},
                         {"message", &Row::bytes, CellKind::kBytes, 5},
                         {"step", &Row::step, CellKind::kNumber, 1},
                         {"spread", &Row::spread_ns, CellKind::kTime},
                         {"+-", &Row::uncertainty_ns, CellKind::kTime},
                         {"transfer", &Row::transfer_ns, CellKind::kTime},
                         {"end spread", &Row::end_spread_ns, CellKind::kTime, 4},
                         {"shortest", &Row::shortest_duration_ns, CellKind::kTime, 6},
                         {"first", &Row::first_rank, CellKind::kNumber},
                         {"last", LastRankCell},
                         {"matched", &Row::confidence, CellKind::kPercent, 3}});
}

std::set<int32_t> RanksIn(const std::vector<report::SkewInstance>& instances) {
  std::set<int32_t> ranks;
  for (const report::SkewInstance& instance : instances) {
    for (const report::SkewMember& member : instance.members) ranks.insert(member.rank);
  }
  return ranks;
}

Cell WaitCell(const report::SkewInstance& instance, int32_t rank) {
  const auto member = std::find_if(instance.members.begin(), instance.members.end(),
                                   [&](const report::SkewMember& it) { return it.rank == rank; });
  return member == instance.members.end() ? Cell() : Cell(member->wait_ns);
}

// How long each rank waited in each instance, where the ranks fit side by side.
void WriteWaits(const std::vector<report::SkewInstance>& instances, TextPage& page) {
  using Row = report::SkewInstance;
  const std::set<int32_t> ranks = RanksIn(instances);
  if (ranks.empty()) return;
  if (ranks.size() > kMostWaitColumns) {
    page.Line("For the waits of each rank in each instance, use --format json or csv.");
    return;
  }
  std::vector<Column<Row>> columns = {{"index", &Row::index, CellKind::kNumber},
                                      {"operation", &Row::op, CellKind::kText, 1}};
  for (const int32_t rank : ranks) {
    const auto wait = [rank](const Row& row) { return WaitCell(row, rank); };
    columns.push_back({fmt::format("rank {}", rank), wait, CellKind::kTime});
  }
  page.Heading("waiting in each instance", "by rank");
  page.Table(instances, columns);
}

}  // namespace

void CollectivesSection(const std::vector<report::CollectiveRow>& rows, TextPage& page) {
  using Row = report::CollectiveRow;
  using PercentilesOfRow = report::Percentiles;
  page.Heading("collectives", "one row per group (ranks), operation, type and message size");
  page.Table(rows, {{"group", GroupText, CellKind::kName},
                    {"operation", &Row::op},
                    {"type", &Row::dtype, CellKind::kText, 5},
                    {"message", &Row::bytes, CellKind::kBytes, 2},
                    {"count", &Row::instances, CellKind::kCount},
                    {"matched", &Row::matched, CellKind::kCount, 4},
                    {"match", &Row::match, CellKind::kText, 5},
                    {"certain", &Row::confidence, CellKind::kPercent, 6},
                    {"spread", CellFrom(&Row::spread_ns, &PercentilesOfRow::p50), CellKind::kTime},
                    {"waiting", &Row::wait_total_ns, CellKind::kTime},
                    {"+-", &Row::wait_uncertainty_ns, CellKind::kTime, 3},
                    {"wait p50", CellFrom(&Row::wait_ns, &PercentilesOfRow::p50), CellKind::kTime, 8},
                    {"wait max", CellFrom(&Row::wait_ns, &PercentilesOfRow::max), CellKind::kTime, 7},
                    {"transfer", CellFrom(&Row::transfer_ns, &PercentilesOfRow::p50), CellKind::kTime, 1},
                    {"excess", &Row::transfer_excess_ratio, CellKind::kPercent, 9},
                    {"busbw", CellFrom(&Row::bus_bandwidth_gbps, &PercentilesOfRow::p50), CellKind::kBandwidth, 7},
                    {"verdict", &Row::verdict}});
}

void SkewSection(const report::Skew& skew, const report::Summary* summary, TextPage& page) {
  WriteSkewOfRanks(skew, summary, page);
  WriteSkewOfSteps(skew.steps, page);
  const std::vector<report::SkewInstance> instances =
      LargestFirst(skew.instances, &report::SkewInstance::spread_ns, page);
  if (instances.empty()) return;
  WriteInstances(instances, page);
  WriteWaits(instances, page);
}

}  // namespace lockstep
