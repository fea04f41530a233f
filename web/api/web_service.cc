#include "web/api/web_service.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/base/status_macros.h"
#include "platform/host.h"
#include "web/api/web_api.h"
#include "web/page/assets.h"

namespace lockstep {
namespace {

std::vector<std::string> NamesOfServer(const WebServiceOptions& options) {
  std::vector<std::string> names = options.names;
  if (const std::optional<Address> address = ParseAddress(options.listen)) {
    names.push_back(address->host.find(':') == std::string::npos ? address->host : "[" + address->host + "]");
  }
  names.push_back(HostName());
  return names;
}

class Service : public WebService {
 public:
  Service(const RunAnswers& answers, WebAccess* access, const WebServiceOptions& options)
      : api_(answers, access,
             {.hosts = NamesOfServer(options), .secure = !options.tls.certificate.empty(), .assets = Assets()}) {}

  ~Service() override {
    if (server_ != nullptr) server_->Stop();
    api_.Stop();  // after it nobody holds a responder of the server
    server_ = nullptr;
  }

  absl::Status Listen(const WebServiceOptions& options) {
    HttpServerOptions server{.listen = options.listen, .tls = options.tls, .headers = api_.Headers()};
    LOCKSTEP_ASSIGN_OR_RETURN(server_, HttpServer::Start(server, [this](HttpRequest request, HttpResponder responder) {
                                api_.Handle(request, responder);
                              }));
    url_ = fmt::format("{}://{}/", options.tls.certificate.empty() ? "http" : "https", server_->address());
    return absl::OkStatus();
  }

  [[nodiscard]] const std::string& url() const override { return url_; }
  [[nodiscard]] HttpServer::Load load() const override { return server_->load(); }

 private:
  WebApi api_;
  std::unique_ptr<HttpServer> server_;
  std::string url_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WebService>> WebService::Start(const RunAnswers& answers, WebAccess* access,
                                                              const WebServiceOptions& options) {
  auto service = std::make_unique<Service>(answers, access, options);
  LOCKSTEP_RETURN_IF_ERROR(service->Listen(options));
  return service;
}

bool HasPages() { return Assets() != nullptr; }

std::optional<std::string> WebExposureComplaint(const WebExposure& exposure) {
  const std::optional<Address> address = ParseAddress(exposure.listen);
  if (!address) return fmt::format("{} '{}' is not HOST:PORT", exposure.listen_flag, exposure.listen);
  if (IsLoopback(address->host) || exposure.insecure) return std::nullopt;
  if (!exposure.tls) {
    return fmt::format(
        "{} {} can be reached by other machines: encrypt with {} (see docs/security.md), listen on 127.0.0.1, or "
        "accept "
        "plaintext with {}",
        exposure.listen_flag, exposure.listen, exposure.tls_flags, exposure.insecure_flag);
  }
  if (!exposure.knows_clients) {
    return fmt::format(
        "{} {} can be reached by other machines, and everyone there may read all runs: say who may with {}, or accept "
        "this with {}",
        exposure.listen_flag, exposure.listen, exposure.tokens_flag, exposure.insecure_flag);
  }
  return std::nullopt;
}

}  // namespace lockstep
