#include "analysis/compare/words.h"

#include <gtest/gtest.h>

namespace lockstep::compare {
namespace {

TEST(Words, OfChangesHaveASign) {
  EXPECT_EQ(SignedTime(2'720), "+2.72 us");
  EXPECT_EQ(SignedTime(-1.2e6), "-1.20 ms");
  EXPECT_EQ(SignedPercent(0.021), "+2.1 %");
  EXPECT_EQ(SignedPercent(-0.5), "-50.0 %");
}

TEST(Words, WhatBecameManyTimesAsLongIsAFactor) {
  EXPECT_EQ(SignedPercent(8.9), "+890.0 %");
  EXPECT_EQ(SignedPercent(54), "55x");
}

TEST(Words, OfWhatIsShownAsZeroHaveNoSign) {
  EXPECT_EQ(SignedPercent(-0.0004), "0.0 %");
  EXPECT_EQ(SignedPercent(0.0004), "0.0 %");
  EXPECT_EQ(SignedTime(-0.3), "0 ns");
  EXPECT_EQ(SignedTime(0), "0 ns");
}

TEST(Words, OfAnIntervalHaveTheUnitOfItsChangeAndEndWhereNothingIsLeft) {
  EXPECT_EQ(PercentRange(-0.868, {-9.799, 9.8}), "-100.0 % to +980.0 %");
  EXPECT_EQ(PercentRange(411, {-165.531, 164}), "0x to 165x");
  EXPECT_EQ(PercentRange(8.03, {7.36, 9.5}), "+736.0 % to +950.0 %");
}

TEST(Words, OfAGateSayWhatWasMeasuredAndHowSureThatIs) {
  report::GateResult gate;
  gate.gate = "step_time<=2%";
  gate.metric = "step_time";
  EXPECT_EQ(MeasuredText(gate), "not measured: step_time");
  gate.value = 0.05;
  EXPECT_EQ(MeasuredText(gate), "measured +5.0 %, but it is not known how sure that is");
  gate.interval = {0.03, 0.07};
  EXPECT_EQ(MeasuredText(gate), "measured +5.0 % (95 % interval +3.0 % to +7.0 %)");
}

}  // namespace
}  // namespace lockstep::compare
