#include "analysis/base/natural_order.h"

#include <cstddef>

#include "analysis/base/ascii.h"

namespace lockstep {
namespace {

// The run of digits at `at`, without leading zeros; moves `at` behind it.
std::string_view TakeNumber(std::string_view text, size_t& at) {
  while (at < text.size() && text[at] == '0') {
    ++at;
  }
  const size_t begin = at;
  while (at < text.size() && IsAsciiDigit(text[at])) {
    ++at;
  }
  return text.substr(begin, at - begin);
}

// <0, 0, >0 as the natural order has it; different texts may be equal here ("a01", "a1").
int CompareNaturally(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsAsciiDigit(a[i]) && IsAsciiDigit(b[j])) {
      const std::string_view x = TakeNumber(a, i);
      const std::string_view y = TakeNumber(b, j);
      if (x.size() != y.size()) {
        return x.size() < y.size() ? -1 : 1;
      }
      if (const int order = x.compare(y); order != 0) {
        return order;
      }
    } else {
      if (a[i] != b[j]) {
        return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]) ? -1 : 1;
      }
      ++i;
      ++j;
    }
  }
  return static_cast<int>(i < a.size()) - static_cast<int>(j < b.size());
}

}  // namespace

bool NaturalPathLess(std::string_view a, std::string_view b) {
  const int order = CompareNaturally(a, b);
  return order != 0 ? order < 0 : a < b;
}

}  // namespace lockstep
