// The target of a request taken apart (RFC 3986): path segments and query parameters as bytes, percent-decoded once.
//
// Segments are split before they are decoded, so that an encoded slash is part of a name. Nothing here knows files, and
// nothing is resolved: "." and ".." are names like others. Pure and thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

struct UrlTarget {
  std::vector<std::string> segments;                            // of "/a/b": "a", "b"; of "/": none
  std::vector<std::pair<std::string, std::string>> parameters;  // in their order; '+' is a space
  // The first of that name; null without one.
  [[nodiscard]] const std::string* Find(std::string_view name) const;
};

// Null for what is no path with an optional query: another first character than '/', a '%' without two hexadecimal
// digits, a fragment, a control character or a byte beyond ASCII.
[[nodiscard]] std::optional<UrlTarget> ParseTarget(std::string_view target);

// "?a=b&c=d", encoded again; "" without parameters.
[[nodiscard]] std::string QueryText(const UrlTarget& target);

// All bytes but letters, digits, '-', '_', '.' and '~' as %XX: safe in a path, in a query and in HTML.
[[nodiscard]] std::string PercentEncode(std::string_view bytes);

}  // namespace lockstep
