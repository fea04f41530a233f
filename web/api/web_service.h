// The pages and their API on a port: what `lockstep serve` and `lockstep-aggregator --web` start.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/web/http_server.h"
#include "web/answers/run_answers.h"
#include "web/api/web_access.h"

namespace lockstep {

struct WebServiceOptions {
  std::string listen;  // HOST:PORT, port 0 = the system chooses
  HttpTls tls;
  std::vector<std::string> names;  // by which it may be called, with its address and those of loopback
};

// Owns its threads. Thread safe.
class WebService {
 public:
  // Both must outlive it. Null access: everybody may read everything. Errors: those of HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<WebService>> Start(const RunAnswers& answers, WebAccess* access,
                                                           const WebServiceOptions& options);
  virtual ~WebService() = default;  // stops
  // What to open in a browser: "http://127.0.0.1:7780/".
  [[nodiscard]] virtual const std::string& url() const = 0;
  [[nodiscard]] virtual HttpServer::Load load() const = 0;
};

// False: this build has no pages, only the API.
[[nodiscard]] bool HasPages();

// The flags that an address needs which other machines can reach, for the complaint below.
struct WebExposure {
  std::string listen;
  bool tls = false;
  bool knows_clients = false;  // by tokens, or by certificates
  bool insecure = false;       // the person accepts it
  // How these are called on the command line of the program.
  std::string listen_flag;
  std::string tls_flags;
  std::string tokens_flag;
  std::string insecure_flag;
};

// What is wrong with listening so; null = nothing.
[[nodiscard]] std::optional<std::string> WebExposureComplaint(const WebExposure& exposure);

}  // namespace lockstep
