#include "analysis/base/hash128.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Hash128, IsXxh3OfTheBytes) {
  EXPECT_EQ(HashOf("").Hex(), "99aa06d3014798d86001c324468d497f");  // published value of XXH3-128 of nothing
}

TEST(Hash128, BytesAreBigEndianAndComeBack) {
  const Hash128 hash{0x0102030405060708, 0x090a0b0c0d0e0f10};
  EXPECT_EQ(hash.Bytes(), "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10");
  EXPECT_EQ(Hash128::FromBytes(hash.Bytes()), hash);
}

TEST(Hash128, BytesOfAnotherLengthGiveTheZeroHash) {
  EXPECT_EQ(Hash128::FromBytes("short"), Hash128());
  EXPECT_EQ(Hash128::FromBytes(std::string(17, 'x')), Hash128());
}

TEST(Hash128, HexHasAllLeadingZeros) { EXPECT_EQ((Hash128{1, 2}).Hex(), "00000000000000010000000000000002"); }

TEST(HashBuilder, KeepsThePartsApart) {
  EXPECT_NE(HashBuilder().Add("ab").Add("c").Finish(), HashBuilder().Add("a").Add("bc").Finish());
  EXPECT_NE(HashBuilder().Add("").Add("a").Finish(), HashBuilder().Add("a").Add("").Finish());
}

TEST(HashBuilder, DependsOnTheOrderOfNumbers) {
  EXPECT_NE(HashBuilder().Add(1).Add(2).Finish(), HashBuilder().Add(2).Add(1).Finish());
}

}  // namespace
}  // namespace lockstep
