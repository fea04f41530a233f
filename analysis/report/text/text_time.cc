// idle[], steps[], pace{}: how the ranks' time divides.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_table.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {

void IdleSection(const std::vector<report::IdleRow>& rows, TextPage& page) {
  using Row = report::IdleRow;
  using P = report::Percentiles;
  page.Heading("idle", "time in which nothing runs on the device, by cause");
  const auto gap = [](P::Value P::*figure) {
    return [figure](const Row& row) { return row.gap_ns ? *row.gap_ns.*figure : std::nullopt; };
  };
  std::vector<Column<Row>> columns = {{"rank", &Row::rank, CellKind::kNumber},
                                      {"device", &Row::device, CellKind::kNumber, 5},
                                      {"gaps", &Row::gaps, CellKind::kCount, 1},
                                      {"idle", &Row::idle_ns, CellKind::kTime},
                                      {"host", &Row::host_ns, CellKind::kTime},
                                      {"launch", &Row::launch_ns, CellKind::kTime},
                                      {"dependency", &Row::dependency_ns, CellKind::kTime},
                                      {"other", &Row::other_ns, CellKind::kTime},
                                      {"gap p50", gap(&P::p50), CellKind::kTime, 2},
                                      {"gap p99", gap(&P::p99), CellKind::kTime, 4},
                                      {"gap max", gap(&P::max), CellKind::kTime, 1},
                                      {"longest/step", &Row::dominant_gap_ns, CellKind::kTime, 3}};
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.bursts.has_value(); })) {
    const auto bursts = [](const Row& row) { return row.bursts ? Cell(row.bursts->count) : Cell(); };
    columns.push_back({"bursts", bursts, CellKind::kCount, 3});
  }
  page.Table(rows, columns);
}

namespace {

constexpr size_t kMaxReasons = 8;

// What the host did in the steps of one rank, summed.
struct HostInSteps {
  int32_t rank = 0;
  double steps = 0;
  double launches = 0;
  double launch_ns = 0;
  double graph_launches = 0;
  double sync_calls = 0;
  double sync_ns = 0;
  double alloc_calls = 0;
  double alloc_ns = 0;
  double longest_alloc_ns = 0;
  double host_copies = 0;
  double host_copy_ns = 0;

  void Add(const report::StepRow& step) {
    const auto real = [](report::Count count) { return static_cast<double>(count.value); };
    const report::HostOfStep& host = step.host;
    ++steps;
    launches += real(step.launches);
    launch_ns += real(host.launch_ns);
    graph_launches += real(host.graph_launches);
    sync_calls += real(host.sync_calls);
    sync_ns += real(host.sync_ns);
    alloc_calls += real(host.alloc_calls);
    alloc_ns += real(host.alloc_ns);
    longest_alloc_ns = std::max(longest_alloc_ns, real(host.alloc_max_ns));
    host_copies += real(host.host_copies);
    host_copy_ns += real(host.host_copy_ns);
  }
  // Documents of older versions have `launches` alone.
  [[nodiscard]] bool IsKnown() const { return launch_ns > 0 || sync_calls > 0 || alloc_calls > 0 || host_copies > 0; }
};

// By rank.
std::vector<HostInSteps> HostByRank(const std::vector<report::StepRow>& steps) {
  std::map<int32_t, HostInSteps> ranks;
  for (const report::StepRow& step : steps) {
    HostInSteps& rank = ranks[step.rank];
    rank.rank = step.rank;
    rank.Add(step);
  }
  std::vector<HostInSteps> list;
  for (const auto& [rank, host] : ranks) list.push_back(host);
  return list;
}

// Means of the steps of each rank; nothing where no call was traced.
void WriteHost(const std::vector<report::StepRow>& steps, TextPage& page) {
  using Row = HostInSteps;
  const std::vector<Row> rows = HostByRank(steps);
  if (std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.IsKnown(); })) return;
  const auto count = [](double Row::*sum) {
    return [sum](const Row& row) { return fmt::format("{:.1f}", row.*sum / row.steps); };
  };
  const auto time = [](double Row::*sum) { return [sum](const Row& row) { return row.*sum / row.steps; }; };
  page.Heading("host calls in a step", "means per step; time = in these calls; max = longest");
  page.Table(rows, {{"rank", &Row::rank, CellKind::kNumber},
                    {"launches", count(&Row::launches), CellKind::kNumber},
                    {"time", time(&Row::launch_ns), CellKind::kTime},
                    {"graphs", count(&Row::graph_launches), CellKind::kNumber, 3},
                    {"syncs", count(&Row::sync_calls), CellKind::kNumber},
                    {"time", time(&Row::sync_ns), CellKind::kTime},
                    {"allocs", count(&Row::alloc_calls), CellKind::kNumber},
                    {"time", time(&Row::alloc_ns), CellKind::kTime},
                    {"max", &Row::longest_alloc_ns, CellKind::kTime, 1},
                    {"copies", count(&Row::host_copies), CellKind::kNumber, 2},
                    {"time", time(&Row::host_copy_ns), CellKind::kTime, 2}});
}

