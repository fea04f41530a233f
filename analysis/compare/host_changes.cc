#include "analysis/compare/host_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/student_t.h"

namespace lockstep::compare {
namespace {

double MedianComputeChange(const std::vector<const report::RankChange*>& ranks) {
  std::vector<double> changes;
  for (const report::RankChange* const rank : ranks) changes.push_back(rank->compute_change_ratio);
  return Median(std::move(changes));
}

std::vector<std::string> HostsBefore(const std::vector<const report::RankChange*>& ranks) {
  std::vector<std::string> hosts;
  for (const report::RankChange* const rank : ranks) {
    if (rank->base.host) hosts.push_back(*rank->base.host);
  }
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

using RanksOfHosts = std::map<std::string, std::vector<const report::RankChange*>>;

double MedianOfOthers(const RanksOfHosts& by_host, const std::string& host) {
  std::vector<const report::RankChange*> others;
  for (const auto& [other, ranks] : by_host) {
    if (other != host) others.insert(others.end(), ranks.begin(), ranks.end());
  }
  return MedianComputeChange(others);
}

// Logarithms of the changes of single hosts scatter as Student's t does: where the next one of their kind lies,
// two-sided at 95 %. Half the width of the interval; null below six hosts.
std::optional<double> HalfWidth(const std::vector<double>& of_others) {
  constexpr size_t kLeastOthers = 5;
  constexpr double kQuantile = 0.975;
  if (of_others.size() < kLeastOthers) return std::nullopt;
  const auto count = static_cast<double>(of_others.size());
  const double mean = std::accumulate(of_others.begin(), of_others.end(), 0.0) / count;
  double squares = 0;
  for (const double change : of_others) squares += (change - mean) * (change - mean);
  return QuantileOfT(kQuantile, count - 1) * std::sqrt(squares / (count - 1) * (1 + 1 / count));
}

report::OptionalRange AgainstOthersInterval(const RanksOfHosts& by_host, const report::HostChange& change) {
  std::vector<double> of_others;
  for (const auto& [host, ranks] : by_host) {
    if (host != change.host) of_others.push_back(std::log1p(MedianComputeChange(ranks)));
  }
  const std::optional<double> half = HalfWidth(of_others);
  if (!half || !change.against_others_ratio) return std::nullopt;
  const double middle = std::log1p(*change.against_others_ratio);
  return std::pair(std::expm1(middle - *half), std::expm1(middle + *half));
}

std::optional<double> CausedWaitChange(const std::vector<const report::RankChange*>& ranks) {
  double sum = 0;
  for (const report::RankChange* const rank : ranks) {
    if (!rank->caused_wait_change_ns_per_step) return std::nullopt;
    sum += *rank->caused_wait_change_ns_per_step;
  }
  return sum;
}

}  // namespace

std::vector<report::HostChange> HostChangesOf(const report::RankPairing& pairing) {
  RanksOfHosts by_host;
  for (const report::RankChange& rank : pairing.ranks) {
    const bool has_ratio = rank.base.compute_ns_per_step > 0 && rank.fresh.compute_ns_per_step > 0;
    if (has_ratio && rank.fresh.host) by_host[*rank.fresh.host].push_back(&rank);
  }
  std::vector<report::HostChange> hosts;
  for (const auto& [host, ranks] : by_host) {
    report::HostChange& change = hosts.emplace_back();
    change.host = host;
    change.base_hosts = HostsBefore(ranks);
    change.ranks = ranks.size();
    change.compute_change_ratio = MedianComputeChange(ranks);
    if (by_host.size() > 1) {
      change.against_others_ratio = (1 + change.compute_change_ratio) / (1 + MedianOfOthers(by_host, host)) - 1;
    }
    change.against_others_interval = AgainstOthersInterval(by_host, change);
    change.caused_wait_change_ns_per_step = CausedWaitChange(ranks);
  }
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const auto& a, const auto& b) { return a.against_others_ratio > b.against_others_ratio; });
  return hosts;
}

}  // namespace lockstep::compare
