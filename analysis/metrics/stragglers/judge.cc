#include "analysis/metrics/stragglers/judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "analysis/metrics/stragglers/series_statistics.h"
#include "analysis/metrics/stragglers/stalls.h"
#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"
#include "analysis/stats/student_t.h"

namespace lockstep {
namespace {

// The value from which the delays of a candidate are counted: its own median. A candidate that is compared with itself
// has its excess over what is usual for it as its series already (candidates.cc).
double MiddleOf(const Candidate& candidate) { return candidate.with_itself ? 0 : Median(candidate.series); }

// Seldom but large delays: how many stretches of units lie above the middle by more than the threshold. Of a candidate
// that is compared with itself, how many units do.
int64_t CountEvents(const Candidate& candidate, double middle, double threshold) {
  int64_t events = 0;
  bool before = false;
  for (const double value : candidate.series) {
    const bool event = value - middle > threshold;
    if (event && (!before || candidate.with_itself)) ++events;
    before = event;
  }
  return events;
}

struct CandidateFamily {
  std::vector<size_t> members;
  FamilyCorrelation correlation;
  double deviation = 0;  // median of the members' robust deviations
  double events = 0;
  QuietRanks quiet;

  // Of all to whom the events could have happened. Who is in it alone is compared with somebody who is not, and who has
  // no delays.
  [[nodiscard]] double AtLeastTwo() const {
    return static_cast<double>(std::max<size_t>(2, members.size() + quiet.ranks));
  }
};

class Judges {
 public:
  explicit Judges(const std::vector<const Candidate*>& candidates)
      : candidates_(candidates), own_(candidates.size()), events_(candidates.size()), out_(candidates.size()) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      own_[i] = AutocorrelationOf(candidates[i]->series);
      own_middles_.push_back(MiddleOf(*candidates[i]));
      families_[candidates[i]->family].members.push_back(i);
    }
    for (auto& [number, family] : families_) Describe(family);
  }

