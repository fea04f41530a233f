#include "analysis/compare/host_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/stats/order_statistic.h"

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
    change.caused_wait_change_ns_per_step = CausedWaitChange(ranks);
  }
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const auto& a, const auto& b) { return a.against_others_ratio > b.against_others_ratio; });
  return hosts;
}

}  // namespace lockstep::compare
