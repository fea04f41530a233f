#include "analysis/metrics/match/run_matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "analysis/metrics/match/communicators.h"
#include "analysis/metrics/skew/skew.h"
#include "analysis/model/instance_row.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"
#include "tests/unit/analysis/metrics/random_run.h"

namespace lockstep {
namespace {

using testing::Each;
using testing::SizeIs;

// (rank, start) of every member of every matched instance: which rows were joined.
using Joins = std::set<std::vector<std::pair<int32_t, int64_t>>>;

Joins JoinsOf(const MatchedRun& run) {
  Joins out;
  for (const MatchedInstance& instance : run.match.instances) {
    if (!instance.matched()) continue;
    std::vector<std::pair<int32_t, int64_t>> members;
    for (const MatchedMember& m : instance.members) {
      members.emplace_back(run.ranks.ranks[static_cast<size_t>(m.rank_index)].rank, m.start_ns + m.correction_ns);
    }
    out.insert(members);
  }
  return out;
}

Joins TrueJoins(const RandomRun& run) {
  Joins out;
  for (const TrueInstance& instance : run.truth()) {
    std::vector<std::pair<int32_t, int64_t>> members;
    for (const TrueMember& m : instance.members) members.emplace_back(m.rank, m.start_ns);
    out.insert(members);
  }
  return out;
}

RunShape ShapeOfTwoHosts() {
  RunShape shape;
  shape.ranks = 8;
  shape.groups = {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 4}, {1, 5}, {0, 1, 2, 3, 4, 5, 6, 7}};
  return shape;
}

class EveryForm : public testing::TestWithParam<std::tuple<TraceForm, bool, unsigned>> {};

TEST_P(EveryForm, JoinsExactlyWhatBelongsTogether) {
  const auto& [form, ids, seed] = GetParam();
  RunShape shape = ShapeOfTwoHosts();
  shape.ids = ids;
  shape.host_offset_ns = 7'000'000;
  const RandomRun truth(shape, seed);
  RunBuilder builder;
  truth.Tell(builder, form);
  const MatchedRun run = Match(builder);
  EXPECT_EQ(JoinsOf(run), TrueJoins(truth));
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.kind, ids && form != TraceForm::kMixed ? MatchKind::kId : instance.kind);
    EXPECT_GE(instance.confidence, 0.99);
    EXPECT_TRUE(instance.complete);
  }
}

TEST_P(EveryForm, InstancesAreComparableWhereTheirClocksAreConnected) {
  const auto& [form, ids, seed] = GetParam();
  RunShape shape = ShapeOfTwoHosts();
  shape.ids = ids;
  const RandomRun truth(shape, seed);
  RunBuilder builder;
  truth.Tell(builder, form);
  const MatchedRun run = Match(builder);
  for (const MatchedInstance& instance : run.match.instances) {
    const int32_t component = run.match.clock.ComponentOf(instance.members.front().rank_index);
    const bool one = std::all_of(instance.members.begin(), instance.members.end(), [&](const MatchedMember& m) {
      return run.match.clock.ComponentOf(m.rank_index) == component;
    });
    EXPECT_EQ(instance.comparable, one);
    EXPECT_FALSE(!one && (instance.resolvable || instance.last_certain || instance.usable()));
  }
}

INSTANTIATE_TEST_SUITE_P(Match, EveryForm,
                         testing::Combine(testing::Values(TraceForm::kMembers, TraceForm::kHash, TraceForm::kMixed),
                                          testing::Bool(), testing::Values(1U, 2U, 3U)));

TEST(Match, CommunicatorIdsAreEqualInAllForms) {
  const RandomRun truth(ShapeOfTwoHosts(), 5);
  std::set<std::vector<std::string>> seen;
  for (const TraceForm form : {TraceForm::kMembers, TraceForm::kHash, TraceForm::kMixed}) {
    RunBuilder builder;
    truth.Tell(builder, form);
    const MatchedRun run = Match(builder);
    std::vector<std::string> ids;
    for (const Communicator& c : run.match.communicators) ids.push_back(c.id);
    seen.insert(ids);
  }
  EXPECT_THAT(seen, SizeIs(1));
  EXPECT_THAT(*seen.begin(), testing::Contains(CommunicatorId({0, 1, 2, 3}, "")));
}

