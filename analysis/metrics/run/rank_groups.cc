#include "analysis/metrics/run/rank_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analysis/base/natural_order.h"
#include "analysis/base/time.h"
#include "analysis/metrics/run/activity_window.h"
#include "analysis/metrics/run/cut_files.h"

namespace lockstep {
namespace {

constexpr int64_t kClockSlackNs = kNsPerS;

// A file: its sources always stay together.
struct Unit {
  std::string path;
  std::vector<size_t> sources;
  std::set<int32_t> ranks;
  std::optional<int32_t> world;
  ActivityWindow window;
};

void Include(Unit& unit, const SourceContext& c, const GroupCandidate& candidate) {
  unit.sources.push_back(candidate.source);
  if (candidate.rank) unit.ranks.insert(*candidate.rank);
  if (!unit.world) unit.world = candidate.world;
  const ActivityWindow w = WindowOf(c);
  if (!w.anchored) return;
  if (!unit.window.anchored) {
    unit.window = w;
    return;
  }
  unit.window.start_ns = std::min(unit.window.start_ns, w.start_ns);
  unit.window.end_ns = std::max(unit.window.end_ns, w.end_ns);
}

std::vector<Unit> MakeUnits(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  std::map<std::pair<std::string, std::string>, Unit> by_file;
  for (const GroupCandidate& candidate : candidates) {
    const SourceContext& c = run.sources[candidate.source].context;
    Unit& unit = by_file[{c.path, c.host}];
    unit.path = c.path;
    Include(unit, c, candidate);
  }
  std::vector<Unit> units;
  for (auto& [key, unit] : by_file) units.push_back(std::move(unit));
  std::stable_sort(units.begin(), units.end(),
                   [](const Unit& a, const Unit& b) { return NaturalPathLess(a.path, b.path); });
  return units;
}

// Cluster number per unit: windows on the Unix clock that touch (within the slack) are one cluster, directly or through
// others; a unit without such a window is a cluster of its own.
std::vector<int> TimeClusters(const std::vector<Unit>& units) {
  std::vector<size_t> order(units.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(!units[a].window.anchored, units[a].window.start_ns) <
           std::pair(!units[b].window.anchored, units[b].window.start_ns);
  });
  std::vector<int> cluster(units.size(), 0);
  int current = -1;
  std::optional<int64_t> reach;
  for (const size_t u : order) {
    const ActivityWindow& w = units[u].window;
    if (!w.anchored || !reach || w.start_ns > *reach) ++current;
    if (w.anchored) reach = std::max(reach.value_or(INT64_MIN), w.end_ns + kClockSlackNs);
    cluster[u] = current;
  }
  return cluster;
}

struct Group {
  int cluster = 0;
  size_t first_unit = 0;
  std::vector<size_t> sources;
  std::set<int32_t> ranks;
  std::optional<int32_t> world;
};

bool CanJoin(const Group& group, const Unit& unit, int cluster) {
  if (group.cluster != cluster) return false;
  if (group.world && unit.world && *group.world != *unit.world) return false;
  const std::optional<int32_t> world = group.world ? group.world : unit.world;
  const auto fits = [&](int32_t rank) { return !world || rank < *world; };
  const bool all_fit = std::all_of(unit.ranks.begin(), unit.ranks.end(), fits) &&
                       std::all_of(group.ranks.begin(), group.ranks.end(), fits);
  const bool twice =
      std::any_of(unit.ranks.begin(), unit.ranks.end(), [&](int32_t rank) { return group.ranks.count(rank) > 0; });
  return all_fit && !twice;
}

void Join(Group& group, const Unit& unit) {
  group.sources.insert(group.sources.end(), unit.sources.begin(), unit.sources.end());
  group.ranks.insert(unit.ranks.begin(), unit.ranks.end());
  if (!group.world) group.world = unit.world;
}

void Place(std::vector<Group>& groups, const Unit& unit, size_t number, int cluster) {
  for (Group& group : groups) {
    if (!CanJoin(group, unit, cluster)) continue;
    Join(group, unit);
    group.first_unit = std::min(group.first_unit, number);
    return;
  }
  groups.push_back({cluster, number, {}, {}, std::nullopt});
  Join(groups.back(), unit);
}

std::string JoinNumbers(const std::vector<int32_t>& numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

// Ranks of one run take part in about as many, stages of a pipeline in up to twice as many. A file that was cut may
// hold any number.
bool HaveAsManyCollectives(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  const CutFiles cut(run);
  std::optional<int64_t> least;
  int64_t most = 0;
  for (const GroupCandidate& c : candidates) {
    const SourceContext& context = run.sources[c.source].context;
    if (cut.Hold(context)) continue;
    least = std::min(least.value_or(context.collectives), context.collectives);
    most = std::max(most, context.collectives);
  }
  return least && (most + 1) / 2 <= *least;
}

}  // namespace

std::vector<int32_t> ClaimedWorldSizes(const std::vector<GroupCandidate>& candidates) {
  std::set<int32_t> sizes;
  for (const GroupCandidate& c : candidates) {
    if (c.world) sizes.insert(*c.world);
  }
  return {sizes.begin(), sizes.end()};
}

std::string WorldSizeContradiction(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  const std::vector<int32_t> sizes = ClaimedWorldSizes(candidates);
  if (sizes.size() > 1) {
    return fmt::format("the traces contradict each other in world size ({})", JoinNumbers(sizes));
  }
  if (sizes.empty()) return "";
  for (const GroupCandidate& c : candidates) {
    if (!c.rank || *c.rank < sizes.front()) continue;
    return fmt::format("{} is the trace of rank {}, but other traces are of a run with {} ranks",
                       run.sources[c.source].context.path, *c.rank, sizes.front());
  }
  return "";
}

std::string EveryRankRepeats(const std::vector<GroupCandidate>& candidates) {
  const std::vector<int32_t> worlds = ClaimedWorldSizes(candidates);
  if (worlds.size() == 1 && worlds.front() == 1)
    return "each trace says that it is the only rank of its run; if they are one run, --expect-ranks N says so";
  return "every rank occurs in several of them at the same time, as with replicas that each number their ranks from 0";
}

bool ComplementEachOther(const RunData& run, const std::vector<GroupCandidate>& candidates,
                         const AnalysisOptions& options) {
  if (options.one_run) return true;
  if (options.expected_ranks > 0 && std::cmp_equal(options.expected_ranks, candidates.size())) return true;
  const std::vector<int32_t> worlds = ClaimedWorldSizes(candidates);
  std::set<int32_t> ranks;
  for (const GroupCandidate& c : candidates) {
    if (!c.rank || !c.world || !ranks.insert(*c.rank).second) return false;
  }
  return worlds.size() == 1 && std::cmp_equal(worlds.front(), ranks.size()) && HaveAsManyCollectives(run, candidates);
}

std::string NoCommonTime(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  std::vector<Unit> units = MakeUnits(run, candidates);
  std::erase_if(units, [](const Unit& unit) { return !unit.window.anchored; });
  const std::vector<int> clusters = TimeClusters(units);
  const int last = clusters.empty() ? 0 : *std::max_element(clusters.begin(), clusters.end());
  if (last == 0) return "";
  return fmt::format(
      "the traces have no common time (they fall into {} windows more than a second apart), and they do not say that "
      "together they hold all ranks of one run; if they do, --one-run joins them whatever their clocks say",
      last + 1);
}

int64_t LargestGapNs(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  std::vector<Unit> units = MakeUnits(run, candidates);
  std::erase_if(units, [](const Unit& unit) { return !unit.window.anchored; });
  std::sort(units.begin(), units.end(),
            [](const Unit& a, const Unit& b) { return a.window.start_ns < b.window.start_ns; });
  int64_t largest = 0;
  for (size_t i = 1; i < units.size(); ++i) {
    units[i].window.end_ns = std::max(units[i].window.end_ns, units[i - 1].window.end_ns);
    largest = std::max(largest, units[i].window.start_ns - units[i - 1].window.end_ns);
  }
  return largest;
}

std::vector<std::vector<size_t>> GroupSources(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  const std::vector<Unit> units = MakeUnits(run, candidates);
  const std::vector<int> clusters = TimeClusters(units);
  std::vector<Group> groups;
  // Files that state a world size first: the others then join where they fit.
  for (const bool with_world : {true, false}) {
    for (size_t u = 0; u < units.size(); ++u) {
      if (units[u].world.has_value() == with_world) Place(groups, units[u], u, clusters[u]);
    }
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.first_unit < b.first_unit; });
  std::vector<std::vector<size_t>> out;
  for (Group& group : groups) out.push_back(std::move(group.sources));
  return out;
}

}  // namespace lockstep
