#include "analysis/metrics/in_domain_clock.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace lockstep {
namespace {

using RankPair = std::pair<int32_t, int32_t>;  // rank indices, ascending

struct PairUncertainty {
  RankPair pair;
  int64_t uncertainty_ns = 0;
  int64_t instances = 0;
};

// The order statistic of rank ceil(0.95 n).
int64_t Percentile95(std::vector<int64_t>& values) {
  const size_t rank = (values.size() * 95 + 99) / 100;
  const auto at = values.begin() + static_cast<int64_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

using EndDistances = std::map<RankPair, std::vector<int64_t>>;

void Collect(const MatchedInstance& instance, const std::vector<int32_t>& domain, int32_t wanted, EndDistances& out) {
  for (size_t a = 0; a < instance.members.size(); ++a) {
    const MatchedMember& x = instance.members[a];
    if (domain[static_cast<size_t>(x.rank_index)] != wanted) continue;
    for (size_t b = a + 1; b < instance.members.size(); ++b) {
      const MatchedMember& y = instance.members[b];
      if (domain[static_cast<size_t>(y.rank_index)] != wanted) continue;
      out[{x.rank_index, y.rank_index}].push_back(std::abs(x.end_ns - y.end_ns));
    }
  }
}

std::vector<PairUncertainty> MeasureDomain(const std::vector<const MatchedInstance*>& instances,
                                           const std::vector<int32_t>& domain, int32_t wanted,
                                           const std::vector<RankRows>& rows) {
  EndDistances distances;
  for (const MatchedInstance* instance : instances) Collect(*instance, domain, wanted, distances);
  std::vector<PairUncertainty> out;
  for (auto& [pair, values] : distances) {
    const int64_t tick =
        std::max(rows[static_cast<size_t>(pair.first)].tick_ns, rows[static_cast<size_t>(pair.second)].tick_ns);
    const auto count = static_cast<int64_t>(values.size());
    out.push_back({pair, std::max(2 * tick, Percentile95(values)), count});
  }
  return out;
}

}  // namespace

ClockModel MeasureClocks(const std::vector<const MatchedInstance*>& instances, const std::vector<int32_t>& domain,
                         const std::vector<RankRows>& rows, Executor& executor) {
  ClockModel clock;
  int32_t domains = 0;
  for (size_t r = 0; r < domain.size(); ++r) {
    clock.SetDomain(static_cast<int32_t>(r), DomainId{domain[r]});
    domains = std::max(domains, domain[r] + 1);
  }
  std::vector<std::vector<PairUncertainty>> measured(static_cast<size_t>(domains));
  executor.ParallelFor(measured.size(), [&](size_t d) {
    measured[d] = MeasureDomain(instances, domain, static_cast<int32_t>(d), rows);
  });
  for (const auto& pairs : measured) {
    for (const PairUncertainty& p : pairs) clock.SetPair(p.pair.first, p.pair.second, p.uncertainty_ns, p.instances);
  }
  return clock;
}

}  // namespace lockstep
