#include "analysis/metrics/stragglers/replayed_savings.h"

#include <algorithm>
#include <utility>

#include "analysis/metrics/stragglers/recurrence.h"
#include "analysis/metrics/stragglers/stragglers.h"

namespace lockstep {
namespace {

constexpr int kMostWhatIfs = 48;

// A saving less another one.
WhatIf Without(WhatIf saved, const WhatIf& other) {
  saved.saving_ns_per_step -= other.saving_ns_per_step;
  saved.saving_ratio -= other.saving_ratio;
  saved.bound_lo_ns_per_step = std::min<int64_t>(0, saved.saving_ns_per_step);
  saved.bound_hi_ns_per_step = std::max<int64_t>(0, saved.saving_ns_per_step);
  return saved;
}

std::vector<int32_t> InOrder(std::vector<int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

bool ReplayedSavings::MayAsk() const { return asked_ < kMostWhatIfs; }

std::optional<WhatIf> ReplayedSavings::Replayed(const Idealisation& ideal) {
  if (asked_++ >= kMostWhatIfs) return std::nullopt;
  return ask_(ideal);
}

std::optional<WhatIf> ReplayedSavings::ReplayedRanks(std::vector<int32_t> ranks) {
  Idealisation ideal;
  ideal.rank_indices = std::move(ranks);
  std::optional<WhatIf> saved = Replayed(ideal);
  if (saved) answers_.push_back({std::move(ideal.rank_indices), *saved});
  return saved;
}

void ReplayedSavings::Learn(std::vector<int32_t> ranks) {
  if (ask_ && !ranks.empty()) (void)ReplayedRanks(InOrder(std::move(ranks)));
}

// The largest saving that is known of a set of some of these ranks.
WhatIf ReplayedSavings::MostOfSome(const std::vector<int32_t>& ranks) const {
  WhatIf most;
  for (const Answer& answer : answers_) {
    const bool some = std::includes(ranks.begin(), ranks.end(), answer.ranks.begin(), answer.ranks.end());
    if (some && answer.saved.saving_ratio > most.saving_ratio) most = answer.saved;
  }
  return most;
}

// The smallest saving that is known of a set that holds all of these ranks; null if none is known.
std::optional<WhatIf> ReplayedSavings::LeastOfMore(const std::vector<int32_t>& ranks) const {
  std::optional<WhatIf> least;
  for (const Answer& answer : answers_) {
    const bool more = std::includes(answer.ranks.begin(), answer.ranks.end(), ranks.begin(), ranks.end());
    if (more && (!least || answer.saved.saving_ratio < least->saving_ratio)) least = answer.saved;
  }
  return least;
}

void ReplayedSavings::Suspect(std::vector<int32_t> ranks) {
  constexpr size_t kFewSuspects = 8;
  if (ranks.size() <= kFewSuspects) return;
  suspects_ = std::move(ranks);
  alone_ = after_ = {.at_once = suspects_.size()};
}

// As many as before are asked about where those saved too little: where twice as many did not, the one who saves enough
// is among the next ones. Twice as many after that, and all of them once that one is found. Many may leave nobody to
// compare with, where fewer do not.
std::optional<WhatIf> ReplayedSavings::WithSuspects(size_t candidate, const std::vector<int32_t>& ranks,
                                                    const WhatIf& of_mended, Search& search) {
  const std::vector<int32_t>& own = candidates_[candidate].rank_indices;
  const auto first = std::find(suspects_.begin(), suspects_.end(), own.front());
  if (own.size() > 1 || first == suspects_.end()) return ReplayedRanks(ranks);
  const auto is_little = [&](const WhatIf& saved) { return Without(saved, of_mended).saving_ratio < kMinSavingRatio; };
  for (;; search = {.at_once = search.at_once / 2}) {
    const auto count = std::min<std::ptrdiff_t>(suspects_.end() - first, static_cast<std::ptrdiff_t>(search.at_once));
    std::vector<int32_t> together = ranks;
    together.insert(together.end(), first, first + count);
    std::optional<WhatIf> saved = ReplayedRanks(InOrder(std::move(together)));
    if (saved && is_little(*saved)) {
      if (++search.too_little > 1) search = {.at_once = std::min(2 * search.at_once, suspects_.size())};
      return saved;
    }
    if (count <= 1) {
      search = {.at_once = suspects_.size()};
      return saved;
    }
  }
}

std::optional<WhatIf> ReplayedSavings::OfOneAtMost(size_t candidate) {
  const Candidate& it = candidates_[candidate];
  if (it.is_transfer() || suspects_.empty()) return OfOne(candidate);
  std::optional<WhatIf> saved = LeastOfMore(it.rank_indices);
  if (!saved || saved->saving_ratio >= kMinSavingRatio)
    saved = WithSuspects(candidate, it.rank_indices, WhatIf{}, alone_);
  return replayed_.OfTheRun(candidate, saved);
}

std::optional<WhatIf> ReplayedSavings::OfOne(size_t candidate) {
  const Candidate& it = candidates_[candidate];
  if (!it.is_transfer()) return replayed_.OfTheRun(candidate, ReplayedRanks(it.rank_indices));
  Idealisation ideal;
  ideal.communicators = it.communicators;
  return replayed_.OfTheRun(candidate, Replayed(ideal));
}

std::optional<WhatIf> ReplayedSavings::OfBurst(size_t candidate) {
  const Candidate& it = candidates_[candidate];
  const std::optional<Burst> burst = FindBurst(it.series, it.floor_ns);
  if (!burst || it.is_transfer()) return WhatIf{};
  Idealisation ideal;
  ideal.rank_indices = it.rank_indices;
  const size_t last = it.units[burst->last - 1] + 1;
  ideal.time_ns = {units_.start_ns[it.units[burst->first]],
                   last < units_.start_ns.size() ? units_.start_ns[last] : INT64_MAX};
  return replayed_.OfTheRun(candidate, Replayed(ideal));
}

std::optional<WhatIf> ReplayedSavings::After(size_t candidate, std::vector<int32_t> ranks) {
  const Candidate& it = candidates_[candidate];
  if (it.is_transfer() || ranks.empty() || !ask_) return std::nullopt;
  std::vector<int32_t> with_it = ranks;
  with_it.insert(with_it.end(), it.rank_indices.begin(), it.rank_indices.end());
  with_it = InOrder(std::move(with_it));
  ranks = InOrder(std::move(ranks));
  const WhatIf of_some = MostOfSome(ranks);
  std::optional<WhatIf> of_all = LeastOfMore(with_it);
  if (!of_all || Without(*of_all, of_some).saving_ratio >= kMinSavingRatio)
    of_all = WithSuspects(candidate, with_it, of_some, after_);
  if (!of_all) return std::nullopt;
  const WhatIf at_most = Without(*of_all, of_some);
  if (at_most.saving_ratio < kMinSavingRatio) return replayed_.OfTheRun(candidate, at_most);
  const std::optional<WhatIf> of_others = ReplayedRanks(std::move(ranks));
  if (!of_others) return std::nullopt;
  return replayed_.OfTheRun(candidate, Without(*of_all, *of_others));
}

}  // namespace lockstep
