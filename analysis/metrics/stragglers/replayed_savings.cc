#include "analysis/metrics/stragglers/replayed_savings.h"

#include <algorithm>
#include <utility>

#include "analysis/metrics/stragglers/recurrence.h"

namespace lockstep {
namespace {

constexpr int kMostWhatIfs = 48;

Idealisation OfRanks(std::vector<int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  Idealisation ideal;
  ideal.rank_indices = std::move(ranks);
  return ideal;
}

}  // namespace

bool ReplayedSavings::MayAsk() const { return asked_ < kMostWhatIfs; }

std::optional<WhatIf> ReplayedSavings::Replayed(const Idealisation& ideal) {
  if (asked_++ >= kMostWhatIfs) return std::nullopt;
  return ask_(ideal);
}

std::optional<WhatIf> ReplayedSavings::OfOne(size_t candidate) {
  const Candidate& it = candidates_[candidate];
  Idealisation ideal;
  if (it.is_transfer()) {
    ideal.communicators = it.communicators;
  } else {
    ideal.rank_indices = it.rank_indices;
  }
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
  const std::optional<WhatIf> without = Replayed(OfRanks(std::move(ranks)));
  std::optional<WhatIf> saved = Replayed(OfRanks(std::move(with_it)));
  if (!without || !saved) return std::nullopt;
  saved->saving_ns_per_step -= without->saving_ns_per_step;
  saved->saving_ratio -= without->saving_ratio;
  saved->bound_lo_ns_per_step = std::min<int64_t>(0, saved->saving_ns_per_step);
  saved->bound_hi_ns_per_step = std::max<int64_t>(0, saved->saving_ns_per_step);
  return replayed_.OfTheRun(candidate, saved);
}

}  // namespace lockstep
