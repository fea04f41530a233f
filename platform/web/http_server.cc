#include "platform/web/http_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>  // before asio: Boost 1.74 uses std::exchange without it

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "analysis/base/status_macros.h"
#include "platform/clock.h"
#include "platform/host.h"
#include "platform/log.h"
#include "platform/mutex.h"
#include "platform/pem.h"
#include "platform/secret_file.h"
#include "platform/web/connection.h"

namespace lockstep {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

// Connections that are closed to make room are still open for a moment: beyond this many more nobody is let in.
constexpr size_t kSlackConnections = 64;
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr int64_t kEndingStepNs = 5'000'000;

// The secrets of a listening port, read again when their files change.
class TlsFiles {
 public:
  explicit TlsFiles(HttpTls files) : files_(std::move(files)) {}

  [[nodiscard]] bool used() const { return !files_.certificate.empty(); }

  absl::Status Load() {
    LOCKSTEP_RETURN_IF_ERROR(CheckPemFiles(files_.certificate, files_.key, files_.client_ca));
    auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    using Context = asio::ssl::context;
    error_code error;
    context->set_options(Context::default_workarounds | Context::no_sslv2 | Context::no_sslv3 | Context::no_tlsv1 |
                             Context::no_tlsv1_1 | Context::single_dh_use,
                         error);
    if (!error) context->use_certificate_chain_file(files_.certificate, error);
    if (!error) context->use_private_key_file(files_.key, Context::pem, error);
    if (!error && !files_.client_ca.empty()) {
      context->load_verify_file(files_.client_ca, error);
      if (!error) context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
    }
    if (error) return absl::InvalidArgumentError(fmt::format("{}: {}", files_.certificate, error.message()));
    context_ = std::move(context);
    version_ = Version();
    return absl::OkStatus();
  }

  // Null for plaintext.
  std::shared_ptr<asio::ssl::context> Current() {
    if (!used()) return nullptr;
    const int64_t now = SystemClock().MonotonicNs();
    if (now < look_ns_) return context_;
    look_ns_ = now + int64_t{files_.refresh_s} * 1'000'000'000;
    if (Version() == version_) return context_;
    if (const absl::Status loaded = Load(); !loaded.ok()) {
      LogWarning("the changed certificate of the pages cannot be used, the former one stays: {}",
                 std::string(loaded.message()));
    }
    return context_;
  }

 private:
  [[nodiscard]] uint64_t Version() const {
    return FileVersion(files_.certificate) * 3 + FileVersion(files_.key) * 5 + FileVersion(files_.client_ca) * 7;
  }

  const HttpTls files_;
  std::shared_ptr<asio::ssl::context> context_;
  uint64_t version_ = 0;
  int64_t look_ns_ = 0;
};

class Server : public HttpServer, private HttpConnectionHost {
 public:
  Server(HttpServerOptions options, HttpHandler handler)
      : options_(std::move(options)), handler_(std::move(handler)), tls_(options_.tls) {}

  ~Server() override { Stop(); }

  absl::Status Listen() {
    std::optional<Address> address = ParseAddress(options_.listen);
    if (!address) {
      return absl::InvalidArgumentError(
          fmt::format("cannot listen on '{}': HOST:PORT is needed, for example 127.0.0.1:7780", options_.listen));
    }
    if (tls_.used()) LOCKSTEP_RETURN_IF_ERROR(tls_.Load());
    const error_code error = Bind(*address);
    if (error) {
      return absl::UnavailableError(
          fmt::format("cannot listen on {} ({}): is the port in use, and does the host name this machine?",
                      options_.listen, error.message()));
    }
    address->port = acceptor_.local_endpoint().port();
    address_ = address->ToString();
    Accept();
    for (size_t i = 0; i < std::max<size_t>(options_.threads, 1); ++i) {
      threads_.emplace_back([this] { context_.run(); });
    }
    return absl::OkStatus();
  }

  [[nodiscard]] const std::string& address() const override { return address_; }

  [[nodiscard]] Load load() const override {
    Load load;
    load.connections = connections_count_.load();
    load.streams = streams_.load();
    load.answered_2xx = answered_[2].load();
    load.answered_3xx = answered_[3].load();
    load.answered_4xx = answered_[4].load();
    load.answered_5xx = answered_[5].load();
    load.requests = load.answered_2xx + load.answered_3xx + load.answered_4xx + load.answered_5xx;
    load.refused_connections = refused_.load();
    load.evicted_connections = evicted_.load();
    load.malformed_requests = malformed_.load();
    load.slow_readers = slow_.load();
    return load;
  }

