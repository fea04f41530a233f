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

// Sets the excess of `rank`, whose deviation from the mean of all is given, over the mean of those in `usual` but
// itself. `deviation`: rank -> its own; NaN: it is not there.
template <typename Deviation, typename Set>
void SetExcess(const Mates& mates, const Deviation& deviation, const Set& set) {
  double sum = 0;
  double count = 0;
  for (const size_t rank : mates.usual) {
    const double own = deviation(rank);
    if (std::isnan(own)) continue;
    sum += own;
    ++count;
  }
  for (const size_t rank : mates.usual) {
    if (count > 1) set(rank, deviation(rank) - (sum - deviation(rank)) / (count - 1));
  }
  for (const size_t rank : mates.late) {
    if (count > 0) set(rank, deviation(rank) - sum / count);
  }
}

// An excess over the mean of the other members is that much of a deviation from the mean of all.
double DeviationShare(size_t members) { return members < 2 ? 1 : 1 - 1 / static_cast<double>(members); }

void CompareUnit(const Mates& mates, size_t unit, std::vector<RankOwnTime>& own) {
  const auto present = [&](size_t rank) { return !std::isnan(own[rank].excess_ns[unit]); };
  const auto members = static_cast<size_t>(std::count_if(mates.usual.begin(), mates.usual.end(), present) +
                                           std::count_if(mates.late.begin(), mates.late.end(), present));
  std::map<size_t, double> deviations;
  for (const std::vector<size_t>* side : {&mates.usual, &mates.late}) {
    for (const size_t rank : *side) deviations[rank] = own[rank].excess_ns[unit] * DeviationShare(members);
  }
  SetExcess(
      mates, [&](size_t rank) { return deviations[rank]; },
      [&](size_t rank, double excess) { own[rank].excess_ns[unit] = excess; });
}

void ComparePart(const Mates& mates, size_t part, std::vector<RankOwnTime>& own) {
  const size_t members = mates.usual.size() + mates.late.size();
  std::map<size_t, double> deviations;
  for (const std::vector<size_t>* side : {&mates.usual, &mates.late}) {
    for (const size_t rank : *side) deviations[rank] = own[rank].excess_parts[part] * DeviationShare(members);
  }
  SetExcess(
      mates, [&](size_t rank) { return deviations[rank]; },
      [&](size_t rank, double excess) { own[rank].excess_parts[part] = excess; });
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
  for (const auto& [communicator, mates] : communicators) {
    if (mates.late.empty() || mates.usual.empty()) continue;
    for (size_t unit = 0; unit < own[mates.late.front()].excess_ns.size(); ++unit) CompareUnit(mates, unit, own);
    for (size_t part = 0; part < kLatenessParts; ++part) ComparePart(mates, part, own);
  }
}

}  // namespace lockstep
