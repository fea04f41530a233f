#include <algorithm>
#include <set>
#include <utility>

#include "analysis/metrics/causes/origins.h"

namespace lockstep {
namespace {

constexpr size_t kMostRanks = 6;  // of each ranking
constexpr size_t kMostTransfers = 3;
constexpr int64_t kLeastOf = 2'000;  // of the step: a saving below is noise

// The parts that a rank can be an origin with.
constexpr LatenessPart kOwnParts[] = {LatenessPart::kCompute, LatenessPart::kCopy, LatenessPart::kHost};

class Finder {
 public:
  Finder(const Replay& replay, std::vector<OriginSuspect> ranking) : replay_(replay), ranking_(std::move(ranking)) {}

  std::vector<OriginSuspect> Run(const BlameResult& blame) {
    size_t ranks = 0;
    size_t transfers = 0;
    for (const OriginSuspect& suspect : ranking_) {
      if (suspect.rank_index < 0 ? transfers++ < kMostTransfers : ranks++ < kMostRanks) Try(suspect);
    }
    ranks = 0;
    for (const RankBlame& blamed : BlameByRank(blame)) {
      if (ranks++ == kMostRanks) break;
      const auto known = std::find_if(ranking_.begin(), ranking_.end(), [&](const OriginSuspect& suspect) {
        return suspect.rank_index == blamed.rank_index;
      });
      Try(known != ranking_.end() ? *known : OriginSuspect{.rank_index = blamed.rank_index, .part = blamed.main_part});
    }
    const bool decided = std::any_of(tried_.begin(), tried_.end(), [this](const OriginSuspect& suspect) {
      return suspect.saving_ns_per_step > replay_.base().step_ns / kLeastOf;
    });
    if (!decided) return std::move(tried_);
    std::stable_sort(tried_.begin(), tried_.end(), [](const OriginSuspect& a, const OriginSuspect& b) {
      return a.saving_ns_per_step > b.saving_ns_per_step;
    });
    return std::move(tried_);
  }

 private:
  void Try(OriginSuspect suspect) {
    if (!seen_.emplace(suspect.rank_index, suspect.communicator).second) return;
    Idealisation ideal;
    if (suspect.rank_index < 0) {
      ideal.communicators = {static_cast<uint32_t>(suspect.communicator)};
      suspect.saving_ns_per_step = replay_.SuspicionNs(ideal, scratch_);
      tried_.push_back(suspect);
      return;
    }
    ideal.rank_indices = {suspect.rank_index};
    LatenessPart best = suspect.part;
    for (const LatenessPart part : kOwnParts) {
      ideal.part = part;
      const int64_t saving = replay_.SuspicionNs(ideal, scratch_);
      if (saving <= suspect.saving_ns_per_step) continue;
      suspect.saving_ns_per_step = saving;
      best = part;
    }
    // What both say little about keeps the part that the rankings gave.
    if (suspect.saving_ns_per_step > replay_.base().step_ns / kLeastOf) suspect.part = best;
    tried_.push_back(suspect);
  }

  const Replay& replay_;
  ReplayScratch scratch_;
  std::vector<OriginSuspect> ranking_;
  std::vector<OriginSuspect> tried_;
  std::set<std::pair<int32_t, int32_t>> seen_;
};

}  // namespace

std::vector<OriginSuspect> FindOrigins(const RunData& run, const RankResolution& ranks, const ArrivalGraph& graph,
                                       const MatchResult& match, const BlameResult& blame, const Replay& replay) {
  return Finder(replay, RankOrigins(run, ranks, graph, match, blame)).Run(blame);
}

}  // namespace lockstep
