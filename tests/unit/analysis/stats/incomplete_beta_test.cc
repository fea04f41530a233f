#include "analysis/stats/incomplete_beta.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(IncompleteBeta, OfIntegersIsABinomialTail) {
  // P(Bin(10, 0.3) >= 4)
  EXPECT_NEAR(IncompleteBeta(4, 7, 0.3), 0.350389, 1e-6);
  EXPECT_NEAR(IncompleteBeta(7, 4, 0.7), 1 - 0.350389, 1e-6);
}

TEST(IncompleteBeta, IsZeroAndOneAtTheEnds) {
  EXPECT_EQ(IncompleteBeta(2, 3, 0), 0);
  EXPECT_EQ(IncompleteBeta(2, 3, 1), 1);
}

}  // namespace
}  // namespace lockstep
