#include "analysis/report/text/text_words.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace lockstep {
namespace {

constexpr std::string_view kElementwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, "
    "at::native::FillFunctor<float>, std::array<char*, 1ul>)";

TEST(TextWords, EscapesOfATraceCannotReachTheTerminal) {
  EXPECT_EQ(Printable("\x1b[31mred\a\r\n\x7f"), "?[31mred????");
  EXPECT_EQ(Printable("a\u202Eb\u2028c\u009Bd\u061Ce"), "a?b?c?d?e");
}

TEST(TextWords, InvalidUtf8BecomesTheReplacementCharacter) { EXPECT_EQ(Printable("a\xff\xc3"), "a\uFFFD\uFFFD"); }

TEST(TextWords, OrdinaryTextOfAnyLanguageStays) { EXPECT_EQ(Printable("größe 你好 😀"), "größe 你好 😀"); }

TEST(TextWords, WideCharactersTakeTwoColumnsAndAccentsNone) {
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("你好"), 4U);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1U);
}

TEST(TextWords, ShortenKeepsBothEnds) {
  EXPECT_EQ(Shorten("abcdefghijklmnop", 9), "abcd...op");
  EXPECT_EQ(Shorten("abc", 3), "abc");
}

TEST(TextWords, ShortenNeverExceedsTheWidth) {
  for (size_t width = 1; width < 30; ++width) {
    EXPECT_LE(DisplayWidth(Shorten("你好你好 name 你好你好你好 with more", width)), width);
    EXPECT_LE(DisplayWidth(ShortenKernel(kElementwise, width)), width);
    EXPECT_LE(DisplayWidth(ShortenPath("/data/traces/run/rank0.pt.trace.json", width)), width);
  }
}

TEST(TextWords, AKernelLosesItsReturnTypeAndArgumentsFirst) {
  EXPECT_EQ(ShortenKernel("void ns::foo<int>(float, (anonymous namespace)::bar)", 20), "ns::foo<int>");
}

TEST(TextWords, AKernelLosesItsNamespacesBeforeItsTemplateArguments) {
  EXPECT_EQ(ShortenKernel("void a_long_namespace::foo<int, float>(float)", 16), "foo<int, float>");
}

TEST(TextWords, AKernelLosesNamespacesAndCastsInsideItsTemplateArguments) {
  EXPECT_EQ(ShortenKernel("foo<(int)128, (bool)0, at::native::(anonymous namespace)::Bar<c10::BFloat16>>(int)", 34),
            "foo<128, 0, Bar<BFloat16>>");
}

TEST(TextWords, WhatOnlyLooksLikeACastStays) {
  EXPECT_EQ(ShortenKernel("foo<&lambda(int) (instance 1), a_name::b, (int)x>", 44),
            "foo<&lambda(int) (instance 1), b, (int)x>");
}

TEST(TextWords, TheFunctionsNameIsTheLastToGo) {
  const std::string shortened = ShortenKernel(kElementwise, 40);
  EXPECT_EQ(shortened.substr(0, 30), "vectorized_elementwise_kernel<");
}

TEST(TextWords, APathKeepsItsFile) {
  EXPECT_EQ(ShortenPath("/data/traces/of/a/run/rank12.json", 20), "/data.../rank12.json");
}

TEST(TextWords, WrapBreaksAtBlanksAndLosesNoWord) {
  const std::vector<std::string> lines = Wrap("one two  three four", 9);
  EXPECT_EQ(lines, (std::vector<std::string>{"one two", "three", "four"}));
}

TEST(TextWords, WrapBreaksAWordThatIsTooLong) {
  EXPECT_EQ(Wrap("ab cdefghij", 4), (std::vector<std::string>{"ab", "cdef", "ghij"}));
}

TEST(TextWords, WrapOfNothingIsOneEmptyLine) { EXPECT_EQ(Wrap("", 10), std::vector<std::string>{""}); }

}  // namespace
}  // namespace lockstep
