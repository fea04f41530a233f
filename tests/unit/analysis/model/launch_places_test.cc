#include "analysis/model/launch_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lockstep {
namespace {

using testing::ElementsAre;

std::vector<uint32_t> Added(const std::vector<uint32_t>& all) {
  std::vector<uint32_t> places;
  for (const uint32_t place : all) AddPlace(place, places);
  return places;
}

// The rule, of all launches at once.
std::vector<uint32_t> Cut(std::vector<uint32_t> all) {
  std::sort(all.begin(), all.end());
  if (all.size() <= 64) return all;
  std::vector<uint32_t> cut(all.begin(), all.begin() + 63);
  cut.push_back(all.back());
  return cut;
}

TEST(LaunchPlaces, AreAllUpToSixtyFour) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 64; ++i) all.push_back(3 * i);
  EXPECT_EQ(Added(all), all);
}

TEST(LaunchPlaces, OfMoreTheFirstOnesAndTheLastOneAreKept) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 200; ++i) all.push_back(3 * i);
  const std::vector<uint32_t> places = Added(all);
  ASSERT_EQ(places.size(), 64U);
  EXPECT_EQ(places[62], 3U * 62);
  EXPECT_EQ(places[63], 3U * 199);
}

TEST(LaunchPlaces, ASourceThatTellsTheSameAgainChangesNothing) {
  std::vector<uint32_t> places = {2, 5};
  MergePlaces({2, 5}, places);
  EXPECT_THAT(places, ElementsAre(2, 5));
}

// Keys of one name, each cut by itself, are cut as if they were one.
TEST(LaunchPlaces, MergedInAnyOrderAreThoseOfAllLaunches) {
  std::mt19937 random(20261129);
  for (int trial = 0; trial < 300; ++trial) {
    const size_t keys = 1 + random() % 4;
    std::vector<std::vector<uint32_t>> of_key(keys);
    std::vector<uint32_t> all;
    const uint32_t launches = static_cast<uint32_t>(random() % 400);
    for (uint32_t place = 0; place < launches; ++place) {
      const size_t key = random() % (keys + 1);
      if (key == keys) continue;  // another kernel
      of_key[key].push_back(place);
      all.push_back(place);
    }
    std::shuffle(of_key.begin(), of_key.end(), random);
    std::vector<uint32_t> merged;
    for (const std::vector<uint32_t>& launches_of_key : of_key) MergePlaces(Added(launches_of_key), merged);
    EXPECT_EQ(merged, Cut(all)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace lockstep
