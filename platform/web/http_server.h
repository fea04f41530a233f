// A small HTTP/1.1 server for pages, answers and streams of events; the only place that knows Boost.Beast.
//
// It reads GET and HEAD without a body and nothing else: nothing can be changed through it. Every limit below is there
// because whoever can connect may be hostile: what one connection can make the server keep is its buffer of one header,
// a reference to the answer that it does not read, and 64 KiB of events.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/web/http_message.h"

namespace lockstep {

// PEM files of a listening port; all "": plaintext. They are looked at again for new connections.
struct HttpTls {
  std::string certificate;  // the server's, with what leads to its root
  std::string key;
  std::string client_ca;   // "" = clients need no certificate; else one that this authority signed
  uint32_t refresh_s = 5;  // how often the files are looked at, at most
};

struct HttpServerOptions {
  std::string listen;  // HOST:PORT; with port 0 the system chooses
  HttpTls tls;
  std::vector<HttpHeader> headers;  // of every answer, also of refusals
  size_t threads = 2;
  size_t max_connections = 256;  // beyond: the one that has been silent for longest goes, else the new one is refused
  size_t max_streams = 200;      // of these, streams of events; the rest is left to requests
  int64_t handshake_ns = 10'000'000'000;
  int64_t header_ns = 10'000'000'000;     // from the first byte of a request to the end of its header
  int64_t idle_ns = 60'000'000'000;       // between requests of a connection
  int64_t write_ns = 30'000'000'000;      // in which a reader must take 64 KiB
  int64_t heartbeat_ns = 15'000'000'000;  // of a stream without events
  int64_t grace_ns = 2'000'000'000;       // for answers under way at the end
};

// Owns its threads. Thread safe.
class HttpServer {
 public:
  struct Load {
    int64_t connections = 0;  // open
    int64_t streams = 0;      // of events, open
    int64_t requests = 0;     // answered so far, by the class of their status:
    int64_t answered_2xx = 0;
    int64_t answered_3xx = 0;
    int64_t answered_4xx = 0;
    int64_t answered_5xx = 0;
    int64_t refused_connections = 0;  // there were too many
    int64_t evicted_connections = 0;  // silent ones that made room
    int64_t malformed_requests = 0;   // were no HTTP, too long, too slow, or of another method
    int64_t slow_readers = 0;         // were cut off
  };

  // The handler must outlive the server. kInvalidArgument: another form of address; kUnavailable: it cannot be listened
  // on; those of CheckPemFiles.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, HttpHandler handler);
  virtual ~HttpServer() = default;  // stops
  // Where it listens.
  [[nodiscard]] virtual const std::string& address() const = 0;
  [[nodiscard]] virtual Load load() const = 0;
  // Takes no new connections, ends the silent ones and the streams, lets answers under way go out for the grace, then
  // ends these, too. The handler is not called any more.
  virtual void Stop() = 0;
};

}  // namespace lockstep
