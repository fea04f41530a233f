#include "analysis/condense/file_interner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

TEST(FileInterner, GivesEqualNamesOneIdAndBringsThemBack) {
  FileInterner names;
  DropCounters drops;
  const NameId gemm = names.Name("gemm", drops);
  EXPECT_EQ(names.Name("gemm", drops), gemm);
  EXPECT_NE(names.Name("norm", drops), gemm);
  EXPECT_EQ(names.NameOf(gemm), "gemm");
  EXPECT_EQ(names.NameOf(FileInterner::rest()), "(rest)");
}

TEST(FileInterner, NamesBeyondTheLimitAreTheCountedRest) {
  FileInterner names;
  DropCounters drops;
  const NameId first = names.Name("first", drops);
  for (size_t i = names.names(); i < FileInterner::kMaxNames; ++i) (void)names.Name(fmt::format("{}", i), drops);
  EXPECT_EQ(drops.Of(DropReason::kNameLimit), 0);
  EXPECT_EQ(names.Name("one too many", drops), FileInterner::rest());
  EXPECT_EQ(names.Name("two too many", drops), FileInterner::rest());
  EXPECT_EQ(drops.Of(DropReason::kNameLimit), 2);
  EXPECT_EQ(names.Name("first", drops), first);
  EXPECT_EQ(names.names(), FileInterner::kMaxNames);
}

TEST(FileInterner, TextBeyondTheLimitOfBytesIsTheCountedRest) {
  FileInterner names;
  DropCounters drops;
  const std::string filling(FileInterner::kMaxNameLength - 8, 'x');
  size_t kept = 0;
  while (names.Name(fmt::format("{}{:08}", filling, kept), drops) != FileInterner::rest()) ++kept;
  EXPECT_LE(kept * FileInterner::kMaxNameLength, FileInterner::kMaxNameBytes);
  EXPECT_GE((kept + 1) * FileInterner::kMaxNameLength, FileInterner::kMaxNameBytes - 16);
  EXPECT_EQ(drops.Of(DropReason::kNameLimit), 1);
}

TEST(FileInterner, LongNamesAreCutAndStayApart) {
  FileInterner names;
  DropCounters drops;
  const std::string text(1'000'000, 'x');
  const NameId a = names.Name(text + "a", drops);
  const NameId b = names.Name(text + "b", drops);
  EXPECT_NE(a, b);
  EXPECT_EQ(names.Name(text + "a", drops), a);
  EXPECT_EQ(names.NameOf(a).size(), FileInterner::kMaxNameLength);
}

}  // namespace
}  // namespace lockstep
