#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/base/status_macros.h"
#include "analysis/compare/kernels/rungs.h"

namespace lockstep::compare {
namespace {

// The lines of one new name, and what they speak of.
struct MappedKernels {
  std::vector<const KernelMapLine*> lines;
  std::set<size_t> before;
  std::set<size_t> after;
};

absl::Status FindMapped(const MatchState& state, const KernelMapLine& line, MappedKernels& mapped) {
  for (size_t b = 0; b < state.before.size(); ++b) {
    if (state.before.matched[b]) continue;
    LOCKSTEP_ASSIGN_OR_RETURN(const bool speaks, SpeaksOfOld(line, state.before.kernels[b]->name));
    if (speaks) mapped.before.insert(b);
  }
  for (size_t a = 0; a < state.after.size(); ++a) {
    if (!state.after.matched[a] && SpeaksOfNew(line, state.after.kernels[a]->name)) mapped.after.insert(a);
  }
  return absl::OkStatus();
}

MatchKind KindOfMapped(const Bucket& bucket) {
  if (bucket.before.size() == 1 && bucket.after.size() == 1) return MatchKind::kSame;
  if (bucket.after.size() == 1) return MatchKind::kFused;
  return bucket.before.size() == 1 ? MatchKind::kSplit : MatchKind::kGroup;
}

}  // namespace

absl::StatusOr<std::vector<size_t>> MatchByMap(const KernelMap& map, MatchState& state) {
  std::map<std::string_view, MappedKernels> by_new_name;
  for (const KernelMapLine& line : map.lines()) by_new_name[line.after].lines.push_back(&line);
  std::vector<size_t> unused;
  for (auto& entry : by_new_name) {
    MappedKernels& mapped = entry.second;
    for (const KernelMapLine* line : mapped.lines) {
      const size_t known = mapped.before.size();
      LOCKSTEP_RETURN_IF_ERROR(FindMapped(state, *line, mapped));
      if (mapped.before.size() == known || mapped.after.empty()) unused.push_back(line->line);
    }
    if (mapped.before.empty() || mapped.after.empty()) continue;
    const Bucket bucket{{mapped.before.begin(), mapped.before.end()}, {mapped.after.begin(), mapped.after.end()}};
    state.Add(bucket, KindOfMapped(bucket), MatchedBy::kMap, Certainty::kCertain);
  }
  std::sort(unused.begin(), unused.end());
  return unused;
}

}  // namespace lockstep::compare
