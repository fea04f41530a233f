#include "analysis/metrics/run/parallel_layout.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ParallelLayout, TakesAxesAndOrderAndWritesThemAsGiven) {
  for (const char* text : {"tp=8,pp=2,dp=4,order=tp-dp-pp", "dp=4,tp=2", "ep=2"}) {
    const absl::StatusOr<ParallelLayout> layout = ParallelLayout::Parse(text);
    ASSERT_TRUE(layout.ok()) << text;
    EXPECT_EQ(layout->Text(), text);
  }
}

TEST(ParallelLayout, RefusesWhatItDoesNotUnderstand) {
  for (const char* bad : {"tp", "tp=0", "tp=-1", "tp=8,tp=4", "zz=3", "tp=8,order=tp-qq", "tp=8,order=tp-tp", "tp=8x",
                          "", "tp=", "tp= 8", "pp=99999999999999999999", "order=tp,order=tp"}) {
    EXPECT_EQ(ParallelLayout::Parse(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(ParallelLayout, CountsTheRanksOfTheAxesThatDivideThem) {
  EXPECT_EQ(ParallelLayout::Parse("tp=2,dp=4,ep=4")->Ranks(), 32);
  EXPECT_EQ(ParallelLayout::Parse("tp=2,dp=4,ep=4,order=tp-dp")->Ranks(), 8);
}

TEST(ParallelLayout, StagesStandApartByTheAxesThatVaryFaster) {
  EXPECT_EQ(ParallelLayout::Parse("tp=2,pp=4,dp=3")->Pipeline()->stride, 6);
  EXPECT_EQ(ParallelLayout::Parse("tp=2,pp=4,dp=3,order=tp-pp-dp")->Pipeline()->stride, 2);
  EXPECT_EQ(ParallelLayout::Parse("pp=4")->Pipeline()->stages, 4);
  EXPECT_FALSE(ParallelLayout::Parse("tp=2,pp=1")->Pipeline());
  EXPECT_FALSE(ParallelLayout::Parse("tp=2,pp=4,order=tp")->Pipeline());
}

}  // namespace
}  // namespace lockstep
