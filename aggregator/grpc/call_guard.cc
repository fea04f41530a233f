#include "aggregator/grpc/call_guard.h"

#include <grpc/grpc_security.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <array>
#include <utility>

namespace lockstep {
namespace {

constexpr std::string_view kHeader = "authorization";
constexpr const char* kRetryHint = "grpc-retry-pushback-ms";
constexpr size_t kMaxStatusBytes = 4096;

std::string_view View(grpc::string_ref text) { return {text.data(), text.size()}; }
std::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

struct Method {
  std::string_view path;
  Action action;
};
constexpr std::array kMethods = {
    Method{"/lockstep.v1.Ingest/Stream", Action::kIngest},   Method{"/lockstep.v1.Query/Runs", Action::kList},
    Method{"/lockstep.v1.Query/Views", Action::kRead},       Method{"/lockstep.v1.Query/Administer", Action::kPrune},
    Method{"/grpc.health.v1.Health/Check", Action::kHealth}, Method{"/grpc.health.v1.Health/Watch", Action::kHealth},
};

// The headers of a call, judged before anything else of it. What is none of our methods only an admin may try.
grpc::Status Judge(AccessControl& access, std::string_view path, std::string_view authorization) {
  Action action = Action::kPrune;
  for (const Method& method : kMethods) {
    if (method.path == path) {
      action = method.action;
    }
  }
  return ToGrpc(access.Allow(authorization, action, std::nullopt));
}

class TokenProcessor : public grpc::AuthMetadataProcessor {
 public:
  explicit TokenProcessor(std::shared_ptr<AccessControl> access) : access_(std::move(access)) {}
  [[nodiscard]] bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* /*context*/, OutputMetadata* /*consumed*/,
                       OutputMetadata* /*response*/) override {
    const auto value = [&](std::string_view key) {
      const auto found = metadata.find(grpc::string_ref(key.data(), key.size()));
      return found == metadata.end() ? std::string_view() : View(found->second);
    };
    return Judge(*access_, value(":path"), value(kHeader));
  }

 private:
  const std::shared_ptr<AccessControl> access_;
};

// gRPC's own plaintext credentials take no processor of metadata; its C interface does.
class PlaintextWithTokens : public grpc::ServerCredentials {
 public:
  explicit PlaintextWithTokens(std::shared_ptr<AccessControl> access) : access_(std::move(access)) {}
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    grpc_server_credentials* const credentials = grpc_insecure_server_credentials_create();
    grpc_server_credentials_set_auth_metadata_processor(
        credentials, {.process = &Process, .destroy = &Destroy, .state = new std::shared_ptr<AccessControl>(access_)});
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  static void Process(void* state, grpc_auth_context* /*context*/, const grpc_metadata* metadata, size_t count,
                      grpc_process_auth_metadata_done_cb done, void* user_data) {
    std::string_view path;
    std::string_view authorization;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view key = View(metadata[i].key);
      std::string_view* const wanted = key == ":path" ? &path : key == kHeader ? &authorization : nullptr;
      if (wanted != nullptr && wanted->empty()) {
        *wanted = View(metadata[i].value);
      }
    }
    const grpc::Status judged = Judge(**static_cast<std::shared_ptr<AccessControl>*>(state), path, authorization);
    done(user_data, nullptr, 0, nullptr, 0, static_cast<grpc_status_code>(judged.error_code()),
         judged.error_message().c_str());
  }
  static void Destroy(void* state) { delete static_cast<std::shared_ptr<AccessControl>*>(state); }

  const std::shared_ptr<AccessControl> access_;
};

std::shared_ptr<grpc::ServerCredentials> TlsCredentialsFor(const ServerTls& tls) {
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(tls.key, tls.certificate, tls.client_ca,
                                                                           tls.refresh_s));
  options.watch_identity_key_cert_pairs();
  if (!tls.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace

absl::Status CallGuard::Allow(const grpc::ServerContextBase& context, Action action,
                              std::optional<std::string_view> run) const {
  if (access_ == nullptr) {
    return absl::OkStatus();
  }
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(grpc::string_ref(kHeader.data(), kHeader.size()));
  return access_->Allow(found == metadata.end() ? std::string_view() : View(found->second), action, run);
}

grpc::Status CallGuard::GoingDown(grpc::ServerContextBase& context) {
  return WithRetryHint(context, absl::UnavailableError("the aggregator is going down: try again in a second"));
}

grpc::Status CallGuard::WithRetryHint(grpc::ServerContextBase& context, const absl::Status& status) {
  if (absl::IsUnavailable(status)) {
    context.AddTrailingMetadata(kRetryHint, "1000");
  } else if (absl::IsResourceExhausted(status)) {
    context.AddTrailingMetadata(kRetryHint, "5000");
  }
  return ToGrpc(status);
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentialsFor(const ServerTls& tls,
                                                              std::shared_ptr<AccessControl> access) {
  if (tls.certificate.empty()) {
    return access == nullptr ? grpc::InsecureServerCredentials()
                             : std::make_shared<PlaintextWithTokens>(std::move(access));
  }
  auto credentials = TlsCredentialsFor(tls);
  if (access != nullptr) {
    credentials->SetAuthMetadataProcessor(std::make_shared<TokenProcessor>(std::move(access)));
  }
  return credentials;
}

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message()).substr(0, kMaxStatusBytes)};
}

}  // namespace lockstep
