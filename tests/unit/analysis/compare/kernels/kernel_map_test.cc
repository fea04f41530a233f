#include "analysis/compare/kernels/kernel_map.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::compare {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto map = KernelMap::Parse(text, "names.map");
  return map.ok() ? "" : std::string(map.status().message());
}

TEST(KernelMap, LinesAreNamesOrPatterns) {
  const auto map = KernelMap::Parse("# comment\n\nold_kernel = new_kernel\r\n /^ampere_.*gemm/ = nvjet\n", "f");
  ASSERT_TRUE(map.ok());
  ASSERT_EQ(map->lines().size(), 2U);
  EXPECT_EQ(map->lines()[0].line, 3U);
  EXPECT_TRUE(*SpeaksOfOld(map->lines()[0], "old_kernel"));
  EXPECT_TRUE(*SpeaksOfOld(map->lines()[0], "void ns::old_kernel<4>(int)"));
  EXPECT_FALSE(*SpeaksOfOld(map->lines()[0], "old_kernel_2"));
  EXPECT_TRUE(*SpeaksOfOld(map->lines()[1], "ampere_sgemm_128x64_tn"));
  EXPECT_FALSE(*SpeaksOfOld(map->lines()[1], "volta_sgemm_128x64_tn"));
  EXPECT_TRUE(SpeaksOfNew(map->lines()[1], "nvjet"));
}

TEST(KernelMap, NamesWithTheSeparatorStandInQuotes) {
  const auto map = KernelMap::Parse("\"k<a = b>\" = \"k<c = d>\"\n", "f");
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->lines()[0].before, "k<a = b>");
  EXPECT_EQ(map->lines()[0].after, "k<c = d>");
}

TEST(KernelMap, ErrorsNameTheLineAndWhatIsWrong) {
  EXPECT_EQ(ErrorOf("a = b\nno separator"),
            "names.map: line 2: 'no separator' has no ' = ' between the old and the new name");
  EXPECT_NE(ErrorOf("a = b = c").find("line 1: there is more than one ' = '"), std::string::npos);
  EXPECT_NE(ErrorOf("/(/ = c").find("line 1: '(' is no regular expression"), std::string::npos);
  EXPECT_NE(ErrorOf("/x = c").find("lacks the '/'"), std::string::npos);
  EXPECT_NE(ErrorOf("\"\" = c").find("the old name is empty"), std::string::npos);
  EXPECT_NE(ErrorOf("a = b\na = c").find("line 2: line 1 maps 'a' to another kernel, 'b'"), std::string::npos);
  EXPECT_NE(ErrorOf("/" + std::string(2'000, 'a') + "/ = c").find("2000 characters"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::compare
