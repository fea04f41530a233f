#include "agent/readers/kineto/token_end.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace lockstep::kineto {
namespace {

// Bytes that differ from a quote or a backslash in one bit are among them.
TEST(TokenEnd, TheFirstQuoteOrBackslashIsTheOneThatANaiveSearchFinds) {
  std::mt19937 random(20261122);
  const std::string bytes = "\"\\#\xA2 ]\xDC" + std::string(40, 'x');
  for (int round = 0; round < 50'000; ++round) {
    std::string text(random() % 80, ' ');
    for (char& c : text) c = bytes[random() % bytes.size()];
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* const naive = std::find_if(begin, end, [](char c) { return c == '"' || c == '\\'; });
    ASSERT_EQ(FindStringSpecial(begin, end) - begin, naive - begin) << text;
  }
}

}  // namespace
}  // namespace lockstep::kineto
