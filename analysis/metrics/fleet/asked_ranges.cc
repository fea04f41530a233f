#include "analysis/metrics/fleet/asked_ranges.h"

#include <unordered_map>

#include "analysis/condense/selection.h"

namespace lockstep {

AskedRanges FindAskedRanges(const RunData& run, const std::string& nvtx) {
  AskedRanges asked;
  if (nvtx.empty()) return asked;
  asked.names.assign(run.names.size(), false);
  const auto text = [&](uint32_t name) { return name < run.names.size() ? run.names[name] : std::string(); };
  struct Domains {
    bool asked = false;
    bool other = false;
  };
  std::unordered_map<uint32_t, Domains> domains;  // of the names that fit
  for (const SourceData& source : run.sources) {
    for (const RangeRow& row : source.ranges) {
      if (row.name >= run.names.size() || !IsRangeAskedFor(nvtx, run.names[row.name])) continue;
      Domains& of_name = domains[row.name];
      (IsRangeAskedFor(nvtx, text(row.domain), run.names[row.name]) ? of_name.asked : of_name.other) = true;
    }
  }
  for (uint32_t name = 0; name < run.names.size(); ++name) {
    if (!IsRangeAskedFor(nvtx, run.names[name])) continue;
    const auto found = domains.find(name);
    // Ranges beyond the limit of the condensed data have no row: their domain is not known.
    asked.names[name] = found == domains.end() || found->second.asked;
    if (found != domains.end() && found->second.asked && found->second.other) asked.in_other_domains = true;
  }
  return asked;
}

}  // namespace lockstep
