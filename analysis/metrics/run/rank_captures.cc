#include "analysis/metrics/run/rank_captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analysis/base/natural_order.h"
#include "analysis/metrics/run/activity_window.h"
#include "analysis/metrics/run/cut_files.h"

namespace lockstep {
namespace {

// Sources of one rank whose windows overlap, directly or through others.
struct Cluster {
  std::vector<size_t> sources;
  ActivityWindow window;
};

using RankClusters = std::map<int32_t, std::vector<Cluster>>;  // by rank, in order of time

// For each rank that has it, which of its clusters it is.
using Capture = std::map<int32_t, size_t>;

bool Earlier(const RunData& run, size_t a, size_t b) {
  const SourceContext& x = run.sources[a].context;
  const SourceContext& y = run.sources[b].context;
  if (x.first_start_ns != y.first_start_ns) return x.first_start_ns < y.first_start_ns;
  if (x.path != y.path) return NaturalPathLess(x.path, y.path);
  return x.source_id < y.source_id;
}

// Sources without any activity have no window of their own: they join the first cluster.
std::vector<Cluster> ClustersInTime(const RunData& run, std::vector<size_t> sources) {
  std::sort(sources.begin(), sources.end(), [&](size_t a, size_t b) { return Earlier(run, a, b); });
  std::vector<Cluster> clusters;
  int64_t reach = INT64_MIN;
  for (const size_t s : sources) {
    const ActivityWindow w = WindowOf(run.sources[s].context);
    const bool apart = w.active && w.start_ns >= reach;
    if (clusters.empty() || apart) clusters.push_back({{}, w});
    clusters.back().sources.push_back(s);
    clusters.back().window.end_ns = std::max(clusters.back().window.end_ns, w.end_ns);
    reach = std::max(reach, w.active ? w.end_ns : reach);
  }
  return clusters;
}

// The k-th cluster of every rank; counted from the last one if `from_last`.
std::vector<Capture> ByCount(const RankClusters& ranks, size_t most, bool from_last) {
  std::vector<Capture> out(most);
  for (const auto& [rank, clusters] : ranks) {
    const size_t before = from_last ? most - clusters.size() : 0;
    for (size_t k = 0; k < clusters.size(); ++k) out[before + k][rank] = k;
  }
  return out;
}

// Clusters of all ranks that overlap; none if two of one rank would fall into one.
std::optional<std::vector<Capture>> ByTime(const RankClusters& ranks) {
  struct Entry {
    ActivityWindow window;
    int32_t rank = -1;
    size_t cluster = 0;
  };
  std::vector<Entry> entries;
  for (const auto& [rank, clusters] : ranks) {
    for (size_t k = 0; k < clusters.size(); ++k) entries.push_back({clusters[k].window, rank, k});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.window.start_ns < b.window.start_ns; });
  std::vector<Capture> out;
  int64_t reach = INT64_MIN;
  for (const Entry& entry : entries) {
    if (!entry.window.anchored) return std::nullopt;
    if (out.empty() || entry.window.start_ns >= reach) out.emplace_back();
    if (!out.back().emplace(entry.rank, entry.cluster).second) return std::nullopt;
    reach = std::max(reach, entry.window.end_ns);
  }
  return out;
}

std::vector<Capture> CapturesOf(const RankClusters& ranks) {
  size_t most = 0;
  size_t least = SIZE_MAX;
  for (const auto& [rank, clusters] : ranks) {
    most = std::max(most, clusters.size());
    least = std::min(least, clusters.size());
  }
  std::optional<std::vector<Capture>> by_time = ByTime(ranks);
  const auto holds_all = [&](const Capture& capture) { return capture.size() == ranks.size(); };
  if (by_time && std::any_of(by_time->begin(), by_time->end(), holds_all)) return *std::move(by_time);
  if (most == least) return ByCount(ranks, most, false);
  return by_time ? *std::move(by_time) : ByCount(ranks, most, true);
}

// The last of those that most ranks have.
size_t LastComplete(const std::vector<Capture>& captures) {
  size_t best = 0;
  for (size_t k = 0; k < captures.size(); ++k) {
    if (captures[k].size() >= captures[best].size()) best = k;
  }
  return best;
}

RunCaptures Describe(const RankClusters& ranks, const std::vector<Capture>& captures, size_t chosen, bool asked) {
  RunCaptures out;
  out.chosen = static_cast<int32_t>(chosen);
  out.asked = asked;
  for (const Capture& capture : captures) {
    RunCaptures::One one;
    one.ranks = static_cast<int32_t>(capture.size());
    one.start_ns = INT64_MAX;
    one.end_ns = INT64_MIN;
    for (const auto& [rank, cluster] : capture) {
      const ActivityWindow& window = ranks.at(rank)[cluster].window;
      one.start_ns = std::min(one.start_ns, window.start_ns);
      one.end_ns = std::max(one.end_ns, window.end_ns);
    }
    out.all.push_back(one);
  }
  return out;
}

// Few paths, whatever their number: they are repeated for every source of a rank.
std::string PathList(const RunData& run, const std::vector<size_t>& sources) {
  constexpr size_t kMost = 3;
  std::string out;
  for (size_t i = 0; i < sources.size() && i < kMost; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", run.sources[sources[i]].context.path);
  }
  return sources.size() > kMost ? fmt::format("{} and {} more", out, sources.size() - kMost) : out;
}

void RefuseAll(const std::vector<size_t>& sources, int32_t rank, const std::string& detail, ChosenCaptures& choice) {
  for (const size_t s : sources) choice.refused.push_back({s, rank, DropReason::kDuplicateRank, detail});
}

// Whether what a source holds ends where its file was cut. A file that was stored whole and is cut now has two sources:
// its note is that of the last reading, which holds less.
bool IsCut(const RunData& run, const CutFiles& cut, const std::vector<size_t>& sources, size_t source) {
  const SourceContext& c = run.sources[source].context;
  return cut.Hold(c) && std::none_of(sources.begin(), sources.end(), [&](size_t other) {
           const SourceContext& o = run.sources[other].context;
           return o.path == c.path && o.host == c.host && o.kernels < c.kernels;
         });
}

// Of several sources the only one whose file was read to its end, if the others can be cut copies of it.
std::optional<size_t> OnlyWhole(const RunData& run, const std::vector<size_t>& sources) {
  constexpr int64_t kTogetherNs = 1'000'000;
  const CutFiles cut(run);
  std::optional<size_t> whole;
  for (const size_t source : sources) {
    if (IsCut(run, cut, sources, source)) continue;
    if (whole) return std::nullopt;
    whole = source;
  }
  if (!whole) return std::nullopt;
  const SourceContext& c = run.sources[*whole].context;
  const bool can_be_copies = std::all_of(sources.begin(), sources.end(), [&](size_t source) {
    const SourceContext& other = run.sources[source].context;
    return other.device == c.device && other.kernels <= c.kernels && other.kernel_time_ns <= c.kernel_time_ns &&
           std::abs(other.first_start_ns - c.first_start_ns) <= kTogetherNs;
  });
  return can_be_copies ? whole : std::nullopt;
}

void Keep(const RunData& run, int32_t rank, const Cluster& cluster, int32_t capture, ChosenCaptures& choice) {
  if (const std::optional<size_t> whole = cluster.sources.size() > 1 ? OnlyWhole(run, cluster.sources) : std::nullopt) {
    choice.kept.push_back({*whole, rank, capture});
    choice.least_duplicates = 1;
    for (const size_t source : cluster.sources) {
      if (source != *whole) choice.left_out.push_back({source, "it is a truncated copy of a trace that is analysed"});
    }
    return;
  }
  const auto duplicates = static_cast<int32_t>(cluster.sources.size());
  choice.most_duplicates = std::max(choice.most_duplicates, duplicates);
  choice.least_duplicates =
      choice.kept.empty() && choice.refused.empty() ? duplicates : std::min(choice.least_duplicates, duplicates);
  if (duplicates == 1) {
    choice.kept.push_back({cluster.sources.front(), rank, capture});
    return;
  }
  RefuseAll(
      cluster.sources, rank,
      fmt::format("rank {} is claimed by several different traces of the same time ({}): give only one of them, or "
                  "assign their ranks with --rank-map",
                  rank, PathList(run, cluster.sources)),
      choice);
}

}  // namespace

