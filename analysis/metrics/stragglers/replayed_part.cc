#include "analysis/metrics/stragglers/replayed_part.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

namespace lockstep {
namespace {

constexpr double kMostRatio = 4;  // further from 1 the part has too little of it, or little else

using Key = std::tuple<StragglerScope, std::string, bool>;

Key KeyOf(const Candidate& candidate) { return {candidate.scope, candidate.id, candidate.is_transfer()}; }

double SeriesMean(const std::vector<double>& series) {
  return std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
}

double SumOfOwnParts(const OwnParts& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

// A rank against the members of its communicator: known of less than two steps, too.
bool IsRankAmongMembers(const ReplayedPart::Measured& measured, const Candidate& candidate) {
  return candidate.scope == StragglerScope::kRank && !candidate.is_transfer() && !measured.own.empty() &&
         measured.own[static_cast<size_t>(candidate.rank_indices.front())].compared;
}

// Own time: per collective, so that steps count by what is there of them. Transfers: per step.
double LatenessOf(const ReplayedPart::Measured& measured, const Candidate& candidate) {
  if (candidate.is_transfer()) return SeriesMean(candidate.series);
  const RankOwnTime& own = measured.own[static_cast<size_t>(candidate.rank_indices.front())];
  const auto instances = static_cast<double>(std::max<int64_t>(1, own.instances));
  return SumOfOwnParts(candidate.parts) * static_cast<double>(own.units) / instances;
}

double LatenessAmongMembers(const RankOwnTime& own) {
  return SumOfOwnParts(own.excess_parts) / static_cast<double>(std::max<int64_t>(1, own.instances));
}

// Of the same communicator in both.
bool AreOfOneKind(const ReplayedPart::Measured& run, const ReplayedPart::Measured& part, const Candidate& candidate) {
  if (candidate.is_transfer()) return true;
  const auto rank = static_cast<size_t>(candidate.rank_indices.front());
  return run.own[rank].communicator == part.own[rank].communicator;
}

}  // namespace

ReplayedPart::ReplayedPart(const Measured& run, const Measured& part) {
  std::map<Key, const Candidate*> there;
  for (const Candidate& candidate : part.candidates) there.emplace(KeyOf(candidate), &candidate);
  for (const Candidate& candidate : run.candidates) {
    double& ratio = ratios_.emplace_back(0);
    const auto found = there.find(KeyOf(candidate));
    const bool is_found = found != there.end();
    if ((!is_found && !IsRankAmongMembers(part, candidate)) || !AreOfOneKind(run, part, candidate)) continue;
    const auto rank = static_cast<size_t>(candidate.rank_indices.front());
    const double in_run = is_found ? LatenessOf(run, candidate) : LatenessAmongMembers(run.own[rank]);
    const double in_part = is_found ? LatenessOf(part, *found->second) : LatenessAmongMembers(part.own[rank]);
    const bool shown = in_run > 0 && in_part * kMostRatio > in_run && in_part < in_run * kMostRatio;
    if (shown) ratio = in_run / in_part;
  }
}

std::optional<WhatIf> ReplayedPart::OfTheRun(size_t candidate, std::optional<WhatIf> what_if) const {
  if (!what_if || ratios_.empty()) return what_if;
  if (!Shows(candidate)) return std::nullopt;
  const double ratio = ratios_[candidate];
  const auto times = [ratio](int64_t ns) { return std::llround(static_cast<double>(ns) * ratio); };
  const double saved = what_if->saving_ratio;  // of a step of the part
  what_if->saving_ns_per_step = times(what_if->saving_ns_per_step);
  what_if->bound_lo_ns_per_step = times(what_if->bound_lo_ns_per_step);
  what_if->bound_hi_ns_per_step = times(what_if->bound_hi_ns_per_step);
  what_if->deviation_ratio *= ratio;
  what_if->saving_ratio = saved < 1 ? saved * ratio / (1 - saved + saved * ratio) : saved;
  return what_if;
}

}  // namespace lockstep
