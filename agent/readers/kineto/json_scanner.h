// A lenient scanner over JSON bytes in memory, made for damaged and home-made traces. It checks the grammar closely
// enough to notice at once where quotes or brackets go wrong, but accepts what occurs in the wild: NaN and Infinity,
// trailing and repeated commas, raw control characters and invalid escapes in strings. It copies nothing. Pure; one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/readers/kineto/token_end.h"

namespace lockstep::kineto {

// May stand before the value. No scanner skips it.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

enum class Scan : uint8_t {
  kOk,
  kMore,    // the bytes end inside the value
  kBroken,  // no JSON; see JsonScanner::resync_hint
};

struct JsonToken {
  enum class Kind : uint8_t { kNone, kString, kScalar, kObject, kArray };
  std::string_view text;  // a string without its quotes, still escaped; a scalar; a container with its brackets
  Kind kind = Kind::kNone;
  bool escaped = false;  // a string with a backslash in it

  [[nodiscard]] bool present() const { return kind != Kind::kNone; }
  [[nodiscard]] bool is_string() const { return kind == Kind::kString; }
};

class JsonScanner {
 public:
  explicit JsonScanner(std::string_view bytes)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()), resync_hint_(bytes.data()) {}

  // Skips white space; '\0' at the end of the bytes (a NUL byte in the text is never significant).
  char Peek() {
    while (position_ != end_ && IsSpace(*position_)) ++position_;
    return position_ == end_ ? '\0' : *position_;
  }
  // After Peek: steps over the significant byte.
  void Advance() { ++position_; }

  // Any value at the next significant byte.
  Scan Value(JsonToken& token);
  // "key" and its colon.
  Scan Key(JsonToken& key);

  // Calls member(key, value) for every member of the object that starts at the next significant byte.
  template <typename Member>
  Scan Object(Member&& member);
  // Calls element(value) for every element of the array that starts at the next significant byte.
  template <typename Element>
  Scan Array(Element&& element);

  [[nodiscard]] const char* position() const { return position_; }
  // Where the search for the next sound place may begin after kBroken: the start of the last string, since a lost quote
  // makes a string swallow what follows it.
  [[nodiscard]] const char* resync_hint() const { return resync_hint_; }

  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

 private:
  Scan String(JsonToken& token);
  Scan Scalar(JsonToken& token);
  Scan Container(JsonToken& token);
  // Steps over a value-separating comma (or several); false if what follows is no comma and not `close`.
  Scan Separator(char close);

  const char* position_;
  const char* end_;
  const char* resync_hint_;
};

inline Scan JsonScanner::String(JsonToken& token) {
  resync_hint_ = position_;
  const char* const start = position_ + 1;
  const char* p = start;
  bool escaped = false;
  while (true) {
    p = FindStringSpecial(p, end_);
    if (p == end_) return Scan::kMore;
    if (*p == '"') break;
    escaped = true;
    if (end_ - p < 2) return Scan::kMore;
    p += 2;
  }
  token = {std::string_view(start, static_cast<size_t>(p - start)), JsonToken::Kind::kString, escaped};
  position_ = p + 1;
  return Scan::kOk;
}

inline Scan JsonScanner::Scalar(JsonToken& token) {
  const char* const start = position_;
  const char* p = start;
  while (p != end_ && IsScalarByte(*p)) ++p;
  if (p == end_) return Scan::kMore;
  if (p == start) return Scan::kBroken;
  token = {std::string_view(start, static_cast<size_t>(p - start)), JsonToken::Kind::kScalar, false};
  position_ = p;
  return Scan::kOk;
}

inline Scan JsonScanner::Value(JsonToken& token) {
  switch (Peek()) {
    case '\0':
      return position_ == end_ ? Scan::kMore : Scan::kBroken;
    case '"':
      return String(token);
    case '{':
    case '[':
      return Container(token);
    default:
      return Scalar(token);
  }
}

inline Scan JsonScanner::Key(JsonToken& key) {
  if (Peek() != '"') return position_ == end_ ? Scan::kMore : Scan::kBroken;
  if (const Scan s = String(key); s != Scan::kOk) return s;
  if (Peek() != ':') return position_ == end_ ? Scan::kMore : Scan::kBroken;
  Advance();
  return Scan::kOk;
}

inline Scan JsonScanner::Separator(char close) {
  const char c = Peek();
  if (c == ',' || c == close) return Scan::kOk;
  return position_ == end_ ? Scan::kMore : Scan::kBroken;
}

template <typename Member>
Scan JsonScanner::Object(Member&& member) {
  if (Peek() != '{') return position_ == end_ ? Scan::kMore : Scan::kBroken;
  Advance();
  while (true) {
    while (Peek() == ',') Advance();
    if (position_ == end_) return Scan::kMore;
    if (*position_ == '}') break;
    JsonToken key;
    JsonToken value;
    if (const Scan s = Key(key); s != Scan::kOk) return s;
    if (const Scan s = Value(value); s != Scan::kOk) return s;
    member(key, value);
    if (const Scan s = Separator('}'); s != Scan::kOk) return s;
  }
  Advance();
  return Scan::kOk;
}

template <typename Element>
Scan JsonScanner::Array(Element&& element) {
  if (Peek() != '[') return position_ == end_ ? Scan::kMore : Scan::kBroken;
  Advance();
  while (true) {
    while (Peek() == ',') Advance();
    if (position_ == end_) return Scan::kMore;
    if (*position_ == ']') break;
    JsonToken value;
    if (const Scan s = Value(value); s != Scan::kOk) return s;
    element(value);
    if (const Scan s = Separator(']'); s != Scan::kOk) return s;
  }
  Advance();
  return Scan::kOk;
}

// The string's real bytes. Invalid escapes are kept as they stand and lone surrogates become U+FFFD; `repaired` tells
// whether that happened.
[[nodiscard]] std::string Unescape(std::string_view text, bool& repaired);

// Steps over one JSON value of any size, fed piece by piece; only strings and brackets are looked at.
class ValueSkipper {
 public:
  // Consumes from the piece; returns how many bytes. done() tells whether the value ended inside it.
  size_t Feed(std::string_view piece);
  [[nodiscard]] bool done() const { return done_; }

 private:
  int64_t depth_ = 0;
  bool in_string_ = false;
  bool escape_ = false;
  bool done_ = false;
};

}  // namespace lockstep::kineto
