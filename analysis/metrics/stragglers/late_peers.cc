#include "analysis/metrics/stragglers/late_peers.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/metrics/stragglers/stalls.h"

namespace lockstep {
namespace {

bool IsOneOf(const std::vector<int32_t>& late, const Candidate& candidate) {
  return candidate.scope == StragglerScope::kRank && !candidate.is_transfer() &&
         std::binary_search(late.begin(), late.end(), candidate.rank_indices.front());
}

// Beyond chance, and by what may be worth naming.
bool IsLate(const Candidate& candidate, const Judgement& judgement) {
  return !candidate.is_transfer() && judgement.p_adjusted < kStragglerAlpha && judgement.mean_ns > candidate.floor_ns;
}

std::vector<int32_t> HiddenRanks(const std::vector<Candidate>& candidates, const std::vector<Judgement>& judgements,
                                 const std::vector<RankOwnTime>& own) {
  std::map<int32_t, std::vector<int32_t>> members;  // by communicator
  for (size_t rank = 0; rank < own.size(); ++rank) {
    if (own[rank].compared) members[own[rank].communicator].push_back(static_cast<int32_t>(rank));
  }
  std::map<int32_t, std::set<int32_t>> late_without;  // by rank: late members of its communicator
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!IsLate(candidates[i], judgements[i])) continue;
    const std::vector<int32_t>& ranks = candidates[i].rank_indices;
    for (const int32_t late : ranks) {
      if (!own[static_cast<size_t>(late)].compared) continue;
      for (const int32_t mate : members[own[static_cast<size_t>(late)].communicator]) {
        if (!std::binary_search(ranks.begin(), ranks.end(), mate)) late_without[mate].insert(late);
      }
    }
  }
  std::vector<int32_t> hidden;
  for (const auto& [rank, late] : late_without) {
    if (late.size() + 1 >= members[own[static_cast<size_t>(rank)].communicator].size()) hidden.push_back(rank);
  }
  return hidden;
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

KnownLate FindLate(const std::vector<Candidate>& candidates, const std::vector<Judgement>& judgements,
                   const std::vector<RankOwnTime>& own) {
  return {LateRanks(candidates, judgements), HiddenRanks(candidates, judgements, own)};
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
