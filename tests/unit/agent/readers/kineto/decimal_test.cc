#include "agent/readers/kineto/decimal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace lockstep::kineto {
namespace {

TEST(Decimal, NineteenDigitNanosecondsKeepEveryDigit) {
  EXPECT_EQ(ParseScaled("1716423322422880.181", 3), 1716423322422880181);
  EXPECT_EQ(ParseScaled("9223372036854775807", 0), std::numeric_limits<int64_t>::max());
}

TEST(Decimal, MissingDecimalsAreZeros) {
  EXPECT_EQ(ParseScaled("1712195495849420.0", 3), 1712195495849420000);
  EXPECT_EQ(ParseScaled("12", 3), 12000);
  EXPECT_EQ(ParseScaled("12.", 3), 12000);
  EXPECT_EQ(ParseScaled(".5", 3), 500);
}

TEST(Decimal, DecimalsBelowTheScaleRoundHalvesAwayFromZero) {
  EXPECT_EQ(ParseScaled("0.0004999999999999999999999", 3), 0);
  EXPECT_EQ(ParseScaled("0.0005", 3), 1);
  EXPECT_EQ(ParseScaled("-0.0005", 3), -1);
  EXPECT_EQ(ParseScaled("2.0014999", 3), 2001);
  EXPECT_EQ(ParseScaled("9.9995", 3), 10000);
}

TEST(Decimal, ExponentsShiftThePointExactly) {
  EXPECT_EQ(ParseScaled("1.7e15", 3), 1700000000000000000);
  EXPECT_EQ(ParseScaled("1712195495849420123e-3", 3), 1712195495849420123);
  EXPECT_EQ(ParseScaled("5E-4", 3), 1);
  EXPECT_EQ(ParseScaled("4e-4", 3), 0);
  EXPECT_EQ(ParseScaled("0e999999999", 3), 0);
  EXPECT_EQ(ParseScaled("1e-999999999", 3), 0);
}

TEST(Decimal, ValuesBeyondInt64AreNoNumbers) {
  EXPECT_FALSE(ParseScaled("9223372036854775808", 0).has_value());
  EXPECT_FALSE(ParseScaled("9223372036854775807", 1).has_value());
  EXPECT_FALSE(ParseScaled("1e300", 0).has_value());
  EXPECT_FALSE(ParseScaled("1e2147483648", 0).has_value());
  EXPECT_FALSE(ParseScaled("-99999999999999999999999", 3).has_value());
}

TEST(Decimal, OtherTextIsNoNumber) {
  for (const char* text :
       {"", "-", ".", "e5", "1e", "1e+", "nan", "NaN", "inf", "-Infinity", "1.2.3", "0x10", "7 ", "1,5"}) {
    EXPECT_FALSE(ParseScaled(text, 3).has_value()) << text;
    EXPECT_FALSE(ParseUnsigned(text).has_value()) << text;
  }
}

TEST(Decimal, UnsignedReachesTwoToThe64MinusOne) {
  EXPECT_EQ(ParseUnsigned("10159970886766084423"), 10159970886766084423ULL);
  EXPECT_EQ(ParseUnsigned("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(ParseUnsigned("18446744073709551616").has_value());
  EXPECT_FALSE(ParseUnsigned("-1").has_value());
}

TEST(Decimal, EveryNanosecondCountWrittenAsMicrosecondsComesBack) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto ns = static_cast<int64_t>(random() >> (3 + random() % 60));
    EXPECT_EQ(ParseScaled(fmt::format("{}.{:03}", ns / 1000, ns % 1000), 3), ns);
    EXPECT_EQ(ParseScaled(fmt::format("-{}.{:03}", ns / 1000, ns % 1000), 3), -ns);
    EXPECT_EQ(ParseScaled(fmt::format("{}e-3", ns), 3), ns);
  }
}

}  // namespace
}  // namespace lockstep::kineto
