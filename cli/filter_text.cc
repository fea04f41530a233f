#include "cli/filter_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"

namespace lockstep {
namespace {

struct Unit {
  std::string_view name;
  int64_t size;
};
// Longer names first, so that "ms" is not read as "m".
constexpr std::array kUnits = {Unit{"ns", 1}, Unit{"us", kNsPerUs}, Unit{"ms", kNsPerMs}, Unit{"s", kNsPerS},
                               Unit{"m", 60 * kNsPerS}};

constexpr std::array kAges = {Unit{"d", 86'400 * kNsPerS}, Unit{"h", 3'600 * kNsPerS}, Unit{"m", 60 * kNsPerS},
                              Unit{"s", kNsPerS}};
constexpr std::array kSizes = {Unit{"T", int64_t{1} << 40}, Unit{"G", int64_t{1} << 30}, Unit{"M", int64_t{1} << 20},
                               Unit{"K", int64_t{1} << 10}, Unit{"", 1}};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

// The two sides of "A..B".
std::optional<std::pair<std::string_view, std::string_view>> SplitRange(std::string_view text) {
  const size_t at = text.find("..");
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, at), text.substr(at + 2));
}

absl::StatusOr<int64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units, std::string_view flag,
                                      std::string_view understood) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == rest; });
  if (error != std::errc() || number < 0 || unit == units.end() || number > INT64_MAX / unit->size) {
    return Complain(flag, text, understood);
  }
  return number * unit->size;
}

}  // namespace

std::optional<int64_t> ToInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

absl::Status Complain(std::string_view flag, std::string_view met, std::string_view understood) {
  return absl::InvalidArgumentError(fmt::format("{} '{}' is not understood; use {}", flag, met, understood));
}

absl::StatusOr<int64_t> ParseDuration(std::string_view text) {
  const std::string whole(text);
  const auto complain = [&] { return Complain("--time", whole, "numbers with units ns us ms s m, such as 1m2s500ms"); };
  if (const auto seconds = ToInteger(text); seconds && *seconds >= 0 && *seconds < kMaxAbsTimeNs / kNsPerS) {
    return *seconds * kNsPerS;
  }
  int64_t total = 0;
  if (text.empty()) {
    return complain();
  }
  while (!text.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) {
      return complain();
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const auto* unit =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return text.starts_with(u.name); });
    if (unit == kUnits.end() || number > kMaxAbsTimeNs / unit->size - 1) {
      return complain();
    }
    text.remove_prefix(unit->name.size());
    total += number * unit->size;
    if (total > kMaxAbsTimeNs) {
      return complain();
    }
  }
  return total;
}

absl::StatusOr<std::pair<int64_t, int64_t>> ParseStepRange(std::string_view text) {
  const auto sides = SplitRange(text).value_or(std::pair(text, text));
  const auto first = ToInteger(sides.first);
  const auto last = ToInteger(sides.second);
  if (!first || !last || *first > *last) {
    return Complain("--steps", text, "A..B with A not above B, or one number");
  }
  return std::pair(*first, *last);
}

absl::StatusOr<std::pair<int64_t, int64_t>> ParseTimeRange(std::string_view text) {
  const auto sides = SplitRange(text);
  if (!sides) {
    return Complain("--time", text, "A..B, such as 5s..7s");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t from, ParseDuration(sides->first));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t to, ParseDuration(sides->second));
  if (from >= to) {
    return Complain("--time", text, "A..B with A before B");
  }
  return std::pair(from, to);
}

absl::StatusOr<std::vector<int32_t>> ParseRanks(std::string_view text) {
  constexpr int64_t kMostRanks = 1'000'000;
  std::vector<int32_t> ranks;
  for (const std::string_view part : Split(text, ',')) {
    const size_t dash = part.find('-', 1);
    const auto first = ToInteger(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ToInteger(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostRanks) {
      return Complain("--ranks", text, "ranks and ranges separated by commas, such as 0,2,8-15");
    }
    // Ranges that overlap again and again must not grow without bound.
    if (static_cast<int64_t>(ranks.size()) + *last - *first >= kMostRanks) {
      return Complain("--ranks", text, "at most a million ranks, each once");
    }
    for (int64_t rank = *first; rank <= *last; ++rank) {
      ranks.push_back(static_cast<int32_t>(rank));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

absl::StatusOr<int64_t> ParseAge(std::string_view text) {
  return ParseWithUnit(text, kAges, "--older-than", "a number with d, h, m or s, such as 7d");
}

absl::StatusOr<int64_t> ParseByteCount(std::string_view text) {
  return ParseWithUnit(text, kSizes, "--keep-bytes", "a number with K, M, G or T, such as 10G");
}

}  // namespace lockstep