TEST(Match, EqualMembersAreKeptApartAlikeInAllForms) {
  RunShape shape;
  shape.groups = {{0, 1, 2, 3}, {0, 1, 2, 3}};
  const RandomRun truth(shape, 5);
  std::set<std::vector<std::string>> seen;
  for (const TraceForm form : {TraceForm::kMembers, TraceForm::kHash}) {
    RunBuilder builder;
    truth.Tell(builder, form);
    const MatchedRun run = Match(builder);
    EXPECT_EQ(JoinsOf(run), TrueJoins(truth));
    std::vector<std::string> ids;
    for (const MatchedInstance& i : run.match.instances) ids.push_back(run.match.communicators[i.communicator].id);
    seen.insert(ids);
  }
  EXPECT_THAT(seen, SizeIs(1));
  EXPECT_THAT(*seen.begin(), testing::Contains(CommunicatorId({0, 1, 2, 3}, "2")));
}

TEST(Match, ARankThatStartsLaterIsJoinedAtTheRightInstance) {
  RunShape shape;
  shape.groups = {{0, 1, 2, 3}};
  const RandomRun truth(shape, 9);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMembers, 2, 3);
  const MatchedRun run = Match(builder);
  int64_t incomplete = 0;
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.kind, MatchKind::kOrder);
    incomplete += instance.complete ? 0 : 1;
    int64_t last_start = 0;
    int64_t first_end = INT64_MAX;
    for (const MatchedMember& m : instance.members) {
      last_start = std::max(last_start, m.start_ns);
      first_end = std::min(first_end, m.end_ns);
    }
    EXPECT_LE(last_start, first_end);
  }
  EXPECT_EQ(incomplete, 3);
}

TEST(Match, EqualCountsShiftedByOneAreNotJoinedAsTheyStand) {
  RunShape shape;
  shape.groups = {{0, 1}};
  shape.ranks = 2;
  const RandomRun truth(shape, 11);
  RunBuilder builder;
  auto& a = builder.AddRank(0).World(2);
  auto& b = builder.AddRank(1).World(2);
  a.Group("0", {0, 1});
  b.Group("0", {0, 1});
  for (size_t i = 0; i < truth.truth().size(); ++i) {
    const auto& members = truth.truth()[i].members;
    if (i > 0) a.Collective(0, CollectiveOp::kAllReduce, members[0].start_ns, members[0].end_ns - members[0].start_ns);
    if (i + 1 < truth.truth().size()) {
      b.Collective(0, CollectiveOp::kAllReduce, members[1].start_ns, members[1].end_ns - members[1].start_ns);
    }
  }
  Joins expected = TrueJoins(truth);
  std::erase_if(expected, [&](const auto& members) {
    return members[0].second == truth.truth().front().members[0].start_ns ||
           members[0].second == truth.truth().back().members[0].start_ns;
  });
  EXPECT_EQ(JoinsOf(Match(builder)), expected);
}

TEST(Match, AcrossClocksARepetitiveSequenceWithoutStepsIsAmbiguous) {
  RunBuilder builder;
  for (int32_t r = 0; r < 2; ++r) {
    auto& source = builder.AddRank(r).World(2).Host("host" + std::to_string(r));
    source.Group("0", {0, 1});
    for (int64_t i = 0; i < 50; ++i) source.Collective(0, CollectiveOp::kAllReduce, i * 100 * kUs, 20 * kUs);
  }
  const MatchedRun run = Match(builder);
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.kind, MatchKind::kAmbiguous);
    EXPECT_LT(instance.confidence, 0.99);
  }
  EXPECT_EQ(run.match.drops.Of(DropReason::kAmbiguousInstance), 100);
}

