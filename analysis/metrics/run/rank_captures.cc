#include "analysis/metrics/run/rank_captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/natural_order.h"
#include "analysis/metrics/run/activity_window.h"

namespace lockstep {
namespace {

using Cluster = std::vector<size_t>;  // sources whose windows overlap, directly or through others

bool Earlier(const RunData& run, size_t a, size_t b) {
  const SourceContext& x = run.sources[a].context;
  const SourceContext& y = run.sources[b].context;
  if (x.first_start_ns != y.first_start_ns) return x.first_start_ns < y.first_start_ns;
  if (x.path != y.path) return NaturalPathLess(x.path, y.path);
  return x.source_id < y.source_id;
}

// Sources without any activity have no window that could be told from another: they fall in with the first cluster.
std::vector<Cluster> ClustersInTime(const RunData& run, std::vector<size_t>& sources) {
  std::sort(sources.begin(), sources.end(), [&](size_t a, size_t b) { return Earlier(run, a, b); });
  std::vector<Cluster> clusters;
  int64_t reach = INT64_MIN;
  for (const size_t s : sources) {
    const ActivityWindow w = WindowOf(run.sources[s].context);
    const bool apart = w.active && w.start_ns >= reach;
    if (clusters.empty() || apart) clusters.emplace_back();
    clusters.back().push_back(s);
    reach = std::max(reach, w.active ? w.end_ns : reach);
  }
  return clusters;
}

std::string PathList(const RunData& run, const std::vector<size_t>& sources) {
  std::string out;
  for (const size_t s : sources) {
    if (!out.empty()) out += ", ";
    out += run.sources[s].context.path;
  }
  return out;
}

void RefuseAll(const std::vector<size_t>& sources, int32_t rank, const std::string& detail, CaptureChoice& choice) {
  for (const size_t s : sources) choice.refused.push_back({s, rank, DropReason::kDuplicateRank, detail});
}

std::string CaptureList(const RunData& run, const std::vector<Cluster>& clusters) {
  std::string out;
  for (size_t k = 0; k < clusters.size(); ++k) {
    out += fmt::format("{}{}: {}", k == 0 ? "" : "; ", k, PathList(run, clusters[k]));
  }
  return out;
}

// The capture to analyse; none if the options do not say.
std::optional<size_t> Wanted(const AnalysisOptions& options, size_t captures) {
  if (options.capture_last) return captures - 1;
  if (options.capture && *options.capture >= 0) return static_cast<size_t>(*options.capture);
  return std::nullopt;
}

void Keep(const RunData& run, int32_t rank, const Cluster& cluster, int32_t capture, CaptureChoice& choice) {
  if (cluster.size() == 1) {
    choice.kept.emplace_back(cluster.front(), capture);
    return;
  }
  RefuseAll(cluster, rank,
            fmt::format("duplicate_rank: rank {} is claimed by several traces of the same time: {}; give only one of "
                        "them, or tell their ranks with --rank-map",
                        rank, PathList(run, cluster)),
            choice);
}

}  // namespace

CaptureChoice ChooseCapture(const RunData& run, int32_t rank, std::vector<size_t> sources,
                            const AnalysisOptions& options) {
  CaptureChoice choice;
  const std::vector<Cluster> clusters = ClustersInTime(run, sources);
  choice.repeated = clusters.size() > 1;
  const std::optional<size_t> wanted = Wanted(options, clusters.size());
  if (wanted && *wanted < clusters.size()) {
    Keep(run, rank, clusters[*wanted], static_cast<int32_t>(*wanted), choice);
  } else if (wanted) {
    RefuseAll(sources, rank,
              fmt::format("rank {} has no capture {} (captures: {})", rank, *wanted, CaptureList(run, clusters)),
              choice);
  } else if (!choice.repeated) {
    Keep(run, rank, clusters.front(), 0, choice);
  } else {
    RefuseAll(sources, rank,
              fmt::format("rank {} has {} captures ({}); choose one with --capture 0..{} or --capture last", rank,
                          clusters.size(), CaptureList(run, clusters), clusters.size() - 1),
              choice);
  }
  return choice;
}

}  // namespace lockstep
