#include "analysis/metrics/clock_align/clock_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

// Linear between the knots around t, and along the outermost ones beyond them.
int64_t Interpolate(const std::vector<ClockKnot>& knots, int64_t t_ns) {
  if (knots.empty()) return 0;
  if (knots.size() == 1) return knots.front().offset_ns;
  auto after = std::upper_bound(knots.begin(), knots.end(), t_ns,
                                [](int64_t t, const ClockKnot& knot) { return t < knot.t_ns; });
  if (after == knots.begin()) ++after;
  if (after == knots.end()) --after;
  const ClockKnot& b = *after;
  const ClockKnot& a = *std::prev(after);
  if (b.t_ns == a.t_ns) return t_ns < b.t_ns ? a.offset_ns : b.offset_ns;
  const double slope = static_cast<double>(b.offset_ns - a.offset_ns) / static_cast<double>(b.t_ns - a.t_ns);
  return a.offset_ns + std::llround(slope * static_cast<double>(t_ns - a.t_ns));
}

const ClockKnot* NearestKnot(const std::vector<ClockKnot>& knots, int64_t t_ns) {
  const ClockKnot* best = nullptr;
  for (const ClockKnot& knot : knots) {
    if (best == nullptr || std::abs(knot.t_ns - t_ns) < std::abs(best->t_ns - t_ns)) best = &knot;
  }
  return best;
}

int64_t RootSumOfSquares(double a, double b, double c) { return std::llround(std::sqrt(a * a + b * b + c * c)); }

}  // namespace

void ClockModel::SetDomain(int32_t rank_index, DomainId domain) {
  LOCKSTEP_CHECK(rank_index >= 0 && domain.value >= 0);
  const auto index = static_cast<size_t>(rank_index);
  if (domains_.size() <= index) {
    domains_.resize(index + 1);
    biases_.resize(index + 1);
  }
  domains_[index] = domain;
  // Until something connects it, a domain is a component of its own.
  while (clocks_.size() <= static_cast<size_t>(domain.value)) {
    clocks_.push_back({.component = static_cast<int32_t>(clocks_.size())});
  }
}

void ClockModel::SetDomainClock(DomainId domain, DomainClock clock) {
  LOCKSTEP_CHECK(domain.value >= 0 && domain.value < domains());
  clocks_[static_cast<size_t>(domain.value)] = std::move(clock);
}

void ClockModel::SetBias(int32_t rank_index, std::vector<BiasPiece> pieces) {
  LOCKSTEP_CHECK(rank_index >= 0 && static_cast<size_t>(rank_index) < biases_.size());
  biases_[static_cast<size_t>(rank_index)] = std::move(pieces);
}

void ClockModel::AddBias(int32_t rank_index, int64_t bias_ns) {
  LOCKSTEP_CHECK(rank_index >= 0 && static_cast<size_t>(rank_index) < biases_.size());
  std::vector<BiasPiece>& pieces = biases_[static_cast<size_t>(rank_index)];
  if (pieces.empty()) pieces.emplace_back();
  for (BiasPiece& piece : pieces) piece.bias_ns += bias_ns;
}

void ClockModel::SetBiasDoubt(int32_t rank_index, int64_t half_width_ns) {
  LOCKSTEP_CHECK(rank_index >= 0 && static_cast<size_t>(rank_index) < domains_.size());
  bias_doubts_.resize(domains_.size());
  bias_doubts_[static_cast<size_t>(rank_index)] = half_width_ns;
}

void ClockModel::SetPair(int32_t rank_a, int32_t rank_b, int64_t uncertainty_ns, int64_t instances) {
  constexpr int64_t kMinInstances = 3;
  UncertaintyOf(rank_a, rank_b) = instances < kMinInstances ? kDefaultPairUncertaintyNs : uncertainty_ns;
}

int64_t& ClockModel::UncertaintyOf(int32_t rank_a, int32_t rank_b) {
  const auto [lower, other] = std::minmax(rank_a, rank_b);
  LOCKSTEP_CHECK(lower >= 0);
  if (pairs_.size() <= static_cast<size_t>(lower)) pairs_.resize(static_cast<size_t>(lower) + 1);
  std::vector<PairOfRank>& of_lower = pairs_[static_cast<size_t>(lower)];
  const auto at = std::partition_point(of_lower.begin(), of_lower.end(),
                                       [other = other](const PairOfRank& pair) { return pair.other < other; });
  if (at != of_lower.end() && at->other == other) return at->uncertainty_ns;
  return of_lower.insert(at, {other, 0})->uncertainty_ns;
}