  std::vector<Judgement> Judge() {
    std::vector<double> p(candidates_.size());
    for (size_t i = 0; i < candidates_.size(); ++i) p[i] = Test(i);
    const std::vector<double> adjusted = HolmAdjusted(p);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      out_[i].p_adjusted = adjusted[i];
      out_[i].p_stalls = OfItsSize(i);
      out_[i].steps_needed = StepsNeeded(i);
    }
    return std::move(out_);
  }

 private:
  void Describe(CandidateFamily& family) {
    std::vector<double> deviations;
    family.correlation.members = family.members.size();
    const std::map<size_t, double> middles = MiddlesOf(family);
    for (const size_t i : family.members) {
      const Autocorrelation noise = AutocorrelationOf(Besides(*candidates_[i], middles));
      family.correlation.mean.AddShare(noise, 1 / static_cast<double>(family.members.size()));
      deviations.push_back(RobustDeviation(candidates_[i]->series));
    }
    family.deviation = Median(std::move(deviations));
    for (const size_t i : family.members) {
      events_[i] = EventsOf(i, family);
      family.events += static_cast<double>(events_[i]);
      if (candidates_[i]->with_itself) family.quiet = candidates_[i]->quiet;
    }
    family.events += static_cast<double>(family.quiet.far_units);
  }

  // The median of the family in each unit: what one late member does to all others' excess over their mean.
  [[nodiscard]] std::map<size_t, double> MiddlesOf(const CandidateFamily& family) const {
    std::map<size_t, std::vector<double>> values;
    for (const size_t i : family.members) {
      const Candidate& candidate = *candidates_[i];
      for (size_t k = 0; k < candidate.series.size(); ++k) values[candidate.units[k]].push_back(candidate.series[k]);
    }
    std::map<size_t, double> middles;
    for (auto& [unit, of_unit] : values) middles[unit] = Median(std::move(of_unit));
    return middles;
  }

  static std::vector<double> Besides(const Candidate& candidate, const std::map<size_t, double>& middles) {
    std::vector<double> series;
    for (size_t k = 0; k < candidate.series.size(); ++k) {
      series.push_back(candidate.series[k] - middles.at(candidate.units[k]));
    }
    return series;
  }

  [[nodiscard]] int64_t EventsOf(size_t i, const CandidateFamily& family) const {
    constexpr double kDeviations = 6;
    const Candidate& candidate = *candidates_[i];
    const double own =
        candidate.with_itself ? LowLevelOf(candidate.series).deviation : RobustDeviation(candidate.series);
    const double noise = candidate.with_itself ? own : std::max(family.deviation, own);
    return CountEvents(candidate, own_middles_[i], std::max(candidate.floor_ns, kDeviations * noise));
  }

  // The smaller of the two tests' p values, each weighted by its share of alpha.
  double Test(size_t i) {
    const Candidate& candidate = *candidates_[i];
    const CandidateFamily& family = families_.at(candidate.family);
    const auto n = static_cast<double>(candidate.series.size());
    const auto late = static_cast<double>(std::count_if(candidate.series.begin(), candidate.series.end(),
                                                        [&](double value) { return value > candidate.floor_ns; }));
    Judgement& out = out_[i];
    out.mean_ns = std::accumulate(candidate.series.begin(), candidate.series.end(), 0.0) / n;
    out.late_share = late / n;
    out.n_eff = EffectiveCount(candidate.series.size(), own_[i], family.correlation);
    out.p_seldom = BinomialTail(family.events, static_cast<double>(events_[i]), 1 / family.AtLeastTwo());
    // Delays far beyond all noise are events of their own, however slowly the noise changes.
    if (out.n_eff < LeastUnits(candidates_.size())) return std::min(1.0, out.p_seldom / kSeldomShare);
    const double sign = BinomialTail(out.n_eff, out.n_eff * out.late_share, 0.5);
    const double mean = MeanTail(candidate.series, family, out.n_eff);
    const double rest = std::min(out.p_seldom / kSeldomShare, mean / kMeanShare);
    const double pair = IsOfPair(candidate) ? PairTail(candidate, out.n_eff) / kPairShare : 1;
    return std::min({1.0, sign / SignShareOf(candidate), rest, pair});
  }

  // Smaller delays, which all members have now and then, say nothing of stalls that are as long as its own. Another one
  // that stalls as it does is no sign that all do.
  [[nodiscard]] double OfItsSize(size_t i) const {
    constexpr double kAsLong = 0.5;
    constexpr size_t kEnoughMembers = 4;  // that one of them can be left out
    const std::optional<double> usual = UsualStall(*candidates_[i]);
    if (!usual) return 1;
    const CandidateFamily& family = families_.at(candidates_[i]->family);
    const auto events_of = [&](size_t member) {
      return CountEvents(*candidates_[member], own_middles_[member], kAsLong * *usual);
    };
    auto others = static_cast<int64_t>(family.quiet.far_units);
    int64_t most = 0;
    for (const size_t member : family.members) {
      if (member == i) continue;
      const int64_t events = events_of(member);
      others += events;
      most = std::max(most, events);
    }
    if (family.members.size() >= kEnoughMembers) others -= most;
    const auto own = static_cast<double>(events_of(i));
    const double chance = BinomialTail(own + static_cast<double>(others), own, 1 / family.AtLeastTwo());
    return std::min(1.0, chance * family.AtLeastTwo());
  }

  // One-sided normal tail of the mean of all but the largest fifth, against twice its family's noise. A family of few
  // members has no noise but theirs.
  static double MeanTail(std::vector<double> series, const CandidateFamily& family, double n_eff) {
    constexpr size_t kLeastMembers = 4;
    constexpr double kAllowance = 2;
    if (family.members.size() < kLeastMembers || family.deviation <= 0) return 1;
    std::sort(series.begin(), series.end());
    series.resize(series.size() - series.size() / 5);
    const double mean = std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
    return std::erfc(mean / (kAllowance * family.deviation) * std::sqrt(n_eff / 2)) / 2;
  }

  static bool IsOfPair(const Candidate& candidate) { return candidate.pair_deviation_ns > 0; }
  static double SignShareOf(const Candidate& candidate) {
    return IsOfPair(candidate) ? kSignShare - kPairShare : kSignShare;
  }

  // One-sided t test of the difference of the two members of a pair. If they are alike, however much they stall, its
  // mean is 0. Only for who stalls: of a speed that drifts slowly, few steps do not show how slowly.
  static double PairTail(const Candidate& candidate, double n_eff) {
    if (candidate.pair_mean_ns <= 0 || n_eff <= 1 || !Stalls(candidate)) return 1;
    const double t = candidate.pair_mean_ns / candidate.pair_deviation_ns * std::sqrt(n_eff);
    return TwoSidedP(t, n_eff - 1) / 2;
  }

  // By whichever of the two tests is sooner done.
  [[nodiscard]] double StepsNeeded(size_t i) const {
    const auto n = static_cast<double>(candidates_[i]->series.size());
    return std::max(StepsToBeSignificant(i), kWorthMargin * LeastUnits(candidates_.size()) * n / out_[i].n_eff);
  }

  [[nodiscard]] double StepsToBeSignificant(size_t i) const {
    const Candidate& candidate = *candidates_[i];
    const auto n = static_cast<double>(candidate.series.size());
    const double alpha = kStragglerAlpha / static_cast<double>(candidates_.size());
    const double sign =
        kStepMargin * CountNeeded(out_[i].late_share, SignShareOf(candidate) * alpha) * n / out_[i].n_eff;
    if (events_[i] == 0) return sign;
    const double events = std::log(kSeldomShare * alpha) / -std::log(families_.at(candidate.family).AtLeastTwo());
    return std::min(sign, kStepMargin * std::max(1.0, events) * n / static_cast<double>(events_[i]));
  }

  const std::vector<const Candidate*>& candidates_;
  std::vector<Autocorrelation> own_;
  std::vector<int64_t> events_;
  std::vector<double> own_middles_;
  std::map<size_t, CandidateFamily> families_;
  std::vector<Judgement> out_;
};

}  // namespace

double LeastUnits(size_t candidates) {
  return kStepMargin * std::log2(static_cast<double>(std::max<size_t>(1, candidates)) / kStragglerAlpha);
}

std::vector<Judgement> JudgeCandidates(const std::vector<const Candidate*>& candidates) {
  return Judges(candidates).Judge();
}

std::vector<Judgement> JudgeCandidates(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> all;
  for (const Candidate& candidate : candidates) all.push_back(&candidate);
  return JudgeCandidates(all);
}

}  // namespace lockstep
