#include "analysis/metrics/match/lost_collectives.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

int64_t FirstArrival(const MatchedInstance& instance) {
  int64_t first = INT64_MAX;
  for (const MatchedMember& m : instance.members) first = std::min(first, m.start_ns);
  return first;
}

double Share(const LostCollectives& it) { return static_cast<double>(it.lost) / static_cast<double>(it.expected); }

}  // namespace

void LostCollectivesCount::Span::Add(int64_t position) {
  if (first < 0) first = position;
  last = position;
}

void LostCollectivesCount::Span::Add(const Span& other) {
  if (other.first < 0) return;
  first = first < 0 ? other.first : std::min(first, other.first);
  last = std::max(last, other.last);
}

void LostCollectivesCount::Missing::Add(const Missing& other) {
  if (other.lost == 0) return;
  first_ns = lost == 0 ? other.first_ns : std::min(first_ns, other.first_ns);
  lost += other.lost;
}

LostCollectivesCount::LostCollectivesCount(const RankResolution& ranks) {
  for (size_t i = 0; i < ranks.ranks.size(); ++i) index_of_[ranks.ranks[i].rank] = static_cast<int32_t>(i);
}

void LostCollectivesCount::Add(const MatchedInstance& instance, const Communicator& communicator) {
  if (!instance.matched() || instance.confidence < kCertainConfidence) return;
  if (communicators_.size() <= instance.communicator) communicators_.resize(instance.communicator + size_t{1});
  OfCommunicator& of = communicators_[instance.communicator];
  if (instance.complete) {
    CloseGaps(of);
    of.complete.Add(of.instances);
  } else {
    AddIncomplete(instance, communicator, of);
  }
  ++of.instances;
}

// What ranks lacked before an instance that all have lies between two of theirs.
void LostCollectivesCount::CloseGaps(OfCommunicator& of) {
  for (auto& [rank_index, rank] : of.ranks) rank.missing.Add(std::exchange(rank.pending, {}));
}

void LostCollectivesCount::AddIncomplete(const MatchedInstance& instance, const Communicator& communicator,
                                         OfCommunicator& of) {
  for (const MatchedMember& m : instance.members) {
    OfRank& rank = of.ranks[m.rank_index];
    rank.missing.Add(std::exchange(rank.pending, {}));
    rank.joined.Add(of.instances);
  }
  const int64_t first_ns = FirstArrival(instance);
  for (const int32_t global : communicator.members) {
    const auto index = index_of_.find(global);
    if (index == index_of_.end()) continue;
    OfRank& rank = of.ranks[index->second];
    const bool has_it = rank.joined.last == of.instances;
    if (!has_it && (of.complete.first >= 0 || rank.joined.first >= 0)) rank.pending.Add({1, first_ns});
  }
}

std::vector<LostCollectives> LostCollectivesCount::Finish(const std::vector<Communicator>& communicators) const {
  std::map<int32_t, LostCollectives> by_rank;
  for (size_t c = 0; c < communicators_.size() && c < communicators.size(); ++c) {
    const OfCommunicator& of = communicators_[c];
    for (const int32_t global : communicators[c].members) {
      const auto index = index_of_.find(global);
      if (index == index_of_.end() || !of.ranks.contains(index->second)) continue;
      const OfRank& rank = of.ranks.at(index->second);
      Span joined = rank.joined;
      joined.Add(of.complete);
      if (joined.first < 0) continue;
      LostCollectives& lost = by_rank[index->second];
      lost.rank_index = index->second;
      lost.expected += joined.last - joined.first + 1;
      if (rank.missing.lost == 0) continue;
      lost.first_ns = lost.lost == 0 ? rank.missing.first_ns : std::min(lost.first_ns, rank.missing.first_ns);
      lost.lost += rank.missing.lost;
    }
  }
  std::vector<LostCollectives> out;
  for (const auto& [rank_index, lost] : by_rank) {
    if (lost.lost > 0) out.push_back(lost);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const LostCollectives& a, const LostCollectives& b) { return Share(a) > Share(b); });
  return out;
}

}  // namespace lockstep
