// Uneven exchanges in which a member had nothing for another one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

constexpr int32_t kExpertRanks = 8;
constexpr int32_t kLate = 5;
constexpr int32_t kWithout = 2;  // gets nothing from the late one
constexpr int64_t kDelayNs = 3'000 * kUs;

struct Exchanges {
  int32_t count = 600;
  std::set<int32_t> sparse = {20, 21, 500};  // the late rank is late there, and has nothing for one
  int32_t damaged = -1;                      // the late rank's record lies this much off there
  int64_t damage_ns = 400 * kUs;
  bool told = true;  // the members, and that it is an all-to-allv; else kernels that send and receive
};

int64_t Jitter(int32_t rank, int32_t n) { return (rank * 37 + n * 11 + rank * n * 5) % 29 * 200; }

MatchedRun MatchedOf(const Exchanges& shape) {
  RunBuilder builder;
  std::vector<int32_t> members;
  for (int32_t r = 0; r < kExpertRanks; ++r) members.push_back(r);
  std::vector<uint32_t> group;
  for (int32_t r = 0; r < kExpertRanks; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(kExpertRanks);
    group.push_back(shape.told ? source.Group("experts", members) : source.UnknownGroup());
  }
  int64_t now = 1'000'000'000;
  for (int32_t n = 0; n < shape.count; ++n) {
    const bool sparse = shape.sparse.contains(n);
    const int64_t last_ns = now + (sparse ? kDelayNs : 0) + 6 * kUs;
    for (int32_t r = 0; r < kExpertRanks; ++r) {
      const bool without = sparse && r == kWithout;
      int64_t start = now + Jitter(r, n) + (sparse && r == kLate ? kDelayNs : 0);
      const int64_t end = (without ? now + 6 * kUs : last_ns) + (60 + 3 * r) * kUs;
      const int64_t length = end - start;
      if (n == shape.damaged && r == kLate) start += shape.damage_ns;
      builder.Source(static_cast<size_t>(r))
          .Collective(group[static_cast<size_t>(r)], shape.told ? CollectiveOp::kAllToAllV : CollectiveOp::kSendRecv,
                      start, length);
    }
    now = last_ns + 500 * kUs;
  }
  return Match(builder);
}

void ExpectWhole(const Exchanges& shape) {
  const MatchedRun run = MatchedOf(shape);
  ASSERT_EQ(run.match.instances.size(), static_cast<size_t>(shape.count));
  for (const MatchedInstance& i : run.match.instances) {
    EXPECT_EQ(i.members.size(), static_cast<size_t>(kExpertRanks)) << i.index;
    EXPECT_TRUE(i.usable()) << i.index;
    EXPECT_EQ(i.all_pairs, !shape.sparse.contains(static_cast<int32_t>(i.index))) << i.index;
  }
}

TEST(SparseExchange, IsJoinedWholeThoughAMemberEndsBeforeAnotherStarts) { ExpectWhole({}); }

TEST(SparseExchange, IsJoinedWholeAtTheEdgesOfACapture) { ExpectWhole({.sparse = {0, 300, 599}}); }

TEST(SparseExchange, IsJoinedWholeByNamesAlone) { ExpectWhole({.sparse = {0, 20, 21, 500}, .told = false}); }

TEST(SparseExchange, MembersWaitForWhomTheyMayHaveWaitedForAlone) {
  const Exchanges shape;
  const MatchedRun run = MatchedOf(shape);
  for (const int32_t n : shape.sparse) {
    for (const MatchedMember& m : run.match.instances.at(static_cast<size_t>(n)).members) {
      if (m.rank_index == kLate) continue;
      EXPECT_EQ(m.awaits == kLate, m.rank_index != kWithout) << "rank " << m.rank_index << " of instance " << n;
      EXPECT_EQ(m.wait_ns > kDelayNs / 2, m.rank_index != kWithout);
    }
  }
}

TEST(SparseExchange, SomeDoNotUnbindTheOthers) {
  Exchanges shape;
  for (int32_t n = 5; n < shape.count; n += 20) shape.sparse.insert(n);
  const MatchedRun run = MatchedOf(shape);
  for (const MatchedInstance& i : run.match.instances) {
    EXPECT_TRUE(i.usable()) << i.index;
    EXPECT_EQ(i.all_pairs, !shape.sparse.contains(static_cast<int32_t>(i.index))) << i.index;
  }
}

TEST(SparseExchange, DamagedTimesAreNotTakenForOne) {
  for (const int64_t damage_ns : {400 * kUs, -400 * kUs}) {
    Exchanges shape;
    shape.sparse.clear();
    shape.damaged = 50;
    shape.damage_ns = damage_ns;
    const MatchedRun run = MatchedOf(shape);
    const auto count = [&](bool all_pairs) {
      return std::count_if(run.match.instances.begin(), run.match.instances.end(), [&](const MatchedInstance& i) {
        return i.members.size() == static_cast<size_t>(kExpertRanks) && i.usable() && i.all_pairs == all_pairs;
      });
    };
    EXPECT_EQ(count(true), shape.count - 1) << damage_ns;
    EXPECT_EQ(count(false), 0) << damage_ns;
  }
}

}  // namespace
}  // namespace lockstep
