#include "analysis/compare/host_changes.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace lockstep::compare {
namespace {

// Two ranks on each host, whose computing changed by so much.
report::RankPairing PairsOnHosts(const std::vector<double>& change_of_host) {
  report::RankPairing pairing;
  for (size_t host = 0; host < change_of_host.size(); ++host) {
    for (int place = 0; place < 2; ++place) {
      report::RankChange& rank = pairing.ranks.emplace_back();
      rank.base.host = rank.fresh.host = "node" + std::to_string(host);
      rank.base.compute_ns_per_step = 1e6;
      rank.fresh.compute_ns_per_step = 1e6 * (1 + change_of_host[host]);
      rank.compute_change_ratio = change_of_host[host];
    }
  }
  return pairing;
}

TEST(HostChanges, OneHostInTwentyStandsOutByChance) {
  std::mt19937 random(20261128);
  double hosts = 0;
  double standing_out = 0;
  for (int draw = 0; draw < 500; ++draw) {
    std::vector<double> changes(std::uniform_int_distribution<size_t>(6, 16)(random));
    std::normal_distribution<double> change(0.1, 0.01);
    for (double& of_host : changes) of_host = change(random);
    for (const report::HostChange& it : HostChangesOf(PairsOnHosts(changes))) {
      const auto [low, high] = it.against_others_interval.value();
      ++hosts;
      if (low > 0 || high < 0) ++standing_out;
    }
  }
  EXPECT_GT(standing_out / hosts, 0.04);
  EXPECT_LT(standing_out / hosts, 0.075);
}

TEST(HostChanges, AHostThatBecameMuchWorseStandsOut) {
  std::mt19937 random(7);
  std::normal_distribution<double> change(0, 0.005);
  for (int draw = 0; draw < 50; ++draw) {
    std::vector<double> changes(8);
    for (double& of_host : changes) of_host = change(random);
    changes[3] = 0.1;
    const report::HostChange worst = HostChangesOf(PairsOnHosts(changes)).front();
    EXPECT_EQ(worst.host, "node3");
    EXPECT_GT(worst.against_others_interval.value().first, 0.05);
  }
}

TEST(HostChanges, FiveHostsAreTooFewToKnowHowMuchTheyDiffer) {
  for (const report::HostChange& it : HostChangesOf(PairsOnHosts({0, 0.01, 0.02, 0.03, 0.04}))) {
    EXPECT_TRUE(it.against_others_ratio.has_value());
    EXPECT_EQ(it.against_others_interval, std::nullopt);
  }
}

}  // namespace
}  // namespace lockstep::compare
