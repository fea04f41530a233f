#include "agent/readers/kineto/decimal.h"

#include <algorithm>
#include <array>
#include <limits>

namespace lockstep::kineto {
namespace {

constexpr int kMaxExponent = 100'000;
constexpr std::array<int64_t, 19> kPowersOfTen = [] {
  std::array<int64_t, 19> powers{};
  int64_t power = 1;
  for (int64_t& p : powers) {
    p = power;
    if (&p != &powers.back()) power *= 10;
  }
  return powers;
}();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The parts of a decimal number: sign, digits before and after the point, exponent.
struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;
};

std::string_view TakeDigits(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && IsDigit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

bool TakeSign(std::string_view& text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return negative;
}

// Clamped: beyond kMaxExponent every number is either 0 or too large.
std::optional<int> TakeExponent(std::string_view& text) {
  const bool negative = TakeSign(text);
  const std::string_view digits = TakeDigits(text);
  if (digits.empty()) return std::nullopt;
  int value = 0;
  for (const char c : digits) value = std::min(value * 10 + (c - '0'), kMaxExponent);
  return negative ? -value : value;
}

std::optional<Decimal> Split(std::string_view text) {
  Decimal d;
  d.negative = TakeSign(text);
  d.whole = TakeDigits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    d.fraction = TakeDigits(text);
  }
  if (d.whole.empty() && d.fraction.empty()) return std::nullopt;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    const std::optional<int> exponent = TakeExponent(text);
    if (!exponent.has_value()) return std::nullopt;
    d.exponent = *exponent;
  }
  if (!text.empty()) return std::nullopt;
  return d;
}

char DigitAt(const Decimal& d, size_t i) {
  if (i < d.whole.size()) return d.whole[i];
  i -= d.whole.size();
  return i < d.fraction.size() ? d.fraction[i] : '0';
}

// |d| * 10^scale rounded half up.
std::optional<uint64_t> ScaledMagnitude(const Decimal& d, int scale) {
  const size_t digits = d.whole.size() + d.fraction.size();
  size_t i = 0;
  while (i < digits && DigitAt(d, i) == '0') ++i;
  if (i == digits) return 0;
  // How many digits of the text stand before the point of the scaled number.
  const int64_t cut = static_cast<int64_t>(d.whole.size()) + d.exponent + scale;
  if (cut < 0) return 0;
  if (cut - static_cast<int64_t>(i) > std::numeric_limits<uint64_t>::digits10 + 1) return std::nullopt;
  uint64_t value = 0;
  for (; static_cast<int64_t>(i) < cut; ++i) {
    const auto digit = static_cast<uint64_t>(DigitAt(d, i) - '0');
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) || __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  const bool up = DigitAt(d, static_cast<size_t>(cut)) >= '5';
  if (up && __builtin_add_overflow(value, uint64_t{1}, &value)) return std::nullopt;
  return value;
}

// The usual form of a trace: no exponent, not more decimals than the scale, at most 18 digits once scaled.
std::optional<int64_t> ParsePlain(std::string_view text, int scale) {
  const bool negative = !text.empty() && text[0] == '-';
  size_t i = negative ? 1 : 0;
  const size_t first = i;
  uint64_t value = 0;  // wraps for long texts, which are given back below
  for (; i < text.size() && IsDigit(text[i]); ++i) value = value * 10 + static_cast<uint64_t>(text[i] - '0');
  const size_t whole = i - first;
  size_t decimals = 0;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && IsDigit(text[i]); ++i) value = value * 10 + static_cast<uint64_t>(text[i] - '0');
    decimals = i - first - whole - 1;
  }
  const auto wanted = static_cast<size_t>(scale);
  if (i != text.size() || whole == 0 || decimals > wanted || whole + wanted >= kPowersOfTen.size()) return std::nullopt;
  const auto scaled = static_cast<int64_t>(value) * kPowersOfTen[wanted - decimals];
  return negative ? -scaled : scaled;
}

}  // namespace

std::optional<int64_t> ParseScaled(std::string_view text, int scale) {
  if (const auto plain = ParsePlain(text, scale); plain.has_value()) return plain;
  const std::optional<Decimal> d = Split(text);
  if (!d.has_value()) return std::nullopt;
  const std::optional<uint64_t> magnitude = ScaledMagnitude(*d, scale);
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!magnitude.has_value() || *magnitude > kMax) return std::nullopt;
  const auto value = static_cast<int64_t>(*magnitude);
  return d->negative ? -value : value;
}

std::optional<uint64_t> ParseUnsigned(std::string_view text) {
  if (const auto plain = ParsePlain(text, 0); plain.has_value() && *plain >= 0) return static_cast<uint64_t>(*plain);
  const std::optional<Decimal> d = Split(text);
  if (!d.has_value()) return std::nullopt;
  const std::optional<uint64_t> magnitude = ScaledMagnitude(*d, 0);
  if (!magnitude.has_value() || (d->negative && *magnitude != 0)) return std::nullopt;
  return magnitude;
}

}  // namespace lockstep::kineto
