// Requests and answers of the HTTP server, without the library that carries them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "platform/web/event_stream.h"

namespace lockstep {

// GET or HEAD; the server lets nothing else through. Header values are "" where the request has none.
struct HttpRequest {
  std::string target;  // as it was sent: path and query
  std::string host;
  std::string authorization;
  std::string cookie;
  std::string local_ip;  // of this side of the connection, without brackets
};

// What is sent, once for all who get it: the bytes, and where that saves something their gzip. Immutable.
class HttpBody {
 public:
  // Compresses, which takes some 10 ms a megabyte: not for the threads of the server, unless it is short.
  explicit HttpBody(std::string bytes);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] const std::string& gzip() const { return gzip_; }  // "" = not worth it
  [[nodiscard]] const std::string& etag() const { return etag_; }  // by content, with quotes
  [[nodiscard]] size_t size() const { return bytes_.size() + gzip_.size(); }

 private:
  std::string bytes_;
  std::string gzip_;
  std::string etag_;
};

struct HttpHeader {
  std::string name;
  std::string value;  // no line breaks
};

struct HttpResponse {
  int status = 200;
  std::string content_type;
  std::shared_ptr<const HttpBody> body;  // null = empty
  std::vector<HttpHeader> headers;       // with those that every answer has
};

// An answer, or a stream of events that goes on until one side ends it.
using HttpAnswer = std::variant<HttpResponse, std::shared_ptr<EventStream>>;
// To be called once, from any thread, or destroyed: before the server is destroyed. Whether the asker is still there
// does not matter.
using HttpResponder = std::function<void(HttpAnswer)>;
// Called from threads of the server; must not wait.
using HttpHandler = std::function<void(HttpRequest, HttpResponder)>;

[[nodiscard]] std::string_view StatusText(int status);
// Whether the value of Accept-Encoding takes gzip (RFC 9110, 12.5.3).
[[nodiscard]] bool AcceptsGzip(std::string_view accept_encoding);
// Whether the value of If-None-Match names this tag.
[[nodiscard]] bool NamesTag(std::string_view if_none_match, std::string_view etag);
// The value of a cookie of a Cookie header; "" = none.
[[nodiscard]] std::string_view CookieValue(std::string_view cookies, std::string_view name);
// The host of a Host header, without its port and in small letters; an IPv6 address without its brackets. "" = no host.
[[nodiscard]] std::string HostOf(std::string_view header);

}  // namespace lockstep
