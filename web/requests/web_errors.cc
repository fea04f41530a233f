#include "web/requests/web_errors.h"

#include <memory>
#include <string>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

struct ErrorKind {
  absl::StatusCode code;
  int status;
  const char* error;
};

// What another aggregator says of our own token is not about the asker's: that never comes here as a status of a page.
constexpr ErrorKind kErrorKinds[] = {
    {absl::StatusCode::kInvalidArgument, 400, "invalid"},
    {absl::StatusCode::kOutOfRange, 400, "invalid"},
    {absl::StatusCode::kUnauthenticated, 401, "unauthenticated"},
    {absl::StatusCode::kPermissionDenied, 403, "permission_denied"},
    {absl::StatusCode::kNotFound, 404, "not_found"},
    {absl::StatusCode::kFailedPrecondition, 409, "failed_precondition"},
    {absl::StatusCode::kUnimplemented, 501, "unimplemented"},
    {absl::StatusCode::kUnavailable, 503, "unavailable"},
    {absl::StatusCode::kResourceExhausted, 503, "busy"},
    {absl::StatusCode::kDeadlineExceeded, 503, "unavailable"},
    {absl::StatusCode::kCancelled, 503, "unavailable"},
};

}  // namespace

HttpResponse ErrorResponse(int status, std::string_view error, std::string_view reason) {
  Json document;
  document["error"] = std::string(error);
  document["reason"] = std::string(reason);
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body =
      std::make_shared<const HttpBody>(document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  response.headers.push_back({"Cache-Control", "no-store"});
  if (status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer realm=\"lockstep\""});
  if (status == 503) response.headers.push_back({"Retry-After", "2"});
  return response;
}

HttpResponse ErrorResponse(const absl::Status& status) {
  for (const ErrorKind& kind : kErrorKinds) {
    if (kind.code == status.code()) return ErrorResponse(kind.status, kind.error, std::string(status.message()));
  }
  return ErrorResponse(500, "internal", std::string(status.message()));
}

}  // namespace lockstep
