#include "analysis/compare/statistics/false_discovery.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lockstep::compare {

std::vector<bool> FoundAmong(std::span<const double> p_values, double q) {
  std::vector<double> sorted(p_values.begin(), p_values.end());
  for (double& p : sorted) p = std::isnan(p) ? 1 : p;
  std::sort(sorted.begin(), sorted.end());
  double limit = -1;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double allowed = q * static_cast<double>(i + 1) / static_cast<double>(sorted.size());
    if (sorted[i] <= allowed) limit = sorted[i];
  }
  std::vector<bool> found;
  found.reserve(p_values.size());
  for (const double p : p_values) found.push_back(!std::isnan(p) && p <= limit);
  return found;
}

}  // namespace lockstep::compare
