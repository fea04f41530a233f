#include "analysis/condense/selection.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(RangeAskedFor, IsThatNameInAnyDomain) {
  EXPECT_TRUE(IsRangeAskedFor("send", "", "send"));
  EXPECT_TRUE(IsRangeAskedFor("send", "NCCL", "send"));
  EXPECT_FALSE(IsRangeAskedFor("send", "NCCL", "sends"));
  EXPECT_FALSE(IsRangeAskedFor("", "", ""));
}

TEST(RangeAskedFor, WithADomainIsInThatDomainOnly) {
  for (const std::string_view asked : {"NCCL:send", "send@NCCL"}) {
    EXPECT_TRUE(IsRangeAskedFor(asked, "NCCL", "send"));
    EXPECT_FALSE(IsRangeAskedFor(asked, "Other", "send"));
    EXPECT_FALSE(IsRangeAskedFor(asked, "", "send"));
  }
}

TEST(RangeAskedFor, MayItselfHoldTheSignsOfADomain) {
  EXPECT_TRUE(IsRangeAskedFor("aten::to", "", "aten::to"));
  EXPECT_TRUE(IsRangeAskedFor("torch:aten::to", "torch", "aten::to"));
  EXPECT_TRUE(IsRangeAskedFor("a@b@torch", "torch", "a@b"));
}

TEST(RangeAskedFor, OfCondensedStepsIsToldByItsText) {
  EXPECT_TRUE(IsRangeAskedFor("NCCL:send", "send"));
  EXPECT_TRUE(IsRangeAskedFor("send@NCCL", "send"));
  EXPECT_TRUE(IsRangeAskedFor("send", "send"));
  EXPECT_FALSE(IsRangeAskedFor("resend", "send"));
  EXPECT_FALSE(IsRangeAskedFor("send", ""));
}

TEST(CondenseSelection, HasWhatPassesBothTheStepsAndTheTime) {
  CondenseSelection selection;
  EXPECT_TRUE(selection.Has(-1, 5));
  selection.time_ns = {10, 20};
  EXPECT_FALSE(selection.Has(0, 9));
  EXPECT_TRUE(selection.Has(-1, 10));
  EXPECT_FALSE(selection.Has(0, 20));
  selection.steps = {false, true};
  EXPECT_TRUE(selection.Has(1, 10));
  EXPECT_FALSE(selection.Has(0, 10));
  EXPECT_FALSE(selection.Has(-1, 10));
  EXPECT_FALSE(selection.Has(2, 10));
}

}  // namespace
}  // namespace lockstep
