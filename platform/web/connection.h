// One connection of the HTTP server, from its first byte to its last. Internal to this folder.
//
// A connection keeps itself alive while something of it is under way. All of it happens on the threads of its
// io_context, one thing at a time; what others may call is said below.
#pragma once

#include <cstdint>
#include <memory>

#include "platform/web/http_server.h"

namespace boost::asio {
class io_context;
namespace ssl {
class context;
}  // namespace ssl
}  // namespace boost::asio

namespace lockstep {

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void Start() = 0;
  // At once, from any thread.
  virtual void Close() = 0;
  // As soon as the answer under way is out, from any thread.
  virtual void Finish() = 0;
};

enum class HttpEvent : uint8_t { kMalformed, kSlowReader };

// What a connection needs of its server. Thread safe; outlives the connections.
class HttpConnectionHost {
 public:
  virtual ~HttpConnectionHost() = default;
  [[nodiscard]] virtual const HttpServerOptions& options() const = 0;
  virtual void Handle(HttpRequest request, HttpResponder responder) = 0;
  // It waits for a request: it may be closed to make room. It is busy again: not.
  virtual void BecomesIdle(uint64_t id) = 0;
  virtual void BecomesBusy(uint64_t id) = 0;
  virtual void Gone(uint64_t id) = 0;
  // False: there are too many streams. Each that began ends.
  virtual bool BeginStream() = 0;
  virtual void EndStream() = 0;
  virtual void CountAnswer(int status) = 0;
  virtual void CountEvent(HttpEvent event) = 0;
  [[nodiscard]] virtual bool ending() const = 0;
};

// Takes over an accepted socket. Null `tls`: plaintext. Null result: the socket was already dead.
[[nodiscard]] std::shared_ptr<HttpConnection> AdoptConnection(boost::asio::io_context& context, int fd, bool is_v6,
                                                              std::shared_ptr<boost::asio::ssl::context> tls,
                                                              uint64_t id, HttpConnectionHost& host);

}  // namespace lockstep
