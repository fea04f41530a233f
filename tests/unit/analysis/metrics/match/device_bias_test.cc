#include "analysis/metrics/match/lanes/device_bias.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "analysis/model/collective.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

constexpr int64_t kMovingNs = 20 * kUs;

// Two devices of one session that run one communicator's kernels in lockstep.
struct LanesShape {
  CollectiveOp op = CollectiveOp::kSendRecv;
  int64_t bias_ns = 0;          // what the second device's records read more
  int64_t longer_ns = 0;        // the first device takes so much longer to move its data
  bool first_is_late = false;   // it is never the last one otherwise
  bool second_is_late = false;  // both: by turns
};

std::vector<int64_t> BiasesOf(const LanesShape& shape) {
  std::mt19937 random(11);
  const auto jitter = [&] { return std::uniform_int_distribution<int64_t>(-300, 300)(random); };
  std::vector<RankRows> rows(2);
  int64_t at_ns = kMs;
  for (int64_t n = 0; n < 120; ++n) {
    const bool first_late = shape.first_is_late && (!shape.second_is_late || n % 2 == 0);
    const int64_t delay_ns = std::uniform_int_distribution<int64_t>(60 * kUs, 90 * kUs)(random);
    const int64_t last_ns = at_ns + delay_ns;
    for (size_t r = 0; r < 2; ++r) {
      const bool is_late = first_late == (r == 0);
      CollectiveRow row;
      row.op = shape.op;
      row.stream = 7;
      row.start_ns = is_late ? last_ns : at_ns + jitter();
      row.end_ns = last_ns + kMovingNs + (r == 0 ? shape.longer_ns : 0) + jitter();
      if (r == 1) row.start_ns += shape.bias_ns;
      if (r == 1) row.end_ns += shape.bias_ns;
      rows[r].rows.push_back(row);
    }
    at_ns = last_ns + std::uniform_int_distribution<int64_t>(300 * kUs, 700 * kUs)(random);
  }
  CommunicatorPlan plan;
  plan.info.members = {0, 1};
  plan.ranks = {0, 1};
  for (size_t r = 0; r < 2; ++r) {
    std::vector<uint32_t>& of_rank = plan.rows.emplace_back();
    for (uint32_t row = 0; row < rows[r].rows.size(); ++row) of_rank.push_back(row);
  }
  DomainPlan domains;
  domains.domain = {0, 0};
  domains.basis = {DomainBasis::kSession, DomainBasis::kSession};
  domains.assumed_host = {false, false};
  InlineExecutor executor;
  return FindLargeBiases({plan}, domains, rows, executor);
}

TEST(DeviceBias, ALargeOneIsFoundFromTheEndsOfOperationsOfAll) {
  LanesShape shape{.op = CollectiveOp::kAllReduce, .bias_ns = 40 * kUs, .second_is_late = true};
  EXPECT_NEAR(static_cast<double>(BiasesOf(shape)[1]), 40 * kUs, kUs);
}

TEST(DeviceBias, ALargeOneIsFoundFromExchangesInWhichEitherIsLast) {
  const LanesShape shape{.bias_ns = 40 * kUs, .first_is_late = true, .second_is_late = true};
  EXPECT_NEAR(static_cast<double>(BiasesOf(shape)[1]), 40 * kUs, kUs);
}

TEST(DeviceBias, WhoMovesMoreInExchangesHasNone) {
  for (const bool second_is_late : {false, true}) {
    LanesShape shape{.longer_ns = 25 * kUs, .first_is_late = true, .second_is_late = second_is_late};
    EXPECT_EQ(BiasesOf(shape)[1], 0) << second_is_late;
    shape.first_is_late = !second_is_late;
    EXPECT_EQ(BiasesOf(shape)[1], 0) << second_is_late;
  }
}

TEST(DeviceBias, ExchangesInWhichTheSameOneIsAlwaysLastTellNone) {
  EXPECT_EQ(BiasesOf({.bias_ns = 40 * kUs, .second_is_late = true})[1], 0);
}

}  // namespace
}  // namespace lockstep
