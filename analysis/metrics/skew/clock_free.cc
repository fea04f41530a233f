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
  if (instance.spread_ns == 0) return;
  WaitSums candidate;
  candidate.instances = 1;
  candidate.members = static_cast<int64_t>(instance.members.size());
  candidate.aligned_wait_ns = TotalWaitNs(instance);
  candidate.aligned_uncertainty_ns = TotalWaitUncertaintyNs(instance);
  for (const MatchedMember& m : instance.members) {
    candidate.wait_ns += m.end_ns - m.start_ns - instance.shortest_duration_ns;
  }
  candidates_.Add(instance.spread_ns, candidate);
}

std::optional<ClockFreeWaits> ClockFreeCheck::Finish() {
  distances_.Flush(end_distances_);
  if (end_distances_.count() < kMinDistances) return std::nullopt;
  const double sigma = kSigmaOfMedian * static_cast<double>(end_distances_.Quantile(0.5)->value);
  ClockFreeWaits out;
  out.end_sigma_ns = std::llround(sigma);
  const WaitSums valid = candidates_.From(kMinSpreadSigmas * out.end_sigma_ns);
  if (valid.instances == 0) return std::nullopt;
  out.instances = valid.instances;
  out.wait_total_ns = valid.wait_ns;
  out.aligned_wait_total_ns = valid.aligned_wait_ns;
  out.aligned_uncertainty_ns = valid.aligned_uncertainty_ns;
  out.uncertainty_ns = std::llround(kHalfWidth * sigma * static_cast<double>(valid.members));
  return out;
}

}  // namespace lockstep
