#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <string>

#include "platform/digest.h"
#include "platform/secret_file.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Digest, KnownSha256) {
  EXPECT_EQ(Sha256("abc"), DigestFromHex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
  EXPECT_EQ(Sha256(""), DigestFromHex("E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"));
}

// RFC 4231, case 2, and a key longer than a block (case 6).
TEST(Digest, KnownHmacSha256) {
  EXPECT_EQ(HmacSha256("Jefe", "what do ya want for nothing?"),
            DigestFromHex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
  EXPECT_EQ(HmacSha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            DigestFromHex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
}

TEST(Digest, AnyOneBitMakesTwoDigestsDiffer) {
  const Digest one = Sha256("abc");
  EXPECT_TRUE(SameDigest(one, one));
  for (size_t bit = 0; bit < 8 * one.size(); ++bit) {
    Digest other = one;
    other[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    EXPECT_FALSE(SameDigest(one, other)) << bit;
  }
}

class SecretFile : public testing::Test {
 protected:
  [[nodiscard]] std::string Write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path_, std::ios::binary) << text;
    EXPECT_EQ(::chmod(path_.c_str(), mode), 0);
    return path_;
  }
  const TempDir dir_ = TempDir::Create("", "secret-test-").value();
  const std::string path_ = dir_.path() + "/token";
};

TEST_F(SecretFile, ATokenIsReadWithoutSpacesAround) {
  EXPECT_EQ(ReadTokenFile(Write(" \tabc-123\r\n\n")).value(), "abc-123");
}

TEST_F(SecretFile, WhatIsNoTokenIsRefusedWithoutRepeatingIt) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("hunter2 hunter2"), std::string("hunter2\nhunter2"),
        std::string("hunter2\x01"), std::string("hunter2\0x", 9), std::string(5000, 'x')}) {
    const auto token = ReadTokenFile(Write(text));
    ASSERT_TRUE(absl::IsInvalidArgument(token.status())) << text;
    EXPECT_THAT(std::string(token.status().message()), HasSubstr(path_));
    EXPECT_THAT(std::string(token.status().message()), Not(HasSubstr("hunter2")));
  }
}

TEST_F(SecretFile, AFileThatEverybodyMayReadIsRefused) {
  EXPECT_TRUE(absl::IsPermissionDenied(ReadTokenFile(Write("abc-123", 0644)).status()));
}

TEST_F(SecretFile, AFolderAndNothingAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTokenFile(dir_.path()).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadTokenFile(path_ + "x").status()));
}

TEST_F(SecretFile, TheVersionChangesWithTheFile) {
  const uint64_t first = FileVersion(Write("one"));
  EXPECT_EQ(FileVersion(path_), first);
  const uint64_t second = FileVersion(Write("three"));
  EXPECT_NE(second, first);
  EXPECT_NE(FileVersion(Write("three", 0640)), second);
  EXPECT_EQ(FileVersion(path_ + "x"), 0U);
}

TEST(RandomHex, IsAnotherOneEachTime) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = RandomHex(16);
    EXPECT_EQ(text.size(), 32U);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(text).second);
  }
}

}  // namespace
}  // namespace lockstep
