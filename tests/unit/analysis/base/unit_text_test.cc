#include "analysis/base/unit_text.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(UnitText, TimesHaveThreeDigitsInTheUnitThatFits) {
  EXPECT_EQ(TimeText(int64_t{0}), "0 ns");
  EXPECT_EQ(TimeText(int64_t{999}), "999 ns");
  EXPECT_EQ(TimeText(int64_t{5'271'334}), "5.27 ms");
  EXPECT_EQ(TimeText(15'830.0), "15.8 us");
  EXPECT_EQ(TimeText(int64_t{884'300'000}), "884 ms");
  EXPECT_EQ(TimeText(int64_t{2'000'000'000}), "2 s");
  EXPECT_EQ(TimeText(int64_t{-1'500}), "-1.50 us");
}

TEST(UnitText, BytesAreDecimal) {
  EXPECT_EQ(BytesText(4'194'304), "4.19 MB");
  EXPECT_EQ(BytesText(512), "512 B");
}

TEST(UnitText, PercentsHaveTwoDecimalsOnlyBelowOne) {
  EXPECT_EQ(PercentText(0), "0 %");
  EXPECT_EQ(PercentText(0.003), "0.30 %");
  EXPECT_EQ(PercentText(0.634896298), "63.5 %");
  EXPECT_EQ(PercentText(1), "100 %");
}

TEST(UnitText, CountsHaveThousandsSeparators) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(1'219), "1,219");
  EXPECT_EQ(CountText(-1'234'567), "-1,234,567");
}

}  // namespace
}  // namespace lockstep
