#include "analysis/metrics/stragglers/late_peers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/metrics/stragglers/stalls.h"

namespace lockstep {
namespace {

// Times the minimum effect: 1 % of a unit. Devices differ by less for good, and without the slowest of those the next
// one would look late, and so on down to the fastest.
constexpr double kClearlyLate = 5;

struct Mates {
  std::vector<size_t> usual;
  std::vector<size_t> late;
};

// From the excess of each over the mean of all other members to that over the mean of the usual ones. NaN: it is not
// there. `excess`: rank -> reference to its own. A usual one without another keeps its.
template <typename Excess>
void Recompare(const Mates& mates, const Excess& excess) {
  double members = 0;
  double usual = 0;
  for (const std::vector<size_t>* side : {&mates.usual, &mates.late}) {
    for (const size_t rank : *side) {
      if (std::isnan(excess(rank))) continue;
      ++members;
      usual += side == &mates.usual ? 1 : 0;
    }
  }
  if (members < 2) return;
  // An excess over the mean of the other members is so much of a deviation from the mean of all.
  const double share = 1 - 1 / members;
  double sum = 0;
  for (const size_t rank : mates.usual) sum += std::isnan(excess(rank)) ? 0 : share * excess(rank);
  for (const size_t rank : mates.usual) {
    const double own = share * excess(rank);
    if (usual > 1) excess(rank) = own - (sum - own) / (usual - 1);
  }
  for (const size_t rank : mates.late) {
    if (usual > 0) excess(rank) = share * excess(rank) - sum / usual;
  }
}

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
    if (judgements[i].mean_ns < kClearlyLate * it.floor_ns) continue;
    if (judgements[i].p_adjusted < kStragglerAlpha || Stalls(it)) late.push_back(it.rank_indices.front());
  }
  std::sort(late.begin(), late.end());
  return late;
}

std::vector<Judgement> JudgeApart(const std::vector<Candidate>& candidates, const std::vector<int32_t>& late) {
  std::vector<Judgement> judgements = JudgeCandidates(candidates);
  std::vector<size_t> at;
  std::vector<Candidate> others;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (IsOneOf(late, candidates[i])) continue;
    at.push_back(i);
    others.push_back(candidates[i]);
  }
  const std::vector<Judgement> apart = JudgeCandidates(others);
  for (size_t k = 0; k < at.size(); ++k) judgements[at[k]] = apart[k];
  return judgements;
}

void CompareBesides(const std::vector<int32_t>& late, std::vector<RankOwnTime>& own) {
  std::map<int32_t, Mates> communicators;
  for (size_t rank = 0; rank < own.size(); ++rank) {
    if (!own[rank].compared) continue;
    Mates& mates = communicators[own[rank].communicator];
    const bool is_late = std::binary_search(late.begin(), late.end(), static_cast<int32_t>(rank));
    (is_late ? mates.late : mates.usual).push_back(rank);
  }
  for (const auto& entry : communicators) {
    const Mates& mates = entry.second;
    if (mates.late.empty() || mates.usual.empty()) continue;
    for (size_t unit = 0; unit < own[mates.late.front()].excess_ns.size(); ++unit) {
      Recompare(mates, [&, unit](size_t rank) -> double& { return own[rank].excess_ns[unit]; });
    }
    for (size_t part = 0; part < kLatenessParts; ++part) {
      Recompare(mates, [&, part](size_t rank) -> double& { return own[rank].excess_parts[part]; });
    }
  }
}

}  // namespace lockstep
