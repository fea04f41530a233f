#include "analysis/metrics/stragglers/complete_units.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kNotTold = std::numeric_limits<double>::quiet_NaN();

// Units of a rank that lack something, unless half of them or more do: then they tell as much as the others.
template <typename Lacks>
std::vector<size_t> SeldomLacking(const RankOwnTime& rank, const Lacks& lacks) {
  std::vector<size_t> lacking;
  for (size_t unit = 0; unit < rank.own_ns.size(); ++unit) {
    if (lacks(unit)) lacking.push_back(unit);
  }
  if (2 * static_cast<int64_t>(lacking.size()) >= rank.units) lacking.clear();
  return lacking;
}

}  // namespace

int64_t UsualCount(const std::vector<int64_t>& counts) {
  std::vector<int64_t> seen;
  std::copy_if(counts.begin(), counts.end(), std::back_inserter(seen), [](int64_t count) { return count > 0; });
  return UpperMedian(std::move(seen));
}

void CompleteUnits(const std::vector<int64_t>& counts, const UsualInstances& usual, bool are_steps, RankOwnTime& rank) {
  const int64_t own_usual = UsualCount(counts);
  double seen = 0;
  double expected = 0;
  for (size_t unit = 0; unit < counts.size(); ++unit) {
    if (counts[unit] == 0 || 2 * counts[unit] < own_usual) {
      rank.own_ns[unit] = rank.excess_ns[unit] = rank.lone_host_ns[unit] = kNotTold;
      continue;
    }
    ++rank.units;
    const int64_t whole = are_steps ? usual.in_unit[unit] : usual.count;
    rank.own_ns[unit] *= static_cast<double>(whole) / static_cast<double>(counts[unit]);
    seen += static_cast<double>(counts[unit]);
    expected += static_cast<double>(whole);
  }
  for (double& part : rank.own_parts) part *= seen > 0 ? expected / seen : 1;
}

void DropIncompleteSteps(const std::vector<int64_t>& counts, const std::vector<int64_t>& whole, RankOwnTime& rank) {
  const auto lacks = [&](size_t unit) { return counts[unit] < whole[unit] && !std::isnan(rank.own_ns[unit]); };
  for (const size_t unit : SeldomLacking(rank, lacks)) rank.own_ns[unit] = kNotTold;
}

void DropUnitsThatLackPlaces(const std::vector<int64_t>& compared, RankOwnTime& rank) {
  const int64_t usual = UsualCount(compared);
  const auto lacks = [&](size_t unit) { return compared[unit] > 0 && compared[unit] != usual; };
  for (const size_t unit : SeldomLacking(rank, lacks)) {
    if (std::isnan(rank.own_ns[unit])) continue;
    rank.own_ns[unit] = rank.excess_ns[unit] = rank.lone_host_ns[unit] = kNotTold;
    --rank.units;
  }
}

}  // namespace lockstep