  void Stop() override {
    if (ending_.exchange(true)) return;
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel(ignored);
    });
    TellAll(&HttpConnection::Finish);
    AwaitEmpty(options_.grace_ns);
    TellAll(&HttpConnection::Close);
    AwaitEmpty(options_.grace_ns);
    guard_.reset();
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  error_code Bind(const Address& address) {
    error_code error;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
    if (error) return error;
    const tcp::endpoint endpoint = found.begin()->endpoint();
    is_v6_ = endpoint.protocol() == tcp::v6();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    return error;
  }

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (ending_ || error == asio::error::operation_aborted) return;
      if (!error) {
        Take(std::move(socket));
      } else {
        LogDebug("a connection to the pages could not be accepted: {}", error.message());
      }
      // Too many open files: others end, and until then the backlog waits.
      const bool must_wait = error == asio::error::no_descriptors || error == asio::error::no_memory ||
                             error == asio::error::no_buffer_space;
      if (!must_wait) return Accept();
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](error_code cancelled) {
        if (!cancelled && !ending_) Accept();
      });
    });
  }

  void Take(tcp::socket socket) {
    if (!MakeRoom()) {
      ++refused_;
      return;  // the socket closes
    }
    error_code error;
    const int fd = socket.release(error);
    if (error) return;
    uint64_t id = 0;
    {
      const MutexLock lock(mutex_);
      id = ++last_id_;
      ++connections_count_;
    }
    const std::shared_ptr<HttpConnection> connection = AdoptConnection(context_, fd, is_v6_, tls_.Current(), id, *this);
    if (connection == nullptr) return;
    {
      const MutexLock lock(mutex_);
      connections_.emplace(id, Known{.connection = connection});
    }
    BecomesIdle(id);
    connection->Start();
    if (ending_) connection->Finish();
  }

  // False: nobody is silent, or those that were closed are not gone yet.
  bool MakeRoom() {
    std::shared_ptr<HttpConnection> oldest;
    {
      const MutexLock lock(mutex_);
      const auto open = static_cast<size_t>(connections_count_.load());
      if (open < options_.max_connections) return true;
      if (open >= options_.max_connections + kSlackConnections) return false;
      while (oldest == nullptr && !idle_.empty()) {
        const auto first = idle_.begin();
        const auto known = connections_.find(first->second);
        if (known != connections_.end()) {
          known->second.idle_since = 0;
          oldest = known->second.connection.lock();
        }
        idle_.erase(first);
      }
    }
    if (oldest == nullptr) return false;
    ++evicted_;
    oldest->Close();
    return true;
  }

  void TellAll(void (HttpConnection::*what)()) {
    std::vector<std::shared_ptr<HttpConnection>> all;
    {
      const MutexLock lock(mutex_);
      for (const auto& [id, known] : connections_) {
        if (auto connection = known.connection.lock()) all.push_back(std::move(connection));
      }
    }
    for (const auto& connection : all) (connection.get()->*what)();
  }

  void AwaitEmpty(int64_t most_ns) {
    const int64_t end = SystemClock().MonotonicNs() + most_ns;
    const MutexLock lock(mutex_);
    while (connections_count_ > 0 && SystemClock().MonotonicNs() < end) gone_.WaitFor(mutex_, kEndingStepNs);
  }

  // --- HttpConnectionHost

  [[nodiscard]] const HttpServerOptions& options() const override { return options_; }
  void Handle(HttpRequest request, HttpResponder responder) override {
    handler_(std::move(request), std::move(responder));
  }
  void BecomesIdle(uint64_t id) override {
    const MutexLock lock(mutex_);
    const auto known = connections_.find(id);
    if (known == connections_.end() || known->second.idle_since != 0) return;
    known->second.idle_since = ++last_idle_;
    idle_.emplace(last_idle_, id);
  }
  void BecomesBusy(uint64_t id) override {
    const MutexLock lock(mutex_);
    const auto known = connections_.find(id);
    if (known == connections_.end()) return;
    idle_.erase(known->second.idle_since);
    known->second.idle_since = 0;
  }
  void Gone(uint64_t id) override {
    const MutexLock lock(mutex_);
    --connections_count_;
    const auto known = connections_.find(id);
    if (known == connections_.end()) return;
    idle_.erase(known->second.idle_since);
    connections_.erase(known);
    gone_.NotifyAll();
  }
  bool BeginStream() override {
    if (++streams_ <= static_cast<int64_t>(options_.max_streams)) return true;
    --streams_;
    return false;
  }
  void EndStream() override { --streams_; }
  void CountAnswer(int status) override {
    const size_t kind = static_cast<size_t>(status / 100);
    if (kind < answered_.size()) ++answered_[kind];
  }
  void CountEvent(HttpEvent event) override { ++(event == HttpEvent::kMalformed ? malformed_ : slow_); }
  [[nodiscard]] bool ending() const override { return ending_; }

  struct Known {
    std::weak_ptr<HttpConnection> connection;
    uint64_t idle_since = 0;  // place in the order of falling silent; 0 = busy
  };

  const HttpServerOptions options_;
  const HttpHandler handler_;
  TlsFiles tls_;  // of the accepting strand
  std::string address_;
  bool is_v6_ = false;
  std::atomic<bool> ending_{false};
  std::atomic<int64_t> connections_count_{0};
  std::atomic<int64_t> streams_{0};
  std::array<std::atomic<int64_t>, 6> answered_{};
  std::atomic<int64_t> refused_{0};
  std::atomic<int64_t> evicted_{0};
  std::atomic<int64_t> malformed_{0};
  std::atomic<int64_t> slow_{0};
  Mutex mutex_;
  CondVar gone_;
  std::map<uint64_t, Known> connections_ LOCKSTEP_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> idle_ LOCKSTEP_GUARDED_BY(mutex_);  // ids, the longest silent first
  uint64_t last_id_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  uint64_t last_idle_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  // Last: what is left in it uses all the others.
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  tcp::acceptor acceptor_{asio::make_strand(context_)};
  asio::steady_timer pause_{acceptor_.get_executor()};
  std::vector<std::thread> threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, HttpHandler handler) {
  KeepOpenSslUntilTheEnd();
  auto server = std::make_unique<Server>(options, std::move(handler));
  LOCKSTEP_RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace lockstep