void ClockModel::SetDomainPair(DomainId a, DomainId b, std::vector<OffsetUncertainty> pieces) {
  domain_pairs_[std::minmax(a.value, b.value)] = std::move(pieces);
}

int64_t ClockModel::BiasOf(int32_t rank_index, LocalTime time) const {
  const std::vector<BiasPiece>& pieces = biases_[static_cast<size_t>(rank_index)];
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), time.ns,
                                      [](int64_t t, const BiasPiece& piece) { return t < piece.from_ns; });
  return after == pieces.begin() ? 0 : std::prev(after)->bias_ns;
}

Duration ClockModel::OffsetOf(DomainId domain, LocalTime time) const {
  return Duration{Interpolate(ClockOf(domain).knots, time.ns)};
}

Duration ClockModel::Correction(int32_t rank_index, LocalTime time) const {
  return Duration{OffsetOf(DomainOf(rank_index), time).ns + BiasOf(rank_index, time)};
}

LocalTime ClockModel::ToLocal(int32_t rank_index, AlignedTime time) const {
  // The correction changes by less than 1e-4 of the time moved, so two rounds leave less than a nanosecond.
  int64_t local = time.ns;
  for (int round = 0; round < 3; ++round) local = time.ns + Correction(rank_index, LocalTime{local}).ns;
  return LocalTime{local};
}

int64_t ClockModel::FindPair(const std::vector<PairOfRank>& of_lower, int32_t other) {
  const auto at = std::partition_point(of_lower.begin(), of_lower.end(),
                                       [other](const PairOfRank& pair) { return pair.other < other; });
  return at != of_lower.end() && at->other == other ? at->uncertainty_ns : kDefaultPairUncertaintyNs;
}

int64_t ClockModel::BetweenDomains(DomainId a, DomainId b, int64_t at_ns) const {
  const auto told = domain_pairs_.find(std::minmax(a.value, b.value));
  if (told != domain_pairs_.end()) {
    const std::vector<OffsetUncertainty>& pieces = told->second;
    if (pieces.empty()) return kDefaultPairUncertaintyNs;
    const auto after = std::upper_bound(pieces.begin(), pieces.end(), at_ns,
                                        [](int64_t t, const OffsetUncertainty& piece) { return t < piece.t_ns; });
    return after == pieces.begin() ? pieces.front().half_width_ns : std::prev(after)->half_width_ns;
  }
  const ClockKnot* x = NearestKnot(ClockOf(a).knots, at_ns);
  const ClockKnot* y = NearestKnot(ClockOf(b).knots, at_ns);
  const double sigma_x = x == nullptr ? 0 : static_cast<double>(x->sigma_ns);
  const double sigma_y = y == nullptr ? 0 : static_cast<double>(y->sigma_ns);
  return RootSumOfSquares(kNormal95 * sigma_x, kNormal95 * sigma_y, 0);
}

std::optional<Duration> ClockModel::ClockUncertainty(int32_t rank_a, int32_t rank_b, AlignedTime at) const {
  if (rank_a == rank_b) return Duration{0};
  const DomainId a = DomainOf(rank_a);
  const DomainId b = DomainOf(rank_b);
  if (a == b) return Duration{InDomainUncertainty(rank_a, rank_b)};
  if (ClockOf(a).component != ClockOf(b).component) return std::nullopt;
  const int64_t domains_ns = BetweenDomains(a, b, at.ns);
  const int64_t doubt_a = BiasDoubtOf(rank_a);
  const int64_t doubt_b = BiasDoubtOf(rank_b);
  if (doubt_a == 0 && doubt_b == 0) return Duration{domains_ns};
  return Duration{
      RootSumOfSquares(static_cast<double>(domains_ns), static_cast<double>(doubt_a), static_cast<double>(doubt_b))};
}

std::optional<Duration> ClockModel::PairUncertainty(int32_t rank_a, int32_t rank_b, AlignedTime at) const {
  const std::optional<Duration> clocks = ClockUncertainty(rank_a, rank_b, at);
  const DomainId a = DomainOf(rank_a);
  const DomainId b = DomainOf(rank_b);
  if (!clocks || a == b) return clocks;
  const auto sd_a = static_cast<double>(ClockOf(a).record_sd_ns);
  const auto sd_b = static_cast<double>(ClockOf(b).record_sd_ns);
  return Duration{RootSumOfSquares(static_cast<double>(clocks->ns), kNormal95 * sd_a, kNormal95 * sd_b)};
}

}  // namespace lockstep
