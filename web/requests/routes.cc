#include "web/requests/routes.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr std::string_view kAnyName = "*";

// A path, segment by segment; kAnyName is the name of something.
struct RoutePattern {
  WebRoute route;
  size_t length;
  std::array<std::string_view, 5> segments;
};

constexpr std::array kPatterns = {
    RoutePattern{WebRoute::kRunsPage, 0, {}},
    RoutePattern{WebRoute::kRunPage, 2, {"runs", kAnyName}},
    RoutePattern{WebRoute::kComparePage, 1, {"compare"}},
    RoutePattern{WebRoute::kHistoryPage, 1, {"history"}},
    RoutePattern{WebRoute::kAsset, 2, {"assets", kAnyName}},
    RoutePattern{WebRoute::kOpenApi, 3, {"api", "v1", "openapi.json"}},
    RoutePattern{WebRoute::kLogin, 3, {"api", "v1", "login"}},
    RoutePattern{WebRoute::kLogout, 3, {"api", "v1", "logout"}},
    RoutePattern{WebRoute::kRuns, 3, {"api", "v1", "runs"}},
    RoutePattern{WebRoute::kRunData, 5, {"api", "v1", "runs", kAnyName, "page"}},
    RoutePattern{WebRoute::kReport, 5, {"api", "v1", "runs", kAnyName, "report"}},
    RoutePattern{WebRoute::kEvents, 5, {"api", "v1", "runs", kAnyName, "events"}},
    RoutePattern{WebRoute::kCompare, 3, {"api", "v1", "compare"}},
    RoutePattern{WebRoute::kHistory, 3, {"api", "v1", "history"}},
};

// The name where the pattern has one, "" where it has none; nothing where it does not fit.
std::optional<std::string> NameBy(const RoutePattern& pattern, const std::vector<std::string>& segments) {
  if (segments.size() != pattern.length) return std::nullopt;
  std::string name;
  for (size_t i = 0; i < pattern.length; ++i) {
    if (pattern.segments[i] == kAnyName) {
      if (segments[i].empty()) return std::nullopt;
      name = segments[i];
    } else if (segments[i] != pattern.segments[i]) {
      return std::nullopt;
    }
  }
  return name;
}

}  // namespace

absl::StatusOr<WebAsked> RouteOf(std::string_view text) {
  std::optional<UrlTarget> target = ParseTarget(text);
  if (!target) {
    return absl::InvalidArgumentError(
        "the URL is not a path with percent-encoded bytes: each % needs two hexadecimal digits");
  }
  for (const RoutePattern& pattern : kPatterns) {
    if (std::optional<std::string> name = NameBy(pattern, target->segments)) {
      return WebAsked{.route = pattern.route, .name = *std::move(name), .target = *std::move(target)};
    }
  }
  return absl::NotFoundError("there is no such page; /api/v1/openapi.json describes what there is");
}

}  // namespace lockstep
