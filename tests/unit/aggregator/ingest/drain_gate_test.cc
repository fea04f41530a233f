#include "aggregator/ingest/drain_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

constexpr int64_t kLongNs = 60'000'000'000;

TEST(DrainGate, AnEmptyGateClosesAtOnceAndLetsNobodyInAfterwards) {
  DrainGate gate;
  { EXPECT_TRUE(DrainGate::Pass(gate)); }
  EXPECT_TRUE(gate.CloseAndWait(kLongNs));
  EXPECT_FALSE(DrainGate::Pass(gate));
  EXPECT_TRUE(gate.CloseAndWait(kLongNs)) << "a call that was turned away does not count";
}

TEST(DrainGate, ACallThatDoesNotEndIsWaitedForNoLongerThanTold) {
  DrainGate gate;
  const DrainGate::Pass pass(gate);
  EXPECT_FALSE(gate.CloseAndWait(1'000'000));
  EXPECT_TRUE(pass) << "it was let in";
}

TEST(DrainGate, ClosingWaitsForEveryoneInside) {
  DrainGate gate;
  std::atomic<int> inside{0};
  std::atomic<int> done{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> calls;
  for (int i = 0; i < 4; ++i) {
    calls.emplace_back([&] {
      const DrainGate::Pass pass(gate);
      ++inside;
      go.wait(false);
      ++done;
    });
  }
  while (inside.load() < 4) {
    std::this_thread::yield();
  }
  std::thread closer([&] {
    EXPECT_TRUE(gate.CloseAndWait(kLongNs));
    EXPECT_EQ(done.load(), 4);
  });
  go = true;
  go.notify_all();
  closer.join();
  for (std::thread& call : calls) {
    call.join();
  }
}

}  // namespace
}  // namespace lockstep
