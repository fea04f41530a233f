#include "analysis/stats/sort_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace lockstep {
namespace {

constexpr size_t kFew = 256;  // so many are compared faster than counted
constexpr uint32_t kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

// Keeps the order of values with equal digits.
void SortByDigit(const std::vector<int64_t>& values, uint32_t shift, std::vector<int64_t>& sorted) {
  const auto digit = [shift](int64_t value) { return (static_cast<uint64_t>(value) >> shift) & (kDigits - 1); };
  std::array<size_t, kDigits> next{};
  for (const int64_t value : values) ++next[digit(value)];
  size_t before = 0;
  for (size_t& count : next) {
    const size_t with_digit = count;
    count = before;
    before += with_digit;
  }
  for (const int64_t value : values) sorted[next[digit(value)]++] = value;
}

}  // namespace

void SortValues(std::vector<int64_t>& values) {
  const auto below = [](int64_t a, int64_t b) { return static_cast<uint64_t>(a) < static_cast<uint64_t>(b); };
  if (values.size() < kFew) return std::sort(values.begin(), values.end(), below);
  uint64_t used = 0;
  for (const int64_t value : values) used |= static_cast<uint64_t>(value);
  std::vector<int64_t> sorted(values.size());
  for (uint32_t shift = 0; shift < static_cast<uint32_t>(std::bit_width(used)); shift += kDigitBits) {
    SortByDigit(values, shift, sorted);
    values.swap(sorted);
  }
}

}  // namespace lockstep
