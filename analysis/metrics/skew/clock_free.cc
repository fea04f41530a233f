#include "analysis/metrics/skew/clock_free.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/metrics/skew/skew.h"

namespace lockstep {
namespace {

constexpr double kSigmaOfMedian = 1.4826;  // of a normal distribution
constexpr double kHalfWidth = 1.96;
constexpr int64_t kMinSpreadSigmas = 5;
constexpr int64_t kMinDistances = 10;

}  // namespace

bool ClockFreeWaits::Agrees() const {
  return std::abs(wait_total_ns - aligned_wait_total_ns) <= uncertainty_ns + aligned_uncertainty_ns;
}

// Distances of the ends from their middle one, its own left out.
void ClockFreeCheck::AddEndDistances(const MatchedInstance& instance) {
  ends_.clear();
  for (const MatchedMember& m : instance.members) ends_.push_back(m.end_ns);
  const auto middle = ends_.begin() + static_cast<std::ptrdiff_t>((ends_.size() - 1) / 2);
  std::nth_element(ends_.begin(), middle, ends_.end());
  for (auto end = ends_.begin(); end != ends_.end(); ++end) {
    if (end != middle) distances_.Add(std::abs(*end - *middle), end_distances_);
  }
}

void ClockFreeCheck::Add(const MatchedInstance& instance) {
  if (!instance.all_pairs || !instance.complete) return;
  AddEndDistances(instance);
  Candidate candidate;
  candidate.spread_ns = instance.spread_ns;
  candidate.members = static_cast<int64_t>(instance.members.size());
  candidate.aligned_wait_ns = TotalWaitNs(instance);
  candidate.aligned_uncertainty_ns = TotalWaitUncertaintyNs(instance);
  for (const MatchedMember& m : instance.members) {
    candidate.wait_ns += m.end_ns - m.start_ns - instance.shortest_duration_ns;
  }
  candidates_.push_back(candidate);
}

std::optional<ClockFreeWaits> ClockFreeCheck::Finish() {
  distances_.Flush(end_distances_);
  if (end_distances_.count() < kMinDistances) return std::nullopt;
  const double sigma = kSigmaOfMedian * static_cast<double>(end_distances_.Quantile(0.5)->value);
  ClockFreeWaits out;
  out.end_sigma_ns = std::llround(sigma);
  double members = 0;
  for (const Candidate& c : candidates_) {
    if (c.spread_ns == 0 || c.spread_ns < kMinSpreadSigmas * out.end_sigma_ns) continue;
    ++out.instances;
    members += static_cast<double>(c.members);
    out.wait_total_ns += c.wait_ns;
    out.aligned_wait_total_ns += c.aligned_wait_ns;
    out.aligned_uncertainty_ns += c.aligned_uncertainty_ns;
  }
  if (out.instances == 0) return std::nullopt;
  out.uncertainty_ns = std::llround(kHalfWidth * sigma * members);
  return out;
}

}  // namespace lockstep
