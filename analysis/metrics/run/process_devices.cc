#include "analysis/metrics/run/process_devices.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/metrics/run/activity_window.h"
#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

constexpr int64_t kMinShareDivisor = 20;  // 5 %

using ProcessKey = std::tuple<std::string, std::string, std::string, int64_t>;

ProcessKey ProcessKeyOf(const SourceContext& c) { return {c.host, c.path, c.session, c.pid}; }

// The busier device, one with collectives first; ties go to the one with more copies, then to the lower ordinal.
bool IsBusier(const SourceContext& a, const SourceContext& b) {
  const auto weight = [](const SourceContext& c) {
    return std::tuple(c.collectives > 0, c.kernel_time_ns, c.memcpys + c.memsets, -int64_t{c.device});
  };
  return weight(a) > weight(b);
}

bool IsInRankMap(const SourceContext& c) {
  return std::any_of(c.claims.begin(), c.claims.end(),
                     [](const RankClaim& claim) { return claim.source == RankSource::kRankMap; });
}

struct ProcessSums {
  int128 kernel_time_ns = 0;
  int64_t most_collectives = 0;
  int128 collectives = 0;
};

bool IsRank(const SourceContext& c, const ProcessSums& of_process) {
  if (IsInRankMap(c)) return true;
  if (of_process.most_collectives > 0) {
    return int128{c.collectives} * kMinShareDivisor >= of_process.most_collectives && c.collectives > 0;
  }
  return c.kernel_time_ns > 0 && int128{c.kernel_time_ns} * kMinShareDivisor >= of_process.kernel_time_ns;
}

int64_t Narrowed(int128 sum) { return static_cast<int64_t>(sum > INT64_MAX ? int128{INT64_MAX} : sum); }

void PlaceProcess(const RunData& run, const std::vector<size_t>& sources, bool all_are_ranks,
                  std::vector<DevicePlace>& places) {
  size_t main = sources.front();
  ProcessSums sums;
  for (const size_t s : sources) {
    const SourceContext& c = run.sources[s].context;
    sums.kernel_time_ns += c.kernel_time_ns;
    sums.collectives += c.collectives;
    sums.most_collectives = std::max(sums.most_collectives, c.collectives);
    if (IsBusier(c, run.sources[main].context)) main = s;
  }
  for (const size_t s : sources) {
    const SourceContext& c = run.sources[s].context;
    DevicePlace& place = places[s];
    place.main_source = main;
    place.process_kernel_time_ns = Narrowed(sums.kernel_time_ns);
    place.process_collectives = Narrowed(sums.collectives);
    if (s == main) continue;
    place.role = all_are_ranks || IsRank(c, sums) ? DeviceRole::kSecond : DeviceRole::kStray;
  }
}

}  // namespace

std::vector<DevicePlace> PlaceDevices(const RunData& run, const AnalysisOptions& options) {
  // A device that occurs twice is of two processes, as of containers whose files and processes have the same names.
  std::map<std::pair<ProcessKey, int32_t>, size_t> occurrences;
  std::map<std::pair<ProcessKey, size_t>, std::vector<size_t>> processes;
  for (size_t s = 0; s < run.sources.size(); ++s) {
    const SourceContext& c = run.sources[s].context;
    const ProcessKey key = ProcessKeyOf(c);
    processes[{key, occurrences[{key, c.device}]++}].push_back(s);
  }
  const auto with_rows = std::count_if(run.sources.begin(), run.sources.end(),
                                       [](const SourceData& source) { return HasDeviceRows(source.context); });
  const bool all_are_ranks = options.expected_ranks > 0 && with_rows == options.expected_ranks;
  std::vector<DevicePlace> places(run.sources.size());
  for (const auto& [key, sources] : processes) PlaceProcess(run, sources, all_are_ranks, places);
  return places;
}

}  // namespace lockstep
