// overlap[], idle[], steps[], pace{}: how the ranks' time divides.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_table.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

constexpr std::string_view kHeat = " .:-=+*#%@";
constexpr size_t kPaceColumns = 64;

// Mean of the buckets that fall on one column of the strip.
double MeanOf(const Json& ratios, size_t column, size_t columns) {
  const size_t first = column * ratios.size() / columns;
  const size_t end = std::max(first + 1, (column + 1) * ratios.size() / columns);
  double sum = 0;
  for (size_t i = first; i < end; ++i) sum += RealOf(ratios[i]).value_or(0);
  return sum / static_cast<double>(end - first);
}

std::string Strip(const Json& ratios) {
  const size_t columns = std::min(kPaceColumns, ratios.size());
  std::string strip;
  for (size_t column = 0; column < columns; ++column) {
    const double mean = std::clamp(MeanOf(ratios, column, columns), 0.0, 1.0);
    const double level = std::floor(mean * static_cast<double>(kHeat.size()));
    strip += kHeat[std::min(kHeat.size() - 1, static_cast<size_t>(level))];
  }
  return strip;
}

void WriteStrips(const Json& ranks, std::string_view key, std::string_view title, TextPage& page) {
  page.Raw(fmt::format("  {}", title));
  int64_t shown = 0;
  for (const Json& rank : ranks) {
    if (shown++ == page.options().max_rows) {
      page.Raw(fmt::format("  ... and {} more (--limit)", ranks.size() - static_cast<size_t>(shown - 1)));
      return;
    }
    page.Raw(fmt::format("  {:>6} |{}|", PlainText(FieldOf(rank, "rank")), Strip(ListOf(rank, key))));
  }
}

bool AnyHas(const Json& rows, std::string_view path) {
  return std::any_of(rows.begin(), rows.end(), [&](const Json& row) { return FieldOf(row, path).is_number(); });
}

}  // namespace

void OverlapSection(const Json& view, TextPage& page) {
  page.Heading("overlap", "exposed = communication under which nothing is computed");
  page.Table(view, {{"rank", "rank", CellKind::kNumber},
                    {"span", "span_ns", CellKind::kTime},
                    {"busy", "busy_ratio", CellKind::kPercent, 3},
                    {"compute", "compute_ns", CellKind::kTime},
                    {"comm", "comm_ns", CellKind::kTime},
                    {"overlap", "overlap_ratio", CellKind::kPercent},
                    {"exposed", "exposed_comm_ns", CellKind::kTime},
                    {"wait", "exposed_wait_ns", CellKind::kTime, 1},
                    {"transfer", "exposed_transfer_ns", CellKind::kTime, 1},
                    {"untold", "exposed_unresolved_ns", CellKind::kTime, 1},
                    {"copies", "copy_only_ns", CellKind::kTime, 2},
                    {"opaque", "opaque_only_ns", CellKind::kTime, 4},
                    {"idle", "idle_ns", CellKind::kTime}});
}

void IdleSection(const Json& view, TextPage& page) {
  page.Heading("idle", "why the device had nothing to do");
  std::vector<TableColumn> columns = {{"rank", "rank", CellKind::kNumber},
                                      {"device", "device", CellKind::kNumber, 3},
                                      {"gaps", "gaps", CellKind::kCount},
                                      {"idle", "idle_ns", CellKind::kTime},
                                      {"host", "host_ns", CellKind::kTime},
                                      {"launch", "launch_ns", CellKind::kTime},
                                      {"dependency", "dependency_ns", CellKind::kTime},
                                      {"other", "other_ns", CellKind::kTime},
                                      {"gap p50", "gap_ns.p50", CellKind::kTime, 2},
                                      {"gap p99", "gap_ns.p99", CellKind::kTime, 4},
                                      {"gap max", "gap_ns.max", CellKind::kTime, 1},
                                      {"gap/step", "dominant_gap_ns", CellKind::kTime, 3}};
  if (AnyHas(view, "bursts.count")) columns.push_back({"bursts", "bursts.count", CellKind::kCount, 3});
  page.Table(view, std::move(columns));
}

