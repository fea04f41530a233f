// Whom members of rooted operations waited for beyond what the root tells, from how long they took.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "analysis/metrics/match/instance_words.h"
#include "analysis/metrics/match/roots.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/match/one_clock.h"

namespace lockstep {
namespace {

constexpr int64_t kTransferNs = 400 * kUs;

// A large message passes along a chain of the members that begins at a drawn one: each is done once it, and those
// before it, have come. Where `buffers_fill` the others wait for those behind them, too.
struct ChainShape {
  size_t ranks = 4;
  int64_t late_ns = 0;  // of one drawn member
  bool buffers_fill = false;
  CollectiveOp op = CollectiveOp::kReduce;
};

struct ChainOperation {
  JoinedInstance joined;
  std::vector<int64_t> released_ns;  // when what each member waited for had come
  int32_t root = -1;                 // of a broadcast the one the chain begins at, of a reduce its end
};

ChainOperation Draw(const ChainShape& shape, std::mt19937& random) {
  ChainOperation out;
  std::vector<int64_t> starts(shape.ranks);
  for (int64_t& start : starts) start = static_cast<int64_t>(random() % 20'000);
  starts[random() % shape.ranks] += shape.late_ns;
  const size_t begin = random() % shape.ranks;
  out.released_ns.resize(shape.ranks);
  out.root = static_cast<int32_t>(shape.op == CollectiveOp::kReduce ? (begin + shape.ranks - 1) % shape.ranks : begin);
  int64_t released = 0;
  for (size_t k = 0; k < shape.ranks; ++k) {
    const size_t rank = (begin + k) % shape.ranks;
    released = std::max(released, starts[rank]);
    out.released_ns[rank] = released;
  }
  out.joined.instance.op = shape.op;
  out.joined.instance.confidence = 1;
  for (size_t rank = 0; rank < shape.ranks; ++rank) {
    if (shape.buffers_fill) out.released_ns[rank] = released;
    MatchedMember member;
    member.rank_index = static_cast<int32_t>(rank);
    member.start_ns = starts[rank];
    member.end_ns = out.released_ns[rank] + kTransferNs + static_cast<int64_t>(random() % 4'000);
    out.joined.instance.members.push_back(member);
  }
  return out;
}

// Fills the words of all of them, which are one class.
void Tell(std::vector<ChainOperation>& operations) {
  const auto ranks = static_cast<int32_t>(operations.front().released_ns.size());
  const ClockModel clock = OneClock(ranks);
  std::vector<JoinedInstance> joined;
  for (ChainOperation& it : operations) joined.push_back(std::move(it.joined));
  for (JoinedInstance& j : joined) FillMembership(j, ranks, false, clock);
  InferRoots(clock, joined);
  for (JoinedInstance& j : joined) FillWords(j, false, clock);
  for (size_t i = 0; i < joined.size(); ++i) operations[i].joined = std::move(joined[i]);
}

// All of them were the last to start: one of them is the root of a broadcast, who shows how long it takes.
bool EachWasLast(const std::vector<ChainOperation>& operations) {
  std::set<int32_t> last;
  for (const ChainOperation& it : operations) {
    const std::vector<MatchedMember>& members = it.joined.instance.members;
    last.insert(std::max_element(members.begin(), members.end(), [](const auto& a, const auto& b) {
                  return a.start_ns < b.start_ns;
                })->rank_index);
  }
  return last.size() == operations.front().released_ns.size();
}

TEST(AwaitedByDuration, WaitsThatAreToldAreTrueAndLongOnesAreTold) {
  std::mt19937 random(17);
  int64_t told = 0;
  for (int trial = 0; trial < 200; ++trial) {
    ChainShape shape;
    shape.ranks = 3 + random() % 6;
    shape.buffers_fill = random() % 2 == 0;
    shape.op = random() % 2 == 0 ? CollectiveOp::kReduce : CollectiveOp::kBroadcast;
    std::vector<ChainOperation> operations;
    for (int i = 0; i < 30; ++i) {
      shape.late_ns = i % 3 == 0 ? static_cast<int64_t>(random() % 3'000'000) : 0;
      operations.push_back(Draw(shape, random));
    }
    Tell(operations);
    for (const ChainOperation& it : operations) {
      if (it.joined.root != kNoRoot) continue;  // told by another way
      for (const MatchedMember& m : it.joined.instance.members) {
        const int64_t truth = it.released_ns[static_cast<size_t>(m.rank_index)] - m.start_ns;
        if (truth > 2 * kTransferNs && (shape.op == CollectiveOp::kReduce || EachWasLast(operations))) {
          ASSERT_GE(m.awaits, 0) << trial;
          ++told;
        }
        if (m.awaits < 0) continue;
        ASSERT_NEAR(static_cast<double>(m.wait_ns), static_cast<double>(truth),
                    static_cast<double>(m.wait_uncertainty_ns + truth / 10))
            << trial;
      }
    }
  }
  EXPECT_GT(told, 1'000);
}

// That the root is told does not change what the others went through.
TEST(AwaitedByDuration, WhereTheRootIsToldTheOthersWaitsAreStillTold) {
  std::mt19937 random(23);
  int64_t beyond_the_role = 0;
  for (int trial = 0; trial < 200; ++trial) {
    ChainShape shape;
    shape.ranks = 3 + random() % 6;
    shape.buffers_fill = random() % 2 == 0;
    shape.op = random() % 2 == 0 ? CollectiveOp::kReduce : CollectiveOp::kBroadcast;
    std::vector<ChainOperation> operations;
    for (int i = 0; i < 30; ++i) {
      shape.late_ns = i % 3 == 0 ? static_cast<int64_t>(random() % 3'000'000) : 0;
      operations.push_back(Draw(shape, random));
      operations.back().joined.root = operations.back().root;
    }
    Tell(operations);
    for (const ChainOperation& it : operations) {
      for (const MatchedMember& m : it.joined.instance.members) {
        const int64_t truth = it.released_ns[static_cast<size_t>(m.rank_index)] - m.start_ns;
        const bool is_root = m.rank_index == it.root;
        if (truth > 2 * kTransferNs) {
          ASSERT_GE(m.awaits, 0) << trial;
          beyond_the_role += is_root == (shape.op == CollectiveOp::kBroadcast) ? 1 : 0;
        }
        if (m.awaits < 0) continue;
        // Who waits for the root by its role is told that wait. That others of the chain came later shows if it is
        // long.
        const int64_t tolerance = m.wait_uncertainty_ns + truth / 10;
        ASSERT_LE(m.wait_ns, truth + tolerance) << trial;
        if (truth > 2 * kTransferNs) {
          ASSERT_GE(m.wait_ns, truth - tolerance) << trial;
        }
      }
    }
  }
  EXPECT_GT(beyond_the_role, 1'000);
}

// Two leaves of a broadcast from rank 0 are late by turns and find their data in the buffers: nobody waits for them,
// and how short their own part is says nothing of the others'.
TEST(AwaitedByDuration, LateLeavesDoNotShowHowLongABroadcastTakes) {
  for (const bool told : {true, false}) {
    std::mt19937 random(29);
    std::vector<ChainOperation> operations(30);
    for (size_t i = 0; i < operations.size(); ++i) {
      ChainOperation& it = operations[i];
      it.released_ns.resize(8);
      it.joined.instance.op = CollectiveOp::kBroadcast;
      it.joined.instance.confidence = 1;
      if (told) it.joined.root = 0;
      for (int32_t rank = 0; rank < 8; ++rank) {
        const bool late = rank == (i % 2 == 0 ? 3 : 5);
        MatchedMember member;
        member.rank_index = rank;
        const auto noise_ns = static_cast<int64_t>(random() % 2'000);
        member.start_ns = late ? kTransferNs / 4 + 10 * noise_ns : noise_ns;
        const int64_t root_ns = rank == 0 ? member.start_ns : it.joined.instance.members.front().start_ns;
        member.end_ns = root_ns + kTransferNs + (late ? 20 * kUs : static_cast<int64_t>(random() % 4'000));
        it.joined.instance.members.push_back(member);
      }
    }
    Tell(operations);
    for (const ChainOperation& it : operations) {
      for (const MatchedMember& m : it.joined.instance.members) ASSERT_LT(m.wait_ns, 10 * kUs) << told;
    }
  }
}

TEST(AwaitedByDuration, AFewOperationsDoNotTellHowLongOneTakes) {
  std::mt19937 random(18);
  ChainShape shape;
  shape.buffers_fill = true;
  std::vector<ChainOperation> operations;
  for (int i = 0; i < 7; ++i) {
    shape.late_ns = i % 2 == 0 ? 2'000'000 : 0;
    operations.push_back(Draw(shape, random));
  }
  Tell(operations);
  for (const ChainOperation& it : operations) {
    for (const MatchedMember& m : it.joined.instance.members) EXPECT_LT(m.awaits, 0);
  }
}

}  // namespace
}  // namespace lockstep
