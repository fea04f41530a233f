#include "bench/accuracy/figure.h"

#include <algorithm>
#include <cmath>

#include "analysis/stats/order_statistic.h"

namespace lockstep {

void Score::Count(std::string_view claim, int64_t hits, int64_t trials) {
  lockstep::Count& count = counts_[std::string(claim)];
  count.hits += hits;
  count.trials += trials;
}

void Score::Merge(const Score& other) {
  for (const auto& [claim, count] : other.counts_) {
    Count(claim, count.hits, count.trials);
    const auto hits = static_cast<double>(count.hits);
    const auto trials = static_cast<double>(count.trials);
    lockstep::Count& sums = counts_[claim];
    ++sums.clusters;
    sums.hits_squared += hits * hits;
    sums.hits_times_trials += hits * trials;
    sums.trials_squared += trials * trials;
  }
  for (const auto& [series, values] : other.values_) {
    auto& into = values_[series];
    into.insert(into.end(), values.begin(), values.end());
  }
  for (const std::string& note : other.notes_) Note(note);
}

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHeld:
      return "held";
    case Verdict::kMissed:
      return "missed";
    case Verdict::kNotEnoughTrials:
      return "not enough trials";
  }
  return "missed";
}

double EffectiveTrials(const Count& count) {
  const auto trials = static_cast<double>(count.trials);
  if (count.clusters < 2 || count.hits == 0 || count.hits == count.trials) return trials;
  const auto clusters = static_cast<double>(count.clusters);
  const double share = static_cast<double>(count.hits) / trials;
  const double squares =
      count.hits_squared - 2 * share * count.hits_times_trials + share * share * count.trials_squared;
  const double variance = clusters / (clusters - 1) * squares / (trials * trials);
  const double independent = share * (1 - share) / trials;
  return variance > independent ? trials * independent / variance : trials;
}

Interval SeenInterval(const Count& count) {
  if (count.trials <= 0) return {};
  const double trials = EffectiveTrials(count);
  return ClopperPearson(trials * static_cast<double>(count.hits) / static_cast<double>(count.trials), trials);
}

int64_t MinTrials(const Claim& claim) {
  if (claim.min_trials > 0) return claim.min_trials;
  if (claim.kind == ClaimKind::kExact) return 1;
  const double miss = 1 - (claim.kind == ClaimKind::kBetween ? claim.upper : claim.target);
  return miss <= 0 ? 1 : std::llround(std::ceil(3 / miss - 1e-6));
}

Verdict Judge(const Claim& claim, const Count& count) {
  const Interval seen = SeenInterval(count);
  const bool few = EffectiveTrials(count) < static_cast<double>(MinTrials(claim));
  switch (claim.kind) {
    case ClaimKind::kExact:
      if (count.hits < count.trials) return Verdict::kMissed;
      break;
    case ClaimKind::kAtLeast:
      if (seen.hi < claim.target) return Verdict::kMissed;
      break;
    case ClaimKind::kBetween:
      if (seen.hi < claim.target || seen.lo > claim.upper) return Verdict::kMissed;
      break;
  }
  return few ? Verdict::kNotEnoughTrials : Verdict::kHeld;
}

double Percentile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto n = static_cast<double>(values.size());
  const auto rank = std::clamp<int64_t>(std::llround(std::ceil(q * n - 1e-9)), 1, static_cast<int64_t>(values.size()));
  return OrderStatistic(std::move(values), static_cast<size_t>(rank - 1));
}

}  // namespace lockstep