TEST(Match, AThinnedPairOfRanksIsNeverAConfidentSkew) {
  RunShape shape;
  shape.ranks = 2;
  shape.groups = {{0, 1}};
  shape.steps = 20;
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
    const RandomRun truth(shape, seed);
    std::mt19937 random(seed);
    RunBuilder builder;
    for (int32_t r = 0; r < 2; ++r) builder.AddRank(r).UnknownGroup();
    RunBuilder thinned;
    std::vector<SourceBuilder*> sources = {&thinned.AddRank(0), &thinned.AddRank(1)};
    for (SourceBuilder* source : sources) source->UnknownGroup();
    for (const TrueInstance& instance : truth.truth()) {
      for (const TrueMember& m : instance.members) {
        if (random() % 2 == 0) continue;
        sources[static_cast<size_t>(m.rank)]->Collective(0, CollectiveOp::kSendRecv, m.start_ns, m.end_ns - m.start_ns);
      }
    }
    const MatchedRun run = Match(thinned);
    for (const MatchedInstance& instance : run.match.instances) EXPECT_FALSE(instance.usable());
  }
}

TEST(Match, TwoRanksOfALargerWorldWithoutGroupsAreAmbiguous) {
  RunShape shape;
  shape.ranks = 2;
  shape.groups = {{0, 1}};
  const RandomRun truth(shape, 3);
  RunBuilder builder;
  std::vector<SourceBuilder*> sources = {&builder.AddRank(0).World(128), &builder.AddRank(1).World(128)};
  for (SourceBuilder* source : sources) source->UnknownGroup();
  for (const TrueInstance& instance : truth.truth()) {
    for (const TrueMember& m : instance.members) {
      sources[static_cast<size_t>(m.rank)]->Collective(0, CollectiveOp::kSendRecv, m.start_ns, m.end_ns - m.start_ns);
    }
  }
  const MatchedRun run = Match(builder);
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.kind, MatchKind::kAmbiguous);
    EXPECT_FALSE(instance.matched());
  }
  EXPECT_EQ(run.match.drops.Of(DropReason::kNoGroup), 40);
}

TEST(Match, TwoRanksOfAnUnknownWorldAreInferredToTalkToEachOther) {
  RunShape shape;
  shape.ranks = 2;
  shape.groups = {{0, 1}};
  const RandomRun truth(shape, 3);
  RunBuilder builder;
  std::vector<SourceBuilder*> sources = {&builder.AddRank(0), &builder.AddRank(1)};
  for (SourceBuilder* source : sources) source->UnknownGroup();
  for (const TrueInstance& instance : truth.truth()) {
    for (const TrueMember& m : instance.members) {
      sources[static_cast<size_t>(m.rank)]->Collective(0, CollectiveOp::kSendRecv, m.start_ns, m.end_ns - m.start_ns);
    }
  }
  const MatchedRun run = Match(builder);
  EXPECT_EQ(JoinsOf(run), TrueJoins(truth));
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.kind, MatchKind::kInferred);
    EXPECT_GE(instance.transfer_ns, 0) << "certified as all-pairs by its common points";
  }
}

TEST(Match, TwoGroupsInLockstepWithoutNamesAreNotTakenForTheWorld) {
  RunShape shape;
  shape.groups = {{0, 1}, {2, 3}};
  const RandomRun truth(shape, 4);
  RunBuilder builder;
  std::vector<SourceBuilder*> sources;
  for (int32_t r = 0; r < 4; ++r) {
    sources.push_back(&builder.AddRank(r).World(4));
    sources.back()->UnknownGroup();
  }
  for (const TrueInstance& instance : truth.truth()) {
    for (const TrueMember& m : instance.members) {
      sources[static_cast<size_t>(m.rank)]->Collective(0, instance.op, m.start_ns, m.end_ns - m.start_ns);
    }
  }
  EXPECT_EQ(JoinsOf(Match(builder)), TrueJoins(truth)) << "each group by itself";
}

