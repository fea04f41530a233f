// collectives[], skew{}.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

constexpr size_t kMostWaitColumns = 9;

// "0 default_pg (8)": how people name a group.
std::string GroupText(const Json& row) {
  const Json& group = FieldOf(row, "communicator");
  std::string text = TextOf(FieldOf(group, "desc"));
  if (text.empty()) text = TextOf(FieldOf(group, "name"));
  if (text.empty()) text = TextOf(FieldOf(group, "communicator_id"));
  const size_t members = ListOf(row, "members").size();
  return members == 0 ? text : fmt::format("{} ({})", text, members);
}

Json CollectiveRows(const Json& view) {
  Json rows = RowsOf(view);
  for (Json& row : rows) row["group"] = GroupText(row);
  return rows;
}

// The rows in their order, or the largest first where not all of them will be shown.
Json LargestFirst(const Json& rows, std::string_view key, const TextPage& page) {
  std::vector<const Json*> order;
  for (const Json& row : rows) order.push_back(&row);
  if (static_cast<int64_t>(rows.size()) > page.options().max_rows) {
    std::stable_sort(order.begin(), order.end(), [&](const Json* a, const Json* b) {
      return RealOf(FieldOf(*a, key)).value_or(-1) > RealOf(FieldOf(*b, key)).value_or(-1);
    });
  }
  Json sorted = Json::array();
  for (const Json* row : order) sorted.push_back(*row);
  return sorted;
}

void WriteRanks(const Json& view, TextPage& page) {
  page.Heading("skew", "caused = waiting of the others where this rank certainly came last");
  page.Table(LargestFirst(ListOf(view, "ranks"), "caused_wait_total_ns", page),
             {{"rank", "rank", CellKind::kNumber},
              {"caused", "caused_wait_total_ns", CellKind::kTime},
              {"+-", "caused_wait_uncertainty_ns", CellKind::kTime},
              {"waited", "wait_total_ns", CellKind::kTime},
              {"+-", "wait_uncertainty_ns", CellKind::kTime, 2},
              {"last", "last_arrivals", CellKind::kCount},
              {"last in", "last_arrival_ratio", CellKind::kPercent},
              {"late p50", "lateness_ns.p50", CellKind::kTime},
              {"late p99", "lateness_ns.p99", CellKind::kTime, 1},
              {"late max", "lateness_ns.max", CellKind::kTime, 1},
              {"instances", "instances", CellKind::kCount}});
  const Json& unassigned = FieldOf(view, "unassigned_wait_ns");
  if (unassigned.is_number()) {
    page.Line(fmt::format("waiting that is not certainly one rank's doing: {}", FormatTime(unassigned)));
  }
}

// The steps that cost most, where not all of them will be shown.
void WriteSkewSteps(const Json& steps, TextPage& page) {
  if (steps.empty()) return;
  page.Heading("skew by step", "worst rank = certainly caused the most waiting in the step");
  page.Table(LargestFirst(steps, "wait_total_ns", page), {{"step", "step", CellKind::kNumber},
                                                          {"collectives", "instances", CellKind::kCount},
                                                          {"waiting", "wait_total_ns", CellKind::kTime},
                                                          {"+-", "wait_uncertainty_ns", CellKind::kTime},
                                                          {"worst rank", "worst_rank", CellKind::kNumber},
                                                          {"caused", "worst_caused_wait_ns", CellKind::kTime},
                                                          {"spread p50", "spread_ns.p50", CellKind::kTime},
                                                          {"spread max", "spread_ns.max", CellKind::kTime}});
}

// "7" where it is certain, "7?" where the clock does not tell it from the second.
Json InstancesWithLast(const Json& instances) {
  Json rows = RowsOf(instances);
  for (Json& row : rows) {
    const bool certain = FieldOf(row, "last_certain") == true;
    const std::string last = PlainText(FieldOf(row, "last_rank"));
    row["last"] = last.empty() ? Json(nullptr) : Json(fmt::format("{}{}", last, certain ? "" : "?"));
  }
  return rows;
}

