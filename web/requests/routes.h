// What a target asks for: the routes of the pages and of the API (docs/openapi.json). Pure and thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/web/url.h"

namespace lockstep {

enum class WebRoute : uint8_t {
  kRunsPage,     // /
  kRunPage,      // /runs/{name}
  kComparePage,  // /compare?base=&new=
  kHistoryPage,  // /history?metric=
  kAsset,        // /assets/{name}
  kOpenApi,      // /api/v1/openapi.json
  kLogin,        // /api/v1/login
  kLogout,       // /api/v1/logout
  kRuns,         // /api/v1/runs
  kRunData,      // /api/v1/runs/{name}/page
  kReport,       // /api/v1/runs/{name}/report?view=
  kEvents,       // /api/v1/runs/{name}/events
  kCompare,      // /api/v1/compare?base=&new=
  kHistory,      // /api/v1/history?metric=&context=
};

struct WebAsked {
  WebRoute route = WebRoute::kRunsPage;
  std::string name;  // of a run, or of an asset
  UrlTarget target;
};

// kInvalidArgument: no target; kNotFound: nothing is there.
[[nodiscard]] absl::StatusOr<WebAsked> RouteOf(std::string_view target);

}  // namespace lockstep