TEST(Match, ConflictingDataTypesUnderOneIdDemoteTheCommunicatorToOrder) {
  RunShape shape;
  shape.groups = {{0, 1, 2, 3}};
  shape.ids = true;
  const RandomRun truth(shape, 6);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMembers);
  BuiltRun built = builder.Build();
  for (size_t s = 0; s < built.run.sources.size(); ++s) {
    if (built.run.sources[s].context.device == 1) built.instances.rows()[s][3].dtype = DataType::kInt8;
  }
  const RankResolution ranks = ResolveRanks(built.run, {});
  InlineExecutor executor;
  const auto match = MatchRun(built.run, built.instances, ranks, executor);
  ASSERT_TRUE(match.ok());
  for (const MatchedInstance& instance : match->instances) EXPECT_EQ(instance.kind, MatchKind::kOrder);
}

TEST(Match, IdsThatJoinKernelsWithoutACommonPointAreNotBelieved) {
  RunShape shape;
  shape.groups = {{0, 1, 2, 3}};
  shape.ids = true;
  const RandomRun truth(shape, 6);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMembers);
  BuiltRun built = builder.Build();
  for (size_t s = 0; s < built.run.sources.size(); ++s) {
    if (built.run.sources[s].context.device != 1) continue;
    for (InstanceRow& row : built.instances.rows()[s]) row.comms_id = row.seq += 1;
  }
  const RankResolution ranks = ResolveRanks(built.run, {});
  InlineExecutor executor;
  MatchedRun run{std::move(built), ranks, {}};
  run.match = *MatchRun(run.built.run, run.built.instances, ranks, executor);
  EXPECT_EQ(JoinsOf(run), TrueJoins(truth)) << "order finds what the ids hide";
}

TEST(Match, TwoMachinesOfOneNameAreSplitAndReported) {
  RunShape shape = ShapeOfTwoHosts();
  shape.host_offset_ns = 3'000'000;
  const RandomRun truth(shape, 8);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMembers);
  BuiltRun built = builder.Build();
  for (SourceData& source : built.run.sources) source.context.host = "localhost";
  const RankResolution ranks = ResolveRanks(built.run, {});
  EXPECT_EQ(ranks.ranks[0].domain, ranks.ranks[7].domain);
  InlineExecutor executor;
  const auto match = MatchRun(built.run, built.instances, ranks, executor);
  ASSERT_TRUE(match.ok());
  EXPECT_TRUE(match->host_conflict);
  for (int32_t r = 1; r < 8; ++r) {
    EXPECT_EQ(match->clock.DomainOf(r) == match->clock.DomainOf(0), r < 4) << r;
    EXPECT_EQ(match->clock.DomainOf(r) == match->clock.DomainOf(7), r >= 4) << r;
  }
}

TEST(Match, UnknownHostsOnDifferentClocksAreDomainsOfTheirOwn) {
  RunShape shape = ShapeOfTwoHosts();
  shape.host_offset_ns = 3'000'000;
  const RandomRun truth(shape, 8);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMembers);
  BuiltRun built = builder.Build();
  for (SourceData& source : built.run.sources) source.context.host.clear();
  const RankResolution ranks = ResolveRanks(built.run, {});
  InlineExecutor executor;
  const auto match = MatchRun(built.run, built.instances, ranks, executor);
  ASSERT_TRUE(match.ok());
  EXPECT_FALSE(match->host_conflict);
  for (int32_t r = 0; r < 8; ++r) {
    EXPECT_EQ(match->clock.DomainOf(r).value, r);
    EXPECT_EQ(match->host_sources[static_cast<size_t>(r)], HostSource::kUnknown);
  }
}