namespace {

constexpr size_t kMaxReasons = 8;

// What the host did in the steps of one rank, summed.
struct HostInSteps {
  double steps = 0;
  double longest_alloc_ns = 0;
  std::map<std::string, double> sums;
};

std::map<int64_t, HostInSteps> HostByRank(const Json& view) {
  constexpr std::array<std::string_view, 9> kSummed = {"launches",        "host.launch_ns",   "host.graph_launches",
                                                       "host.sync_calls", "host.sync_ns",     "host.alloc_calls",
                                                       "host.alloc_ns",   "host.host_copies", "host.host_copy_ns"};
  std::map<int64_t, HostInSteps> ranks;
  for (const Json& step : view) {
    HostInSteps& rank = ranks[IntegerOf(FieldOf(step, "rank")).value_or(-1)];
    ++rank.steps;
    rank.longest_alloc_ns = std::max(rank.longest_alloc_ns, RealOf(FieldOf(step, "host.alloc_max_ns")).value_or(0));
    for (const std::string_view key : kSummed) {
      rank.sums[std::string(key)] += RealOf(FieldOf(step, key)).value_or(0);
    }
  }
  return ranks;
}

// Means of the steps of each rank; nothing where no call was traced.
void WriteHost(const Json& view, TextPage& page) {
  if (!AnyHas(view, "host.launch_ns")) return;
  Json rows = Json::array();
  double calls = 0;
  for (const auto& [rank, host] : HostByRank(view)) {
    Json row = {{"rank", rank}, {"longest_alloc_ns", host.longest_alloc_ns}};
    for (const auto& [key, sum] : host.sums) {
      const double mean = sum / host.steps;
      calls += key.ends_with("_ns") ? 0 : sum;
      row[key.substr(key.find('.') + 1)] = key.ends_with("_ns") ? Json(mean) : Json(fmt::format("{:.1f}", mean));
    }
    rows.push_back(std::move(row));
  }
  if (calls == 0) return;
  page.Heading("the host in a step", "means of the steps above; longest = the longest allocation of any");
  page.Table(rows, {{"rank", "rank", CellKind::kNumber},
                    {"launches", "launches", CellKind::kNumber},
                    {"taking", "launch_ns", CellKind::kTime},
                    {"graphs", "graph_launches", CellKind::kNumber, 3},
                    {"syncs", "sync_calls", CellKind::kNumber},
                    {"taking", "sync_ns", CellKind::kTime},
                    {"allocs", "alloc_calls", CellKind::kNumber},
                    {"taking", "alloc_ns", CellKind::kTime},
                    {"longest", "longest_alloc_ns", CellKind::kTime, 1},
                    {"copies", "host_copies", CellKind::kNumber, 2},
                    {"taking", "host_copy_ns", CellKind::kTime, 2}});
}

// The longest steps of which a reason is told.
void WriteReasons(const Json& view, TextPage& page) {
  std::vector<const Json*> slow;
  for (const Json& step : view) {
    if (FieldOf(step, "why").is_string()) slow.push_back(&step);
  }
  if (slow.empty()) return;
  std::stable_sort(slow.begin(), slow.end(), [](const Json* a, const Json* b) {
    return RealOf(FieldOf(*a, "span_ns")).value_or(0) > RealOf(FieldOf(*b, "span_ns")).value_or(0);
  });
  page.Heading("slow steps", fmt::format("{} beyond the noise; the longest first", slow.size()));
  slow.resize(std::min(slow.size(), kMaxReasons));
  for (const Json* step : slow) {
    page.Line(fmt::format("rank {}, step {}: {}", PlainText(FieldOf(*step, "rank")), PlainText(FieldOf(*step, "step")),
                          TextOf(FieldOf(*step, "why"))),
              2, 2);
  }
}

}  // namespace

