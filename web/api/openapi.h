// The description of the API, OpenAPI 3.1, as /api/v1/openapi.json and docs/openapi.json have it. Thread safe.
#pragma once

#include <string>

namespace lockstep {

[[nodiscard]] std::string OpenApiText();

}  // namespace lockstep