void WriteInstances(const Json& instances, TextPage& page) {
  page.Heading("instances", "spread = last minus first arrival; \"?\" = another rank may have been last");
  page.Table(InstancesWithLast(instances), {{"group", "communicator_id", CellKind::kText, 3},
                                            {"index", "index", CellKind::kNumber},
                                            {"operation", "op", CellKind::kText},
                                            {"message", "bytes", CellKind::kBytes, 4},
                                            {"step", "step", CellKind::kNumber, 2},
                                            {"spread", "spread_ns", CellKind::kTime},
                                            {"+-", "uncertainty_ns", CellKind::kTime},
                                            {"transfer", "transfer_ns", CellKind::kTime},
                                            {"ends", "end_spread_ns", CellKind::kTime, 1},
                                            {"shortest", "shortest_duration_ns", CellKind::kTime, 5},
                                            {"first", "first_rank", CellKind::kNumber},
                                            {"last", "last", CellKind::kText},
                                            {"sure", "confidence", CellKind::kPercent, 1}});
}

std::set<int64_t> RanksIn(const Json& instances) {
  std::set<int64_t> ranks;
  for (const Json& instance : instances) {
    for (const Json& member : ListOf(instance, "members")) {
      if (const auto rank = IntegerOf(FieldOf(member, "rank"))) ranks.insert(*rank);
    }
  }
  return ranks;
}

// How long each rank waited in each instance, where the ranks fit side by side.
void WriteWaits(const Json& instances, TextPage& page) {
  const std::set<int64_t> ranks = RanksIn(instances);
  if (ranks.empty()) return;
  if (ranks.size() > kMostWaitColumns) {
    page.Line("how long each rank waited in each instance: --format json or csv");
    return;
  }
  Json rows = Json::array();
  for (const Json& instance : instances) {
    Json row = {{"index", FieldOf(instance, "index")}, {"operation", FieldOf(instance, "op")}};
    for (const Json& member : ListOf(instance, "members")) {
      row[fmt::format("w{}", PlainText(FieldOf(member, "rank")))] = FieldOf(member, "wait_ns");
    }
    rows.push_back(std::move(row));
  }
  std::vector<TableColumn> columns = {{"index", "index", CellKind::kNumber},
                                      {"operation", "operation", CellKind::kText, 1}};
  for (const int64_t rank : ranks)
    columns.push_back({fmt::format("rank {}", rank), fmt::format("w{}", rank), CellKind::kTime});
  page.Heading("waiting in each instance", "by rank");
  page.Table(rows, std::move(columns));
}

}  // namespace

void CollectivesSection(const Json& view, TextPage& page) {
  page.Heading("collectives", "one row per group, operation, type and size; group (members)");
  page.Table(CollectiveRows(view), {{"group", "group", CellKind::kText},
                                    {"operation", "op", CellKind::kText},
                                    {"type", "dtype", CellKind::kText, 5},
                                    {"message", "bytes", CellKind::kBytes},
                                    {"found", "instances", CellKind::kCount},
                                    {"matched", "matched", CellKind::kCount, 1},
                                    {"by", "match", CellKind::kText, 2},
                                    {"sure", "confidence", CellKind::kPercent, 3},
                                    {"spread", "spread_ns.p50", CellKind::kTime},
                                    {"waiting", "wait_total_ns", CellKind::kTime},
                                    {"+-", "wait_uncertainty_ns", CellKind::kTime},
                                    {"wait p50", "wait_ns.p50", CellKind::kTime, 7},
                                    {"wait max", "wait_ns.max", CellKind::kTime, 6},
                                    {"transfer", "transfer_ns.p50", CellKind::kTime},
                                    {"over", "transfer_excess_ratio", CellKind::kPercent, 8},
                                    {"bus bw", "bus_bandwidth_gbps.p50", CellKind::kBandwidth, 4},
                                    {"verdict", "verdict", CellKind::kText}});
}

void SkewSection(const Json& view, TextPage& page) {
  WriteRanks(view, page);
  WriteSkewSteps(ListOf(view, "steps"), page);
  const Json instances = LargestFirst(ListOf(view, "instances"), "spread_ns", page);
  if (instances.empty()) return;
  WriteInstances(instances, page);
  WriteWaits(instances, page);
}

}  // namespace lockstep
