#include "agent/readers/kineto/json_scanner.h"

#include <bitset>

namespace lockstep::kineto {
namespace {

constexpr size_t kMaxDepth = 256;

}  // namespace

// Iterative, so that no nesting overruns the stack. `value_ended` is true right after a value, when only a separator, a
// closing bracket or (after a key) a colon may follow: a stray quote breaks that at once.
Scan JsonScanner::Container(JsonToken& token) {
  const char* const start = position_;
  std::bitset<kMaxDepth> is_object;
  size_t depth = 0;
  bool in_object = false;
  bool value_ended = false;
  bool may_be_key = false;
  do {
    const char c = Peek();
    if (position_ == end_) return Scan::kMore;
    if (c == ',') {
      value_ended = may_be_key = false;
      Advance();
    } else if (c == ':') {
      if (!in_object || !may_be_key) return Scan::kBroken;
      value_ended = may_be_key = false;
      Advance();
    } else if (c == '}' || c == ']') {
      if (in_object != (c == '}')) return Scan::kBroken;
      --depth;
      in_object = depth != 0 && is_object[depth - 1];
      value_ended = true;
      may_be_key = false;
      Advance();
    } else if (value_ended) {
      return Scan::kBroken;
    } else if (c == '{' || c == '[') {
      if (depth == kMaxDepth) return Scan::kBroken;
      in_object = c == '{';
      is_object[depth++] = in_object;
      Advance();
    } else {
      JsonToken inner;
      if (const Scan s = c == '"' ? String(inner) : Scalar(inner); s != Scan::kOk) return s;
      value_ended = true;
      may_be_key = inner.is_string();
    }
  } while (depth != 0);
  token.text = std::string_view(start, static_cast<size_t>(position_ - start));
  token.kind = *start == '{' ? JsonToken::Kind::kObject : JsonToken::Kind::kArray;
  token.escaped = false;
  return Scan::kOk;
}

namespace {

constexpr uint32_t kReplacement = 0xFFFD;

void AppendUtf8(uint32_t code, std::string& out) {
  const auto byte = [&out](uint32_t b) { out.push_back(static_cast<char>(b)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

// Four hexadecimal digits at `at`; -1 if they are not.
int32_t HexQuad(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return -1;
  int32_t value = 0;
  for (const char c : text.substr(at, 4)) {
    int digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = (c | 0x20) - 'a' + 10;
    } else {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

bool IsHighSurrogate(int32_t c) { return c >= 0xD800 && c < 0xDC00; }
bool IsLowSurrogate(int32_t c) { return c >= 0xDC00 && c < 0xE000; }

// At the backslash of \uXXXX; returns the length consumed, 0 if it is no such escape.
size_t AppendUnicodeEscape(std::string_view text, size_t at, std::string& out, bool& repaired) {
  const int32_t first = HexQuad(text, at + 2);
  if (first < 0) return 0;
  if (IsHighSurrogate(first) && text.substr(at + 6, 2) == "\\u") {
    if (const int32_t second = HexQuad(text, at + 8); IsLowSurrogate(second)) {
      AppendUtf8(static_cast<uint32_t>(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)), out);
      return 12;
    }
  }
  const bool lone = IsHighSurrogate(first) || IsLowSurrogate(first);
  repaired = repaired || lone;
  AppendUtf8(lone ? kReplacement : static_cast<uint32_t>(first), out);
  return 6;
}

char SimpleEscape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

}  // namespace

std::string Unescape(std::string_view text, bool& repaired) {
  std::string out;
  out.reserve(text.size());
  size_t i = 0;
  while (i < text.size()) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i++]);
      continue;
    }
    if (const char plain = SimpleEscape(text[i + 1]); plain != '\0') {
      out.push_back(plain);
      i += 2;
      continue;
    }
    const size_t taken = text[i + 1] == 'u' ? AppendUnicodeEscape(text, i, out, repaired) : 0;
    if (taken == 0) {
      repaired = true;
      out.push_back(text[i]);
    }
    i += taken == 0 ? 1 : taken;
  }
  return out;
}

size_t ValueSkipper::Feed(std::string_view piece) {
  const char* const begin = piece.data();
  const char* const end = begin + piece.size();
  const char* p = begin;
  while (p != end && !done_) {
    if (escape_) {
      escape_ = false;
      ++p;
      continue;
    }
    if (in_string_) {
      p = FindStringSpecial(p, end);
      if (p == end) break;
      escape_ = *p == '\\';
      in_string_ = escape_;
    } else if (*p == '"') {
      in_string_ = true;
    } else if (*p == '{' || *p == '[') {
      ++depth_;
    } else if (*p == '}' || *p == ']') {
      --depth_;
    }
    ++p;
    done_ = depth_ <= 0 && !in_string_;
  }
  return static_cast<size_t>(p - begin);
}

}  // namespace lockstep::kineto
