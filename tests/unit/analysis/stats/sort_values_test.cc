#include "analysis/stats/sort_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>

namespace lockstep {
namespace {

TEST(SortValues, GivesWhatComparingGives) {
  std::mt19937_64 random(1);
  for (const size_t count : {0, 1, 2, 255, 256, 257, 5'000}) {
    for (const int bits : {0, 1, 10, 11, 12, 22, 30, 63}) {
      std::vector<int64_t> values(count);
      for (int64_t& value : values) value = bits == 0 ? 0 : static_cast<int64_t>(random() >> (64 - bits));
      std::vector<int64_t> expected = values;
      std::sort(expected.begin(), expected.end());
      SortValues(values);
      EXPECT_EQ(values, expected) << count << " of " << bits << " bits";
    }
  }
}

TEST(SortValues, PutsWhatIsNegativeLast) {
  std::vector<int64_t> values(300, 7);
  values[3] = -1;
  SortValues(values);
  EXPECT_EQ(values.back(), -1);
}

}  // namespace
}  // namespace lockstep
