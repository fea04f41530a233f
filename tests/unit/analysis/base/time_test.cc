#include "analysis/base/time.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace lockstep {
namespace {

template <typename A, typename B>
concept Subtractable = requires(A a, B b) {
  a - b;
};

TEST(Time, InstantsOfDifferentClocksDoNotMix) {
  static_assert(Subtractable<LocalTime, LocalTime>);
  static_assert(!Subtractable<LocalTime, AlignedTime>);
  static_assert(!std::is_convertible_v<LocalTime, AlignedTime>);
  SUCCEED();
}

TEST(Time, DifferencesOfUnixNanosecondsAreExact) {
  const LocalTime a{1'694'128'201'429'795'001};
  const LocalTime b{1'694'128'201'429'795'000};
  EXPECT_EQ((a - b).ns, 1);
  EXPECT_EQ(b + Duration{1}, a);
}

TEST(Time, SumsOfThreeTimesWithinTheBoundDoNotOverflow) {
  int64_t sum = 0;
  EXPECT_FALSE(__builtin_mul_overflow(kMaxAbsTimeNs, int64_t{3}, &sum));
}

}  // namespace
}  // namespace lockstep