TEST(Match, ABroadcastIsWaitedForAtItsRootOnly) {
  RunBuilder builder;
  for (int32_t r = 0; r < 3; ++r) {
    auto& source = builder.AddRank(r).World(3);
    source.Group("0", {0, 1, 2});
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t base = i * i * 1'000 * kUs;
      const int64_t start = base + (r == 1 ? 60 : r * 50) * kUs;  // the root comes at 60, rank 2 at 100
      InstanceRow& row = source.Collective(0, CollectiveOp::kBroadcast, start, base + 120 * kUs - start);
      row.root = 1;
      row.has_comms_id = true;
      row.comms_id = static_cast<uint64_t>(i + 1);
    }
  }
  const MatchedRun run = Match(builder);
  ASSERT_THAT(run.match.instances, SizeIs(10));
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.members[0].wait_ns, 60 * kUs);
    EXPECT_EQ(instance.members[1].wait_ns, 0);
    EXPECT_EQ(instance.members[2].wait_ns, 0);
    EXPECT_EQ(instance.transfer_ns, -1);
  }
}

TEST(Match, OperationsCoalescedUnderOneIdKeepTheirOrder) {
  RunBuilder builder;
  for (int32_t r = 0; r < 2; ++r) {
    auto& source = builder.AddRank(r).World(2);
    source.Group("0", {0, 1});
    for (int64_t i = 0; i < 10; ++i) {
      InstanceRow& row = source.Collective(0, CollectiveOp::kAllReduce, i * 100 * kUs + r * kUs, 20 * kUs);
      row.has_comms_id = true;
      row.comms_id = static_cast<uint64_t>(1 + i / 2);
    }
  }
  const MatchedRun run = Match(builder);
  ASSERT_THAT(run.match.instances, SizeIs(10));
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.kind, MatchKind::kId);
    EXPECT_EQ(instance.spread_ns, 1 * kUs);
  }
}

TEST(Match, ASingleRankKeepsItsInstancesUnmatched) {
  RunBuilder builder;
  auto& source = builder.AddRank(0).World(2);
  source.Group("0", {0, 1});
  for (int64_t i = 0; i < 21; ++i) source.Collective(0, CollectiveOp::kAllReduce, i * 100 * kUs, 20 * kUs);
  const MatchedRun run = Match(builder);
  ASSERT_THAT(run.match.instances, SizeIs(21));
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_EQ(instance.kind, MatchKind::kNone);
    EXPECT_FALSE(instance.complete);
  }
  EXPECT_THAT(run.match.communicators.at(0).members, testing::ElementsAre(0, 1));
}

// Every word of every instance against a naive computation from the truth.
TEST(Match, TheWordsOfEveryInstanceFollowTheDefinitions) {
  RunShape shape;
  shape.groups = {{0, 1, 2, 3}, {0, 2}};
  shape.max_late_ns = 3'000;  // around the uncertainty, so that it matters
  const RandomRun truth(shape, 21);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMembers);
  const MatchedRun run = Match(builder);
  std::map<std::pair<int32_t, int64_t>, const TrueInstance*> by_member;
  for (const TrueInstance& t : truth.truth()) {
    for (const TrueMember& m : t.members) by_member[{m.rank, m.start_ns}] = &t;
  }
  int64_t certain = 0;
  for (const MatchedInstance& i : run.match.instances) {
    const TrueInstance& t = *by_member.at({i.members[0].rank_index, i.members[0].start_ns});
    std::vector<std::pair<int64_t, int32_t>> starts;  // latest first, then lowest rank
    std::vector<int64_t> ends;
    for (const TrueMember& m : t.members) {
      starts.emplace_back(-m.start_ns, m.rank);
      ends.push_back(m.end_ns);
    }
    std::sort(starts.begin(), starts.end());
    const int64_t last = -starts[0].first;
    const int64_t first_end = *std::min_element(ends.begin(), ends.end());
    EXPECT_EQ(i.spread_ns, last + starts.back().first);
    EXPECT_EQ(i.solo_damage_ns, last + starts[1].first);
    EXPECT_EQ(i.end_spread_ns, *std::max_element(ends.begin(), ends.end()) - first_end);
    EXPECT_EQ(i.transfer_ns, std::max<int64_t>(0, first_end - last));
    EXPECT_EQ(i.last_rank_index, starts[0].second);
    EXPECT_EQ(i.step, t.step);
    bool is_certain = true;
    for (const auto& [minus_start, rank] : starts) {
      const auto u = run.match.clock.PairUncertainty(rank, starts[0].second);
      if (rank != starts[0].second) is_certain = is_certain && last + minus_start > u->ns;
    }
    EXPECT_EQ(i.last_certain, is_certain);
    certain += is_certain ? 1 : 0;
    int64_t lateness_sum = 0;
    for (size_t m = 0; m < t.members.size(); ++m) {
      EXPECT_EQ(i.members[m].wait_ns, std::min(last, t.members[m].end_ns) - t.members[m].start_ns);
      lateness_sum += i.members[m].lateness_times_m_ns;
    }
    EXPECT_EQ(lateness_sum, 0);
  }
  EXPECT_GT(certain, 0);
  EXPECT_LT(certain, static_cast<int64_t>(run.match.instances.size()));
}

