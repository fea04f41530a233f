// Transfers of communicators against those of equal ones.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/judge.h"

namespace lockstep {
namespace {

// Four pairs, whose transfers are short, and the two groups across these, on two hosts of four ranks. The transfers of
// the groups differ from unit to unit, those of the first one in `longer` units by much.
struct PairsAndGroups {
  static constexpr size_t kUnits = 30;

  explicit PairsAndGroups(unsigned seed, int longer = 0) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1, 0.02);
    positions.stage.assign(8, -1);
    own.resize(8);
    for (int32_t rank = 0; rank < 8; ++rank) {
      positions.host.push_back(rank / 4);
      positions.local_index.push_back(rank % 4);
    }
    units.are_steps = true;
    units.count = kUnits;
    units.unit_ns = 10'000'000;
    for (size_t unit = 0; unit < kUnits; ++unit) order.push_back(unit);
    const std::vector<std::vector<int32_t>> members = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2, 4, 6}, {1, 3, 5, 7}};
    for (uint32_t c = 0; c < members.size(); ++c) {
      const bool pair = members[c].size() == 2;
      match.communicators.push_back({"c" + std::to_string(c), "", "", members[c], 0, false});
      transfers.members.push_back(members[c]);
      transfers.instances[c] = kUnits;
      transfers.deviations_ns[c] = 0;
      std::vector<TransferSum>& sums = transfers.sums[{c, CollectiveOp::kAllReduce, pair ? 1'000 : 1'000'000}];
      for (int unit = 0; unit < static_cast<int>(kUnits); ++unit) {
        const double more = c == 4 && unit % 5 == 0 && unit / 5 < longer ? 1'000'000 : 0;
        sums.push_back({(pair ? 10'000 : 4'000'000) * noise(random) + more, 0, 1});
      }
    }
  }

  [[nodiscard]] std::map<std::string, double> PByName() const {
    const std::vector<Candidate> candidates =
        TransferCandidates({ranks, match, units, order, transfers, own, positions, late});
    const std::vector<Judgement> judgements = JudgeCandidates(candidates);
    std::map<std::string, double> p;
    for (size_t i = 0; i < candidates.size(); ++i) p[candidates[i].id] = judgements[i].p_adjusted;
    return p;
  }

  RankResolution ranks;
  RunMatch match;
  TestUnits units;
  std::vector<size_t> order;
  TransferSums transfers;
  std::vector<RankOwnTime> own;
  Positions positions;
  KnownLate late;
};

// One of two has all long transfers with a chance of 1 in 2, however many other communicators there are.
TEST(TransferCandidates, SixLongTransfersOfOneOfTwoGroupsAreChance) {
  for (unsigned seed = 1; seed <= 20; ++seed) EXPECT_GT(PairsAndGroups(seed, 6).PByName().at("c4"), 0.01) << seed;
}

TEST(TransferCandidates, EqualGroupsAreNotSlow) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    for (const auto& [name, p] : PairsAndGroups(seed).PByName()) EXPECT_GT(p, 0.01) << seed << " " << name;
  }
}

TEST(TransferCandidates, AreOfOneFamilyOnlyIfTheyCanBeCompared) {
  const PairsAndGroups drawn(1);
  std::map<std::string, size_t> family;
  for (const Candidate& it : TransferCandidates({drawn.ranks, drawn.match, drawn.units, drawn.order, drawn.transfers,
                                                 drawn.own, drawn.positions, drawn.late})) {
    family[it.id] = it.family;
  }
  EXPECT_EQ(family.at("c0"), family.at("c3"));
  EXPECT_EQ(family.at("c4"), family.at("c5"));
  EXPECT_NE(family.at("c0"), family.at("c4"));
}

}  // namespace
}  // namespace lockstep
