#include "platform/http/metrics_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "platform/host.h"

namespace lockstep {
namespace {

constexpr int kThreads = 2;
constexpr int kTimeoutS = 5;
constexpr size_t kMaxRequestBytes = 4096;

constexpr const char* kText = "text/plain; charset=utf-8";

class HttpMetricsServer : public MetricsServer {
 public:
  HttpMetricsServer(const MetricsRegistry& registry, std::function<std::string()> ready)
      : registry_(registry), ready_(std::move(ready)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_payload_max_length(kMaxRequestBytes);
    server_.set_read_timeout(kTimeoutS);
    server_.set_write_timeout(kTimeoutS);
    server_.set_keep_alive_max_count(1);
    // Without the library's SO_REUSEPORT: a second daemon on the port is an error, not half of the answers.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(registry_.Text(), "text/plain; version=0.0.4; charset=utf-8");
    });
    server_.Get("/healthz",
                [](const httplib::Request&, httplib::Response& response) { response.set_content("ok\n", kText); });
    server_.Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
      const std::string trouble = ready_();
      response.status = trouble.empty() ? 200 : 503;
      response.set_content(trouble.empty() ? "ok\n" : trouble + "\n", kText);
    });
  }

  ~HttpMetricsServer() override {
    if (listener_.joinable()) {
      while (!server_.is_running() && !ended_.load()) {  // a stop before the start would be lost
        std::this_thread::yield();
      }
      server_.stop();
      listener_.join();
    }
  }

  absl::Status Listen(const std::string& listen, Address address) {
    const int port = address.port == 0 ? server_.bind_to_any_port(address.host)
                                       : (server_.bind_to_port(address.host, address.port) ? address.port : -1);
    if (port <= 0) {
      return absl::UnavailableError(fmt::format(
          "cannot listen on {} for --metrics: is the port in use, and does the host name this machine?", listen));
    }
    address.port = static_cast<uint16_t>(port);
    address_ = address.ToString();
    listener_ = std::thread([this] {
      server_.listen_after_bind();
      ended_ = true;
    });
    return absl::OkStatus();
  }

  [[nodiscard]] const std::string& address() const override { return address_; }

 private:
  const MetricsRegistry& registry_;
  const std::function<std::string()> ready_;
  httplib::Server server_;
  std::string address_;
  std::atomic<bool> ended_{false};
  std::thread listener_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& listen,
                                                                    const MetricsRegistry& registry,
                                                                    std::function<std::string()> ready) {
  const std::optional<Address> address = ParseAddress(listen);
  if (!address) {
    return absl::InvalidArgumentError(fmt::format("--metrics '{}' is not HOST:PORT", listen));
  }
  auto server = std::make_unique<HttpMetricsServer>(registry, std::move(ready));
  const absl::Status listening = server->Listen(listen, *address);
  if (!listening.ok()) {
    return listening;
  }
  return server;
}

std::string MetricsAddressComplaint(const std::string& listen, bool insecure) {
  const std::optional<Address> address = ParseAddress(listen);
  if (!address) {
    return fmt::format("--metrics '{}' is not HOST:PORT", listen);
  }
  if (!insecure && !IsLoopback(address->host)) {
    return fmt::format(
        "--metrics {} can be reached by other machines, unencrypted and by anybody: listen on 127.0.0.1, or accept "
        "that "
        "with --insecure",
        listen);
  }
  return "";
}

}  // namespace lockstep
