#include "aggregator/access/token_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kToken = "0123456789abcdef";
// By `printf %s 0123456789abcdef | sha256sum`.
const std::string kHash = "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f";

TEST(TokenTable, RolesPrefixesCommentsAndEmptyLines) {
  const auto table = TokenTable::Parse(
      "# who may what\n\n  \t\nagent 0123456789abcdef train-\r\n\treader\tfedcba9876543210\nadmin ABCDEFGHIJKLMNOP");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->size(), 3U);
  EXPECT_EQ(table->Find(kToken), (Grant{Role::kAgent, "train-"}));
  EXPECT_EQ(table->Find("fedcba9876543210"), (Grant{Role::kReader, ""}));
  EXPECT_EQ(table->Find("ABCDEFGHIJKLMNOP"), (Grant{Role::kAdmin, ""}));
}

TEST(TokenTable, AHashedTokenIsFoundByTheTokenAndNotByTheHash) {
  for (const bool upper : {false, true}) {
    std::string hash = kHash;
    if (upper) {
      for (char& c : hash) {
        c = static_cast<char>(std::toupper(c));
      }
    }
    const auto table = TokenTable::Parse("reader sha256:" + hash);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_TRUE(table->Find(kToken).has_value());
    EXPECT_FALSE(table->Find(kHash).has_value());
    EXPECT_FALSE(table->Find("sha256:" + kHash).has_value());
  }
}

TEST(TokenTable, NothingButTheWholeTokenIsFound) {
  const auto table = TokenTable::Parse("admin " + kToken);
  ASSERT_TRUE(table.ok());
  for (const std::string& other :
       {std::string(), kToken.substr(1), kToken.substr(0, 15), kToken + "0", " " + kToken, kToken + '\0'}) {
    EXPECT_FALSE(table->Find(other).has_value()) << other;
  }
}

TEST(TokenTable, AnEmptyFileLetsNobodyIn) {
  const auto table = TokenTable::Parse("");
  ASSERT_TRUE(table.ok());
  EXPECT_FALSE(table->Find("").has_value());
}

TEST(TokenTable, HostileLinesAreRefusedByNumberWithoutTheirContent) {
  const std::string secret = "hunter2hunter2hunter2";
  for (const std::string& line : std::initializer_list<std::string>{
           "admin",                                          // no token
           "root " + secret,                                 // no such role
           "Admin " + secret,                                // nor this
           "admin short-secret",                             // guessable
           "admin " + std::string(513, 'x'),                 // too long
           "admin " + secret + " prefix more",               // too many words
           "admin " + secret + "\x01",                       // control character
           "admin " + secret + "\xc3\xa9",                   // not ASCII
           "admin sha256:" + kHash.substr(1),                // too short
           "admin sha256:" + kHash + "0",                    // too long
           "admin sha256:" + std::string(64, 'g'),           // no digits
           "admin sha256:" + std::string(63, '0') + "-",     // a sign
           "admin " + secret + " " + std::string(257, 'p'),  // absurd prefix
           std::string("admin ") + std::string(20, '\0'),    // zeros
           "agent " + kToken,                                // stands in line 2
           "agent sha256:" + kHash,                          // the same, hashed
       }) {
    const auto table = TokenTable::Parse("# first\nreader " + kToken + "\n" + line + "\n");
    ASSERT_TRUE(absl::IsInvalidArgument(table.status())) << line;
    const std::string text(table.status().message());
    EXPECT_THAT(text, HasSubstr("line 3"));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(text, Not(HasSubstr(kToken)));
    EXPECT_THAT(text, Not(HasSubstr(kHash.substr(1))));
  }
}

TEST(TokenTable, ManyTokensAreEachFound) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += fmt::format("agent token-number-{:06} run{}-\n", i, i);
  }
  const auto table = TokenTable::Parse(text);
  ASSERT_TRUE(table.ok()) << table.status();
  for (const int i : {0, 1, 999, 1999}) {
    EXPECT_EQ(table->Find(fmt::format("token-number-{:06}", i))->run_prefix, fmt::format("run{}-", i));
  }
}

}  // namespace
}  // namespace lockstep
