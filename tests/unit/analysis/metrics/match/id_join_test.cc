#include "analysis/metrics/match/join/id_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr size_t kMembers = 4;

using Ids = std::vector<std::vector<uint64_t>>;              // [member][row]
using Group = std::set<std::pair<int32_t, int64_t>>;         // rank index and row of its members
using ByKey = std::map<std::pair<uint64_t, size_t>, Group>;  // by id and how often the rank had it before

// All-reduces of one communicator that are all under way at one time, with these ids.
class Joined {
 public:
  explicit Joined(const Ids& ids) {
    plan_.ranks.resize(kMembers);
    std::iota(plan_.ranks.begin(), plan_.ranks.end(), 0);
    ranks_.ranks.resize(kMembers);
    plan_.info.size = kMembers;
    plan_.rows.resize(kMembers);
    rows_.resize(kMembers);
    std::vector<RowRef> refs;
    for (size_t m = 0; m < kMembers; ++m) {
      for (uint32_t row = 0; row < ids[m].size(); ++row) {
        CollectiveRow it;
        it.start_ns = row;
        it.end_ns = 1'000'000;
        it.op = CollectiveOp::kAllReduce;
        it.comms_id = ids[m][row];
        it.has_comms_id = true;
        rows_[m].rows.push_back(it);
        plan_.rows[m].push_back(row);
        refs.push_back({m, row});
      }
    }
    const std::vector<int32_t> domain(kMembers);
    const ClockModel clock;
    std::vector<ClockEvidence> clocks;
    join_ = JoinById({plan_, 0, ranks_, rows_, domain, clock}, refs, clocks);
  }

  // The groups in order of their places.
  [[nodiscard]] std::vector<Group> Groups() const {
    std::vector<Group> out(join_->instances.size());
    for (const JoinedInstance& joined : join_->instances) {
      for (const MatchedMember& m : joined.instance.members) out[joined.place].emplace(m.rank_index, m.row);
    }
    return out;
  }
  [[nodiscard]] bool joins() const { return join_.has_value(); }

 private:
  CommunicatorPlan plan_;
  RankResolution ranks_;
  std::vector<RankRows> rows_;
  std::optional<IdJoin> join_;
};

// One look at a time.
std::vector<Group> GroupsOf(const Ids& ids) {
  ByKey by_key;
  for (size_t m = 0; m < ids.size(); ++m) {
    for (size_t row = 0; row < ids[m].size(); ++row) {
      const auto before = std::count(ids[m].begin(), ids[m].begin() + static_cast<std::ptrdiff_t>(row), ids[m][row]);
      by_key[{ids[m][row], static_cast<size_t>(before)}].emplace(static_cast<int32_t>(m), static_cast<int64_t>(row));
    }
  }
  std::vector<Group> out;
  for (const auto& [key, group] : by_key) out.push_back(group);
  return out;
}

// Ids without an order, of so many different ones.
std::vector<uint64_t> SomeIds(std::mt19937_64& random, size_t rows, uint64_t many) {
  std::vector<uint64_t> out(rows);
  for (uint64_t& id : out) id = random() % many * 0x9e3779b97f4a7c15;
  return out;
}

TEST(IdJoin, MembersOfTheSameOrderAreJoinedAsIfOneByOne) {
  std::mt19937_64 random(1);
  for (const uint64_t many : {1'000'000UL, 40UL, 3UL}) {
    const Ids ids(kMembers, SomeIds(random, 200, many));
    const Joined joined(ids);
    ASSERT_TRUE(joined.joins());
    EXPECT_EQ(joined.Groups(), GroupsOf(ids)) << many;
  }
}

TEST(IdJoin, MembersThatLackRowsOrHaveThemInAnotherOrderAreJoinedAsIfOneByOne) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 100; ++round) {
    const std::vector<uint64_t> all = SomeIds(random, 120, round % 2 == 0 ? 1'000'000 : 30);
    Ids ids;
    for (size_t m = 0; m < kMembers; ++m) {
      std::vector<uint64_t>& own = ids.emplace_back(all);
      for (int swaps = 0; swaps < round % 7; ++swaps) std::swap(own[random() % own.size()], own[random() % own.size()]);
      for (int losses = 0; losses < round % 5; ++losses) {
        own.erase(own.begin() + static_cast<std::ptrdiff_t>(random() % own.size()));
      }
      own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(random() % 4));
    }
    const Joined joined(ids);
    ASSERT_TRUE(joined.joins());
    EXPECT_EQ(joined.Groups(), GroupsOf(ids)) << round;
  }
}

}  // namespace
}  // namespace lockstep