TEST(Match, IndicesCountInOrderOfTheLastArrival) {
  const RandomRun truth(ShapeOfTwoHosts(), 2);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMembers);
  const MatchedRun run = Match(builder);
  std::map<uint32_t, std::pair<int64_t, int64_t>> next;  // communicator -> (index, last arrival before)
  for (const MatchedInstance& instance : run.match.instances) {
    auto& [index, before] = next[instance.communicator];
    int64_t last = 0;
    for (const MatchedMember& m : instance.members) last = std::max(last, m.start_ns);
    EXPECT_EQ(instance.index, index++);
    EXPECT_LE(before, last);
    before = last;
  }
}

TEST(Match, NeitherTheOrderOfSourcesNorOfWorkChangesAnything) {
  const RandomRun truth(ShapeOfTwoHosts(), 2);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kMixed);
  const MatchedRun one = Match(builder, false);
  const MatchedRun other = Match(builder, true);
  BuiltRun shuffled = builder.Build();
  std::reverse(shuffled.run.sources.begin(), shuffled.run.sources.end());
  std::reverse(shuffled.instances.rows().begin(), shuffled.instances.rows().end());
  const RankResolution ranks = ResolveRanks(shuffled.run, {});
  InlineExecutor executor;
  const auto third = MatchRun(shuffled.run, shuffled.instances, ranks, executor);
  ASSERT_TRUE(third.ok());
  for (const MatchResult* match : {&other.match, &*third}) {
    ASSERT_EQ(match->instances.size(), one.match.instances.size());
    for (size_t i = 0; i < match->instances.size(); ++i) {
      const MatchedInstance& a = one.match.instances[i];
      const MatchedInstance& b = match->instances[i];
      EXPECT_EQ(
          std::tuple(a.communicator, a.index, a.kind, a.confidence, a.spread_ns, a.uncertainty_ns, a.transfer_ns),
          std::tuple(b.communicator, b.index, b.kind, b.confidence, b.spread_ns, b.uncertainty_ns, b.transfer_ns));
    }
  }
}

TEST(Match, EveryRowIsInExactlyOneInstance) {
  const RandomRun truth(ShapeOfTwoHosts(), 13);
  RunBuilder builder;
  truth.Tell(builder, TraceForm::kHash, 3, 2);
  const MatchedRun run = Match(builder);
  std::map<std::pair<int32_t, int64_t>, int> seen;
  for (const MatchedInstance& instance : run.match.instances) {
    for (const MatchedMember& m : instance.members) ++seen[{m.rank_index, m.row}];
  }
  size_t rows = 0;
  for (const SourceData& source : run.built.run.sources) rows += static_cast<size_t>(source.instance_count);
  EXPECT_EQ(seen.size(), rows);
  for (const auto& [row, times] : seen) EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace lockstep
