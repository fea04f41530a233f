#include "analysis/metrics/summary/quality.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/metrics/summary/gates.h"

namespace lockstep {
namespace {

// Instances without a group are counted at the source already.
void CountMatching(const Fleet& fleet, std::vector<CountersOfRank>& ranks) {
  for (CountersOfRank& rank : ranks) {
    const size_t index = fleet.members[rank.member].index;
    if (index >= fleet.match.rank_drops.size()) continue;
    for (const DropReason reason : {DropReason::kUnmatchedInstance, DropReason::kAmbiguousInstance}) {
      rank.counters.Add(reason, fleet.match.rank_drops[index].Of(reason));
    }
  }
}

std::vector<FileNote> Files(const Fleet& fleet) {
  std::set<std::string> analysed;
  for (const ResolvedRank& rank : fleet.ranks.ranks) analysed.insert(fleet.run.sources[rank.source].context.path);
  std::map<std::string, std::string> refused;  // path -> why
  for (const RefusedSource& source : fleet.ranks.refused) {
    const std::string& path = fleet.run.sources[source.source].context.path;
    if (!analysed.contains(path)) refused.emplace(path, source.detail);
  }
  std::map<std::string, std::string> left_out;
  for (const LeftOutSource& source : fleet.ranks.left_out) {
    const std::string& path = fleet.run.sources[source.source].context.path;
    if (!analysed.contains(path) && !refused.contains(path)) left_out.emplace(path, source.reason);
  }
  std::vector<FileNote> files = fleet.run.files;
  const auto mark = [](const std::map<std::string, std::string>& reasons, std::string_view status, FileNote& file) {
    const auto why = reasons.find(file.path);
    if (why == reasons.end()) return;
    file.status = status;
    file.reason = why->second;
  };
  for (FileNote& file : files) {
    mark(refused, "refused", file);
    mark(left_out, "skipped", file);
  }
  return files;
}

}  // namespace

Quality ComputeQuality(const Fleet& fleet, const FleetMeasures& measures) {
  Quality quality;
  for (size_t i = 0; i < fleet.members.size(); ++i) {
    quality.ranks.push_back({i, fleet.members[i].source->summary.drops});
  }
  CountMatching(fleet, quality.ranks);
  quality.files = Files(fleet);
  quality.waiting_kernel = FindWaitingKernel(fleet, measures);
  quality.gates = CheckGates(fleet, measures, quality.files, quality.waiting_kernel);
  return quality;
}

}  // namespace lockstep
