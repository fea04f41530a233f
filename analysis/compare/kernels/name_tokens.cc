#include "analysis/compare/kernels/name_tokens.h"

#include <array>

#include "analysis/base/ascii.h"

namespace lockstep::compare {
namespace {

using Kind = NameToken::Kind;

constexpr std::string_view kAnonymousNamespace = "(anonymous namespace)";
constexpr std::string_view kUnnamedNamespace = "<unnamed>";

bool IsWordByte(char c) {
  return IsAsciiDigit(c) || (Lower(c) >= 'a' && Lower(c) <= 'z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Words that may stand in the parentheses of a cast of a number.
bool IsTypeOfNumber(std::string_view word) {
  static constexpr std::array kTypes = std::to_array<std::string_view>(
      {"int", "bool", "long", "unsigned", "signed", "char", "short", "size_t", "int32_t", "int64_t", "uint32_t"});
  for (const std::string_view type : kTypes) {
    if (type == word) return true;
  }
  return false;
}

std::string_view WithoutNumberSuffix(std::string_view number) {
  size_t digits = 0;
  while (digits < number.size() && IsAsciiDigit(number[digits])) ++digits;
  const bool suffix = number.find_first_not_of("uUlL", digits) == std::string_view::npos;
  return suffix ? number.substr(0, digits) : number;
}

NameToken WordToken(std::string_view text) {
  if (text == "true") return {Kind::kNumber, "1"};
  if (text == "false") return {Kind::kNumber, "0"};
  if (IsAsciiDigit(text.front())) return {Kind::kNumber, WithoutNumberSuffix(text)};
  return {Kind::kWord, text};
}

NameToken SignToken(std::string_view text) {
  if (text.front() == '[') return {Kind::kSign, "{"};
  if (text.front() == ']') return {Kind::kSign, "}"};
  return {Kind::kSign, text};
}

// Signs and words as they are written, without spaces, unnamed namespaces and const.
std::vector<NameToken> RawTokens(std::string_view text) {
  std::vector<NameToken> tokens;
  for (size_t at = 0; at < text.size();) {
    const std::string_view left = text.substr(at);
    if (left.starts_with(kAnonymousNamespace) || left.starts_with(kUnnamedNamespace)) {
      at += left.front() == '(' ? kAnonymousNamespace.size() : kUnnamedNamespace.size();
      if (text.substr(at).starts_with("::")) at += 2;
      continue;
    }
    size_t length = 1;
    if (IsWordByte(left.front())) {
      while (length < left.size() && IsWordByte(left[length])) ++length;
      const std::string_view word = left.substr(0, length);
      if (word != "const" && word != "__restrict__" && word != "volatile") tokens.push_back(WordToken(word));
    } else if (left.starts_with("::")) {
      length = 2;
      tokens.push_back({Kind::kSign, left.substr(0, 2)});
    } else if (left.front() != ' ' && left.front() != '\t') {
      tokens.push_back(SignToken(left.substr(0, 1)));
    }
    at += length;
  }
  return tokens;
}

bool IsSign(const std::vector<NameToken>& tokens, size_t at, std::string_view sign) {
  return at < tokens.size() && tokens[at].kind == Kind::kSign && tokens[at].text == sign;
}

// Number of tokens of a cast before a number at this place; 0 = none. Casts have few words.
size_t CastAt(const std::vector<NameToken>& tokens, size_t at) {
  constexpr size_t kMostWordsOfCast = 4;
  if (!IsSign(tokens, at, "(")) return 0;
  size_t end = at + 1;
  while (end < tokens.size() && end - at <= kMostWordsOfCast && tokens[end].kind == Kind::kWord &&
         IsTypeOfNumber(tokens[end].text)) {
    ++end;
  }
  if (end == at + 1 || !IsSign(tokens, end, ")")) return 0;
  const size_t number = IsSign(tokens, end + 1, "-") ? end + 2 : end + 1;
  const bool casts = number < tokens.size() && tokens[number].kind == Kind::kNumber;
  return casts ? end + 1 - at : 0;
}

// "(instance 3)", which nsys prints for "#3".
bool IsInstanceAt(const std::vector<NameToken>& tokens, size_t at) {
  return IsSign(tokens, at, "(") && at + 3 < tokens.size() && tokens[at + 1].text == "instance" &&
         tokens[at + 2].kind == Kind::kNumber && IsSign(tokens, at + 3, ")");
}

bool IsReturnTypeAt(const std::vector<NameToken>& tokens, size_t at) {
  return tokens[at].text == "void" && at + 1 < tokens.size() && tokens[at + 1].kind == Kind::kWord;
}

}  // namespace

std::vector<NameToken> TokensOfName(std::string_view text) {
  const std::vector<NameToken> raw = RawTokens(text);
  std::vector<NameToken> tokens;
  tokens.reserve(raw.size());
  for (size_t at = 0; at < raw.size();) {
    if (const size_t cast = CastAt(raw, at)) {
      at += cast;
    } else if (IsInstanceAt(raw, at)) {
      tokens.push_back({Kind::kSign, "#"});
      tokens.push_back(raw[at + 2]);
      at += 4;
    } else {
      if (!IsReturnTypeAt(raw, at)) tokens.push_back(raw[at]);
      ++at;
    }
  }
  return tokens;
}

std::string Spelled(const std::vector<NameToken>& tokens, size_t from) {
  std::string out;
  for (size_t i = from; i < tokens.size(); ++i) {
    const bool two_words = i > from && tokens[i].kind != Kind::kSign && tokens[i - 1].kind != Kind::kSign;
    if (two_words) out += ' ';
    out += tokens[i].text;
  }
  return out;
}

std::string_view TemplateListOf(std::string_view rest) {
  if (!rest.starts_with("<")) return {};
  int64_t angles = 0;
  int64_t brackets = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == '(' || c == '[' || c == '{') ++brackets;
    if (c == ')' || c == ']' || c == '}') --brackets;
    if (brackets != 0) continue;
    if (c == '<') ++angles;
    if (c == '>' && rest[i - 1] != '-' && --angles == 0) return rest.substr(0, i + 1);
  }
  return rest;
}

size_t StartOfQualifiedName(const std::vector<NameToken>& head) {
  size_t start = head.empty() ? 0 : head.size() - 1;
  while (start >= 2 && IsSign(head, start - 1, "::")) {
    size_t scope = start - 2;
    int64_t angles = 0;
    if (IsSign(head, scope, ">")) {
      do {
        if (IsSign(head, scope, ">")) ++angles;
        if (IsSign(head, scope, "<")) --angles;
      } while (angles > 0 && scope-- > 0);
      if (angles > 0 || scope == 0) return 0;
      --scope;
    }
    start = scope;
  }
  return start;
}

}  // namespace lockstep::compare
