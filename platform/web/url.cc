#include "platform/web/url.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += plus_is_space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = HexValue(text[i + 1]);
    const int low = HexValue(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return bytes;
}

// Calls `take` with each part; false as soon as it says so.
template <typename Take>
bool ForEachPart(std::string_view text, char separator, Take take) {
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    if (!take(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

bool TakeParameter(std::string_view part, UrlTarget& target) {
  if (part.empty()) return true;
  const size_t equals = std::min(part.find('='), part.size());
  std::optional<std::string> name = PercentDecode(part.substr(0, equals), true);
  std::optional<std::string> value = PercentDecode(part.substr(std::min(equals + 1, part.size())), true);
  if (!name || !value) return false;
  target.parameters.emplace_back(*std::move(name), *std::move(value));
  return true;
}

}  // namespace

const std::string* UrlTarget::Find(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::optional<UrlTarget> ParseTarget(std::string_view text) {
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7F' && c != '#'; };
  if (!text.starts_with('/') || !std::all_of(text.begin(), text.end(), is_plain)) return std::nullopt;
  const size_t query = std::min(text.find('?'), text.size());
  UrlTarget target;
  const std::string_view path = text.substr(1, query - 1);
  const bool segments_ok = path.empty() || ForEachPart(path, '/', [&](std::string_view part) {
                             std::optional<std::string> segment = PercentDecode(part, false);
                             if (segment) target.segments.push_back(*std::move(segment));
                             return segment.has_value();
                           });
  if (!segments_ok) return std::nullopt;
  if (query < text.size() &&
      !ForEachPart(text.substr(query + 1), '&', [&](std::string_view part) { return TakeParameter(part, target); })) {
    return std::nullopt;
  }
  return target;
}

std::string PercentEncode(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    if (plain) {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += '%';
      text += kHexDigits[byte >> 4];
      text += kHexDigits[byte & 15];
    }
  }
  return text;
}

std::string QueryText(const UrlTarget& target) {
  std::string text;
  for (const auto& [name, value] : target.parameters) {
    text += (text.empty() ? "?" : "&") + PercentEncode(name) + "=" + PercentEncode(value);
  }
  return text;
}

}  // namespace lockstep