ChosenCaptures ChooseCaptures(const RunData& run, const std::map<int32_t, std::vector<size_t>>& sources,
                              const AnalysisOptions& options) {
  ChosenCaptures choice;
  if (sources.empty()) return choice;
  RankClusters ranks;
  for (const auto& [rank, of_rank] : sources) ranks[rank] = ClustersInTime(run, of_rank);
  const std::vector<Capture> captures = CapturesOf(ranks);
  const bool asked = options.capture_last || (options.capture && *options.capture >= 0);
  const bool by_number = asked && !options.capture_last;
  const size_t chosen = by_number ? static_cast<size_t>(*options.capture) : LastComplete(captures);
  if (captures.size() > 1 && chosen < captures.size()) choice.captures = Describe(ranks, captures, chosen, asked);
  for (const auto& [rank, clusters] : ranks) {
    const auto cluster = chosen < captures.size() ? captures[chosen].find(rank) : Capture::const_iterator{};
    if (chosen < captures.size() && cluster != captures[chosen].end()) {
      Keep(run, rank, clusters[cluster->second], static_cast<int32_t>(chosen), choice);
      continue;
    }
    if (!asked) continue;  // another capture than the one that is analysed
    RefuseAll(sources.at(rank), rank,
              fmt::format("rank {} has no capture {}; {}", rank, chosen,
                          captures.size() == 1 ? "the run has one: --capture 0"
                                               : fmt::format("the run has {} captures: --capture 0 to {}",
                                                             captures.size(), captures.size() - 1)),
              choice);
  }
  return choice;
}

}  // namespace lockstep
