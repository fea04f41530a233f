#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analysis/base/status_macros.h"
#include "bench/simulator/command/simulator_options.h"

namespace lockstep {
namespace {

template <typename Number>
absl::StatusOr<Number> ParseNumber(std::string_view text, std::string_view what) {
  Number value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    return absl::InvalidArgumentError(fmt::format("'{}' is not {}", text, what));
  }
  return value;
}

}  // namespace

absl::StatusOr<int64_t> ParseInteger(std::string_view text) { return ParseNumber<int64_t>(text, "an integer"); }

absl::StatusOr<uint64_t> ParseUnsigned(std::string_view text) {
  return ParseNumber<uint64_t>(text, "an integer from 0 to 2^64 - 1");
}

absl::StatusOr<double> ParseReal(std::string_view text) {
  LOCKSTEP_ASSIGN_OR_RETURN(const double value, ParseNumber<double>(text, "a number"));
  if (!(value > -1e15 && value < 1e15)) {
    return absl::InvalidArgumentError(fmt::format("'{}' is no number that can be meant", text));
  }
  return value;
}

absl::StatusOr<std::map<std::string, std::string>> ParseKeyValues(std::string_view text) {
  std::map<std::string, std::string> values;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == item.size()) {
      return absl::InvalidArgumentError(fmt::format("'{}' should be key=value", item));
    }
    const std::string key(item.substr(0, equals));
    if (!values.emplace(key, std::string(item.substr(equals + 1))).second) {
      return absl::InvalidArgumentError(fmt::format("the key '{}' is given twice", key));
    }
  }
  return values;
}

absl::StatusOr<Spec> ParseSpec(std::string_view text) {
  const size_t colon = text.find(':');
  Spec spec;
  spec.kind = std::string(text.substr(0, colon));
  if (spec.kind.empty())
    return absl::InvalidArgumentError(fmt::format("'{}' names no kind; write KIND[:k=v,...]", text));
  if (colon != std::string_view::npos) {
    LOCKSTEP_ASSIGN_OR_RETURN(spec.values, ParseKeyValues(text.substr(colon + 1)));
  }
  return spec;
}

}  // namespace lockstep