// The longest steps that have a reason.
void WriteReasons(const std::vector<report::StepRow>& steps, TextPage& page) {
  std::vector<const report::StepRow*> slow;
  for (const report::StepRow& step : steps) {
    if (step.why) slow.push_back(&step);
  }
  if (slow.empty()) return;
  std::stable_sort(slow.begin(), slow.end(), [](const report::StepRow* a, const report::StepRow* b) {
    return a->span_ns.value > b->span_ns.value;
  });
  page.Heading("slow steps", fmt::format("{} longer than noise explains; longest first", slow.size()));
  slow.resize(std::min(slow.size(), kMaxReasons));
  for (const report::StepRow* step : slow) {
    page.Line(fmt::format("rank {}, step {}: {}", step->rank, step->step, step->why.value_or("")), 2, 2);
  }
}

// The device window of the last step of a rank ends with the capture, that of any other one with the next step.
bool ReachesBeyondItsWork(const std::vector<report::StepRow>& rows) {
  std::map<int32_t, const report::StepRow*> last;
  for (const report::StepRow& row : rows) {
    const report::StepRow*& of_rank = last[row.rank];
    if (of_rank == nullptr || row.start_ns > of_rank->start_ns) of_rank = &row;
  }
  return std::any_of(last.begin(), last.end(), [](const auto& of_rank) {
    const report::StepRow& row = *of_rank.second;
    return row.last_end_ns && *row.last_end_ns - row.start_ns < row.span_ns.value;
  });
}

}  // namespace

void StepsSection(const std::vector<report::StepRow>& rows, TextPage& page) {
  using Row = report::StepRow;
  using Phases = report::PhasesOfStep;
  page.Heading("steps", "times on the device; exposed = communication while nothing is computed");
  std::vector<Column<Row>> columns = {{"rank", &Row::rank, CellKind::kNumber},
                                      {"step", &Row::step, CellKind::kNumber},
                                      {"phase", &Row::phase, CellKind::kText, 3},
                                      {"start", &Row::start_ns, CellKind::kInstant},
                                      {"span", &Row::span_ns, CellKind::kTime},
                                      {"compute", &Row::compute_ns, CellKind::kTime},
                                      {"exposed", &Row::exposed_comm_ns, CellKind::kTime},
                                      {"wait", &Row::exposed_wait_ns, CellKind::kTime, 1},
                                      {"transfer", &Row::exposed_transfer_ns, CellKind::kTime, 2},
                                      {"unattr.", &Row::exposed_unresolved_ns, CellKind::kTime, 5},
                                      {"copies", &Row::copy_only_ns, CellKind::kTime, 6},
                                      {"idle", &Row::idle_ns, CellKind::kTime},
                                      {"launches", &Row::launches, CellKind::kCount, 3}};
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.phases.has_value(); })) {
    const auto phase = [](double Phases::*share) {
      return [share](const Row& row) { return row.phases ? Cell(*row.phases.*share) : Cell(); };
    };
    columns.push_back({"forward", phase(&Phases::forward_ratio), CellKind::kPercent, 4});
    columns.push_back({"backward", phase(&Phases::backward_ratio), CellKind::kPercent, 4});
    columns.push_back({"optimizer", phase(&Phases::optimizer_ratio), CellKind::kPercent, 4});
  }
  columns.push_back({"verdict", &Row::verdict});
  page.Table(rows, columns);
  if (ReachesBeyondItsWork(rows)) {
    page.Line(
        "Here the last step of a rank lasts to the end of its capture; the step time ends with the work of the step.");
  }
  if (std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.rank != rows.front().rank; })) {
    page.Line(
        "The step time of the job is from when the last rank begins a step to when the last rank begins the next one.");
  }
  WriteHost(rows, page);
  WriteReasons(rows, page);
}

