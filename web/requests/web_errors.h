// Errors as the API says them: {"error": "not_found", "reason": "..."} with a fitting status. Pure and thread safe.
#pragma once

#include <absl/status/status.h>

#include <string_view>

#include "platform/web/http_message.h"

namespace lockstep {

[[nodiscard]] HttpResponse ErrorResponse(const absl::Status& status);
[[nodiscard]] HttpResponse ErrorResponse(int status, std::string_view error, std::string_view reason);

}  // namespace lockstep
