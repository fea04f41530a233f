#include "analysis/metrics/stragglers/one_of_two.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/metrics/stragglers/stalls.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

void SetPairMean(Candidate& candidate) {
  const auto count = static_cast<double>(candidate.series.size());
  if (count < 2) return;
  candidate.pair_mean_ns = std::accumulate(candidate.series.begin(), candidate.series.end(), 0.0) / count;
  double squares = 0;
  for (const double excess : candidate.series) {
    squares += (excess - candidate.pair_mean_ns) * (excess - candidate.pair_mean_ns);
  }
  candidate.pair_deviation_ns = std::sqrt(squares / (count - 1));
}

// Takes the other one's lateness out of the parts, too. It makes parts negative; where both are late by the same part
// it only makes that part smaller, and then the part is the host's if this one stalls, and else is not known.
void PutBack(double left_out_ns, Candidate& candidate) {
  for (double& part : candidate.parts) {
    const double back = std::min(left_out_ns, std::max(0.0, -part));
    part += back;
    left_out_ns -= back;
  }
  candidate.parts[static_cast<size_t>(Stalls(candidate) ? LatenessPart::kHost : LatenessPart::kRest)] += left_out_ns;
}

}  // namespace

void LeaveOutTheOther(Candidate& candidate) {
  constexpr double kNoiseWidths = 2;
  SetPairMean(candidate);
  candidate.least_noise_ns = DeviationOfMost(candidate.series);
  const double earliest = -kNoiseWidths * candidate.least_noise_ns;
  double left_out = 0;
  for (double& excess : candidate.series) {
    left_out += std::max(0.0, earliest - excess);
    excess = std::max(excess, earliest);
  }
  if (!candidate.series.empty()) PutBack(left_out / static_cast<double>(candidate.series.size()), candidate);
}

}  // namespace lockstep