namespace {

using PaceRatios = std::vector<std::optional<double>>;

constexpr std::string_view kHeat = " .:-=+*#%@";
constexpr size_t kPaceColumns = 64;

// Mean of the buckets that fall on one column of the strip.
double MeanOf(const PaceRatios& ratios, size_t column, size_t columns) {
  const size_t first = column * ratios.size() / columns;
  const size_t end = std::max(first + 1, (column + 1) * ratios.size() / columns);
  double sum = 0;
  for (size_t i = first; i < end; ++i) sum += ratios[i].value_or(0);
  return sum / static_cast<double>(end - first);
}

std::string Strip(const PaceRatios& ratios) {
  const size_t columns = std::min(kPaceColumns, ratios.size());
  std::string strip;
  for (size_t column = 0; column < columns; ++column) {
    const double mean = std::clamp(MeanOf(ratios, column, columns), 0.0, 1.0);
    const double level = std::floor(mean * static_cast<double>(kHeat.size()));
    strip += kHeat[std::min(kHeat.size() - 1, static_cast<size_t>(level))];
  }
  return strip;
}

void WriteStrips(const std::vector<report::PaceOfRank>& ranks, PaceRatios report::PaceOfRank::*ratios,
                 std::string_view title, TextPage& page) {
  page.Raw(fmt::format("  {}", title));
  int64_t shown = 0;
  for (const report::PaceOfRank& rank : ranks) {
    if (shown++ == page.options().max_rows) {
      page.Raw(fmt::format("  ... and {} more (--limit)", ranks.size() - static_cast<size_t>(shown - 1)));
      return;
    }
    page.Raw(fmt::format("  {:>6} |{}|", rank.rank, Strip(rank.*ratios)));
  }
}

// How many steps each rank has done after each tenth of the window.
void WriteStepsDone(const std::vector<report::PaceOfRank>& ranks, TextPage& page) {
  using Row = const report::PaceOfRank*;
  constexpr size_t kParts = 10;
  std::vector<Row> rows;
  for (const report::PaceOfRank& rank : ranks) {
    if (!rank.steps_done.empty()) rows.push_back(&rank);
  }
  if (rows.empty()) return;
  std::vector<Column<Row>> columns = {{"rank", &report::PaceOfRank::rank, CellKind::kNumber}};
  for (size_t part = 1; part <= kParts; ++part) {
    columns.push_back({fmt::format("{} %", 10 * part), [part](Row rank) {
                         const std::vector<double>& done = rank->steps_done;
                         const size_t bucket = std::max<size_t>(part * done.size() / kParts, 1) - 1;
                         return fmt::format("{:.1f}", done[bucket]);
                       }});
  }
  page.Raw("  steps done after each tenth of the time");
  page.Table(rows, columns);
}

}  // namespace

void PaceSection(const report::Pace& pace, TextPage& page) {
  using Rank = report::PaceOfRank;
  const size_t buckets = pace.ranks.empty() ? 0 : pace.ranks[0].busy_ratio.size();
  page.Heading("pace", "busy share of the time: blank = none, @ = all");
  if (buckets == 0 || !pace.bucket_ns) {
    page.Line("(nothing)", 2, 0, Emphasis::kFaint);
    return;
  }
  const double window_ns = pace.bucket_ns->Real() * static_cast<double>(buckets);
  page.Line(fmt::format("{} from {}, {} per character", FormatTime(window_ns), FormatSinceStart(pace.start_ns),
                        FormatTime(window_ns / static_cast<double>(std::min(kPaceColumns, buckets)))));
  WriteStrips(pace.ranks, &Rank::compute_ratio, "rank   computing", page);
  WriteStrips(pace.ranks, &Rank::comm_ratio, "rank   communicating", page);
  WriteStepsDone(pace.ranks, page);
}

}  // namespace lockstep
