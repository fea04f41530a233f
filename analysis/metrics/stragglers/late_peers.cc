#include "analysis/metrics/stragglers/late_peers.h"

#include <algorithm>

#include "analysis/metrics/stragglers/stalls.h"

namespace lockstep {
namespace {

bool IsOneOf(const std::vector<int32_t>& late, const Candidate& candidate) {
  return candidate.scope == StragglerScope::kRank && !candidate.is_transfer() &&
         std::binary_search(late.begin(), late.end(), candidate.rank_indices.front());
}

}  // namespace

std::vector<int32_t> LateRanks(const std::vector<Candidate>& candidates, const std::vector<Judgement>& judgements) {
  std::vector<int32_t> late;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& it = candidates[i];
    if (it.scope != StragglerScope::kRank || it.is_transfer()) continue;
    // Without the slowest of ordinary devices the next one would look late, and so on down to the fastest.
    if (judgements[i].mean_ns < kClearlyLate * it.floor_ns) continue;
    if (judgements[i].p_adjusted < kStragglerAlpha || StandsOut(it)) late.push_back(it.rank_indices.front());
  }
  std::sort(late.begin(), late.end());
  return late;
}

std::vector<Judgement> JudgeApart(const std::vector<Candidate>& candidates, const std::vector<int32_t>& late) {
  std::vector<Judgement> judgements = JudgeCandidates(candidates);
  std::vector<size_t> at;
  std::vector<const Candidate*> others;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (IsOneOf(late, candidates[i])) continue;
    at.push_back(i);
    others.push_back(&candidates[i]);
  }
  const std::vector<Judgement> apart = JudgeCandidates(others);
  for (size_t k = 0; k < at.size(); ++k) judgements[at[k]] = apart[k];
  return judgements;
}

}  // namespace lockstep
