#include "analysis/report/text/text_words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "analysis/base/utf8.h"
#include "analysis/model/kernel_name.h"

namespace lockstep {
namespace {

using Range = std::pair<uint32_t, uint32_t>;

constexpr std::array<Range, 12> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1F64F},
                                          {0x1F680, 0x1F6FF},
                                          {0x1F900, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 4> kCombining = {{{0x0300, 0x036F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};
// C0, delete and C1, soft hyphen, zero-width and direction marks, line separators, byte order mark, tags.
constexpr std::array<Range, 9> kHarmful = {{{0x00, 0x1F},
                                            {0x7F, 0x9F},
                                            {0xAD, 0xAD},
                                            {0x061C, 0x061C},
                                            {0x200B, 0x200F},
                                            {0x2028, 0x202E},
                                            {0x2060, 0x206F},
                                            {0xFEFF, 0xFEFF},
                                            {0xE0000, 0xE0FFF}}};

template <size_t n>
bool Contains(const std::array<Range, n>& ranges, uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return code >= range.first && code <= range.second; });
}

struct Character {
  std::string_view bytes;
  uint32_t code = 0;
};

// The first character of valid, non-empty UTF-8.
Character FirstOf(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text.front());
  const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code = size == 1 ? lead : lead & (0x7FU >> size);
  for (size_t i = 1; i < size && i < text.size(); ++i) code = (code << 6) | (static_cast<uint8_t>(text[i]) & 0x3FU);
  return {text.substr(0, size), code};
}

size_t WidthOf(uint32_t code) { return Contains(kCombining, code) ? 0 : Contains(kWide, code) ? 2 : 1; }

// The longest prefix of at most `width` columns.
std::string_view Head(std::string_view text, size_t width) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const Character next = FirstOf(text.substr(bytes));
    const size_t columns = WidthOf(next.code);
    if (columns > width) break;
    width -= columns;
    bytes += next.bytes.size();
  }
  return text.substr(0, bytes);
}

// The longest suffix of at most `width` columns.
std::string_view Tail(std::string_view text, size_t width) {
  const size_t all = DisplayWidth(text);
  if (all <= width) return text;
  size_t skip = all - width;
  while (!text.empty() && skip > 0) {
    const Character first = FirstOf(text);
    skip -= std::min(skip, WidthOf(first.code));
    text.remove_prefix(first.bytes.size());
  }
  return text;
}

std::string CutMiddle(std::string_view text, size_t head, size_t width) {
  constexpr std::string_view kDots = "...";
  if (width <= kDots.size()) return std::string(Head(text, width));
  head = std::min(head, width - kDots.size());
  std::string result(Head(text, head));
  result += kDots;
  result += Tail(text, width - kDots.size() - head);
  return result;
}

// Without the argument list that ends the name.
std::string_view WithoutArguments(std::string_view name) {
  if (name.empty() || name.back() != ')') return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i == 0 ? name : name.substr(0, i);
  }
  return name;
}

bool IsWordCharacter(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Length of a namespace or class name with its "::" at the front of the text, 0 = none.
size_t QualifierAt(std::string_view text) {
  for (const std::string_view unnamed : {"(anonymous namespace)::", "<unnamed>::"}) {
    if (text.starts_with(unnamed)) return unnamed.size();
  }
  size_t end = 0;
  while (end < text.size() && IsWordCharacter(text[end])) ++end;
  return end > 0 && text.substr(end).starts_with("::") ? end + 2 : 0;
}

// Length of a cast of a template argument, "(int)" before "4", 0 = none.
size_t CastAt(std::string_view text) {
  if (text.empty() || text.front() != '(') return 0;
  const size_t close = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz ", 1);
  if (close == std::string_view::npos || close < 2 || text[close] != ')' || close + 1 == text.size()) return 0;
  const char next = text[close + 1];
  return (next >= '0' && next <= '9') || next == '-' ? close + 1 : 0;
}

// Template arguments without namespaces and casts.
std::string WithoutQualifiers(std::string_view name) {
  std::string plain;
  bool starts_word = true;
  while (!name.empty()) {
    const size_t skip = starts_word ? std::max(QualifierAt(name), CastAt(name)) : 0;
    if (skip == 0) plain += name.front();
    starts_word = skip > 0 || !IsWordCharacter(name.front());
    name.remove_prefix(std::max<size_t>(skip, 1));
  }
  return plain;
}

}  // namespace

std::string Printable(std::string_view text) {
  const std::string valid = RepairUtf8(text);
  std::string result;
  result.reserve(valid.size());
  for (std::string_view rest = valid; !rest.empty();) {
    const Character next = FirstOf(rest);
    if (Contains(kHarmful, next.code)) {
      result += '?';
    } else {
      result += next.bytes;
    }
    rest.remove_prefix(next.bytes.size());
  }
  return result;
}

size_t DisplayWidth(std::string_view printable) {
  size_t width = 0;
  while (!printable.empty()) {
    const Character next = FirstOf(printable);
    width += WidthOf(next.code);
    printable.remove_prefix(next.bytes.size());
  }
  return width;
}

std::string Shorten(std::string_view printable, size_t width) {
  if (DisplayWidth(printable) <= width) return std::string(printable);
  return CutMiddle(printable, width / 2, width);
}

std::string ShortenKernel(std::string_view printable, size_t width) {
  constexpr std::string_view kVoid = "void ";
  if (printable.substr(0, kVoid.size()) == kVoid) printable.remove_prefix(kVoid.size());
  if (DisplayWidth(printable) <= width) return std::string(printable);
  std::string_view name = WithoutArguments(printable);
  if (DisplayWidth(name) <= width) return std::string(name);
  const KernelNameParts parts = SplitKernelName(name);
  name.remove_prefix(static_cast<size_t>(parts.base.data() - name.data()));
  if (DisplayWidth(name) <= width) return std::string(name);
  const std::string plain = WithoutQualifiers(name);
  if (DisplayWidth(plain) <= width) return plain;
  const size_t own = std::min(DisplayWidth(parts.base), width);
  return CutMiddle(plain, own + (width - own) * 3 / 5, width);
}

std::string ShortenPath(std::string_view printable, size_t width) {
  if (DisplayWidth(printable) <= width) return std::string(printable);
  return CutMiddle(printable, width / 4, width);
}

std::vector<std::string> Wrap(std::string_view printable, size_t width) {
  width = std::max<size_t>(width, 2);
  std::vector<std::string> lines = {""};
  while (!printable.empty()) {
    const size_t blank = std::min(printable.find(' '), printable.size());
    std::string_view word = printable.substr(0, blank);
    printable.remove_prefix(std::min(blank + 1, printable.size()));
    if (word.empty()) continue;
    const size_t used = DisplayWidth(lines.back());
    if (used > 0 && used + 1 + DisplayWidth(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    while (DisplayWidth(word) > width) {
      const std::string_view part = Head(word, width);
      lines.back() += part;
      lines.emplace_back();
      word.remove_prefix(part.size());
    }
    lines.back() += word;
  }
  return lines;
}

std::string NameInScope(std::string_view scope, std::string_view id) {
  if (scope == "gpu") return fmt::format("GPU {} of each host", id.substr(id.find_last_of(' ') + 1));
  const std::string_view shown = scope.empty() ? "rank" : scope;
  return id.starts_with(shown) ? std::string(id) : std::string(shown) + " " + std::string(id);
}

}  // namespace lockstep
