#include "analysis/metrics/run/process_devices.h"

#include <map>
#include <string>
#include <tuple>

#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

constexpr int64_t kMinShareDivisor = 20;  // 5 % of the process's kernel time

using ProcessKey = std::tuple<std::string, std::string, std::string, int64_t>;

ProcessKey ProcessKeyOf(const SourceContext& c) { return {c.host, c.path, c.session, c.pid}; }

// The busier device; ties go to the one with more copies, then to the lower ordinal.
bool IsBusier(const SourceContext& a, const SourceContext& b) {
  const auto weight = [](const SourceContext& c) {
    return std::tuple(c.kernel_time_ns, c.memcpys + c.memsets, -int64_t{c.device});
  };
  return weight(a) > weight(b);
}

void PlaceProcess(const RunData& run, const std::vector<size_t>& sources, std::vector<DevicePlace>& places) {
  size_t main = sources.front();
  int128 total = 0;
  for (const size_t s : sources) {
    total += run.sources[s].context.kernel_time_ns;
    if (IsBusier(run.sources[s].context, run.sources[main].context)) main = s;
  }
  for (const size_t s : sources) {
    const int128 own = run.sources[s].context.kernel_time_ns;
    DevicePlace& place = places[s];
    place.main_source = main;
    place.process_kernel_time_ns = static_cast<int64_t>(total > INT64_MAX ? int128{INT64_MAX} : total);
    if (s == main) continue;
    place.role = own > 0 && own * kMinShareDivisor >= total ? DeviceRole::kSecond : DeviceRole::kStray;
  }
}

}  // namespace

std::vector<DevicePlace> PlaceDevices(const RunData& run) {
  std::map<ProcessKey, std::vector<size_t>> processes;
  for (size_t s = 0; s < run.sources.size(); ++s) processes[ProcessKeyOf(run.sources[s].context)].push_back(s);
  std::vector<DevicePlace> places(run.sources.size());
  for (const auto& [key, sources] : processes) PlaceProcess(run, sources, places);
  return places;
}

}  // namespace lockstep
