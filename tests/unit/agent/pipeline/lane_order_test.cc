#include "agent/pipeline/lane_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace lockstep {
namespace {

using Lanes = LaneOrder<int, std::less<>>;

TEST(LaneOrder, AscendingStreamsComeInOrder) {
  std::mt19937_64 random(1);
  for (size_t streams = 1; streams <= Lanes::kMaxLanes; ++streams) {
    std::vector<int> next(streams);
    std::vector<int> records(1'000);
    for (int& record : records) record = next[random() % streams] += static_cast<int>(random() % 5);
    std::vector<uint32_t> order;
    ASSERT_TRUE(Lanes({}).Find(records, order)) << streams;
    ASSERT_EQ(order.size(), records.size());
    for (size_t i = 1; i < order.size(); ++i) EXPECT_LE(records[order[i - 1]], records[order[i]]);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i) << "each record once";
  }
}

TEST(LaneOrder, TellsWhenThereAreTooManyLanes) {
  std::vector<int> records;
  for (int i = static_cast<int>(Lanes::kMaxLanes); i > 0; --i) records.push_back(i);
  std::vector<uint32_t> order;
  EXPECT_TRUE(Lanes({}).Find(records, order));
  records.push_back(0);
  EXPECT_FALSE(Lanes({}).Find(records, order));
}

TEST(LaneOrder, NothingIsInOrder) {
  std::vector<uint32_t> order = {7};
  EXPECT_TRUE(Lanes({}).Find({}, order));
  EXPECT_TRUE(order.empty());
}

}  // namespace
}  // namespace lockstep