void StepsSection(const Json& view, TextPage& page) {
  page.Heading("steps", "time of the device windows");
  std::vector<TableColumn> columns = {{"rank", "rank", CellKind::kNumber},
                                      {"step", "step", CellKind::kNumber},
                                      {"phase", "phase", CellKind::kText, 3},
                                      {"start", "start_ns", CellKind::kInstant},
                                      {"span", "span_ns", CellKind::kTime},
                                      {"compute", "compute_ns", CellKind::kTime},
                                      {"exposed", "exposed_comm_ns", CellKind::kTime},
                                      {"wait", "exposed_wait_ns", CellKind::kTime, 1},
                                      {"transfer", "exposed_transfer_ns", CellKind::kTime, 2},
                                      {"untold", "exposed_unresolved_ns", CellKind::kTime, 4},
                                      {"copies", "copy_only_ns", CellKind::kTime, 5},
                                      {"idle", "idle_ns", CellKind::kTime},
                                      {"launches", "launches", CellKind::kCount, 2}};
  if (AnyHas(view, "phases.backward_ratio")) {
    columns.push_back({"forward", "phases.forward_ratio", CellKind::kPercent, 1});
    columns.push_back({"backward", "phases.backward_ratio", CellKind::kPercent, 1});
    columns.push_back({"optimizer", "phases.optimizer_ratio", CellKind::kPercent, 1});
  }
  columns.push_back({"verdict", "verdict", CellKind::kText});
  page.Table(view, std::move(columns));
  WriteHost(view, page);
  WriteReasons(view, page);
}

namespace {

// How far each rank is after each tenth of the window.
void WriteStepsDone(const Json& ranks, TextPage& page) {
  constexpr size_t kParts = 10;
  Json rows = Json::array();
  for (const Json& rank : ranks) {
    const Json& done = ListOf(rank, "steps_done");
    if (done.empty()) continue;
    Json row = {{"rank", FieldOf(rank, "rank")}};
    for (size_t part = 1; part <= kParts; ++part) {
      const size_t bucket = std::max<size_t>(part * done.size() / kParts, 1) - 1;
      row[fmt::format("{} %", 10 * part)] = fmt::format("{:.1f}", RealOf(done[bucket]).value_or(0));
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return;
  page.Raw("  steps done by then");
  page.Table(rows, {{"rank", "rank", CellKind::kNumber},
                    {"10 %", "10 %"},
                    {"20 %", "20 %"},
                    {"30 %", "30 %"},
                    {"40 %", "40 %"},
                    {"50 %", "50 %"},
                    {"60 %", "60 %"},
                    {"70 %", "70 %"},
                    {"80 %", "80 %"},
                    {"90 %", "90 %"},
                    {"100 %", "100 %"}});
}

}  // namespace

void PaceSection(const Json& view, TextPage& page) {
  const Json& ranks = ListOf(view, "ranks");
  const auto bucket = RealOf(FieldOf(view, "bucket_ns"));
  const size_t buckets = ranks.empty() ? 0 : ListOf(ranks[0], "busy_ratio").size();
  page.Heading("pace", "share of the time that is busy: blank = none, @ = all");
  if (ranks.empty() || buckets == 0 || !bucket) {
    page.Line("(nothing)", 2, 0, Emphasis::kFaint);
    return;
  }
  const double window_ns = *bucket * static_cast<double>(buckets);
  page.Line(fmt::format("{} from {} after the run's start, {} a character", FormatTime(Json(window_ns)),
                        FormatTime(FieldOf(view, "start_ns")),
                        FormatTime(Json(window_ns / static_cast<double>(std::min(kPaceColumns, buckets))))));
  WriteStrips(ranks, "compute_ratio", "rank   computing", page);
  WriteStrips(ranks, "comm_ratio", "rank   communicating", page);
  WriteStepsDone(ranks, page);
}

}  // namespace lockstep
