#include "platform/web/connection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>  // before asio: Boost 1.74 uses std::exchange without it

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_static_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

namespace lockstep {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr size_t kMaxHeaderBytes = 8192;
constexpr size_t kMaxTargetBytes = 4096;
constexpr size_t kPieceBytes = size_t{64} << 10;  // of an answer, with a time limit for each
constexpr size_t kMostDrainedBytes = size_t{64} << 10;
constexpr auto kLinger = std::chrono::seconds(2);

std::string ErrorJson(std::string_view error, std::string_view reason) {
  return fmt::format("{{\"error\":\"{}\",\"reason\":\"{}\"}}\n", error, reason);
}

HttpResponse Refusal(int status, std::string_view error, std::string_view reason) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::make_shared<const HttpBody>(ErrorJson(error, reason));
  response.headers.push_back({"Cache-Control", "no-store"});
  if (status == 405) response.headers.push_back({"Allow", "GET, HEAD"});
  if (status == 503) response.headers.push_back({"Retry-After", "5"});
  return response;
}

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

using Parser = http::request_parser<http::empty_body>;

// What is wrong with a request whose header was read; null = nothing.
std::optional<HttpResponse> ComplaintAbout(const Parser& parser) {
  const auto& request = parser.get();
  if (request.version() != 10 && request.version() != 11) return Refusal(505, "version", "HTTP/1.1 is spoken here");
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return Refusal(405, "method", "this API is read-only: GET and HEAD");
  }
  if (request.target().size() > kMaxTargetBytes) return Refusal(414, "target", "the URL is longer than 4 KiB");
  if (request.count(http::field::host) != 1) return Refusal(400, "host", "exactly one Host header is needed");
  if (request.count(http::field::authorization) > 1) return Refusal(400, "token", "more than one token came along");
  const bool has_body = request.count(http::field::transfer_encoding) > 0 ||
                        (request.count(http::field::content_length) > 0 && request[http::field::content_length] != "0");
  if (has_body) return Refusal(400, "body", "a request has no body here");
  return std::nullopt;
}

template <typename Stream>
class Connection : public HttpConnection, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  static constexpr bool kTls = !std::is_same_v<Stream, beast::tcp_stream>;

  template <typename... Args>
  Connection(std::shared_ptr<asio::ssl::context> tls, uint64_t id, HttpConnectionHost& host, Args&&... args)
      : tls_(std::move(tls)),
        id_(id),
        host_(host),
        stream_(std::forward<Args>(args)...),
        heartbeat_(stream_.get_executor()) {
    error_code ignored;
    auto& socket = beast::get_lowest_layer(stream_).socket();
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const auto local = socket.local_endpoint(ignored);
    if (!ignored) local_ip_ = local.address().to_string(ignored);
    if (local_ip_.starts_with("::ffff:")) local_ip_ = local_ip_.substr(7);  // IPv4 on a socket for both
  }

  ~Connection() override {
    if (events_ != nullptr) LeaveStream();
    host_.Gone(id_);
  }

  void Start() override {
    OnStrand([](Connection& self) {
      if constexpr (kTls) {
        self.ExpireAfter(self.host_.options().handshake_ns);
        self.stream_.async_handshake(asio::ssl::stream_base::server, self.Then([](Connection& me, error_code error) {
          if (!error) me.ReadHeader();
        }));
      } else {
        self.ReadHeader();
      }
    });
  }

  void Close() override {
    OnStrand([](Connection& self) { self.CloseNow(); });
  }

  void Finish() override {
    OnStrand([](Connection& self) {
      self.finishing_ = true;
      if (!self.answering_ || self.events_ != nullptr) self.CloseNow();
    });
  }

 private:
  template <typename Work>
  void OnStrand(Work work) {
    asio::post(stream_.get_executor(), [self = this->shared_from_this(), work] { work(*self); });
  }
  // A completion handler that keeps this alive.
  template <typename Work>
  auto Then(Work work) {
    return [self = this->shared_from_this(), work](error_code error, size_t = 0) { work(*self, error); };
  }

  beast::tcp_stream& Lowest() { return beast::get_lowest_layer(stream_); }
  void ExpireAfter(int64_t ns) { Lowest().expires_after(std::chrono::nanoseconds(ns)); }

  void CloseNow() {
    closed_ = true;
    if (events_ != nullptr) events_->Close();
    error_code ignored;
    heartbeat_.cancel(ignored);
    Lowest().close();
  }

  // --- requests

  void AwaitRequest() {
    if (finishing_ || host_.ending()) return Shut();
    host_.BecomesIdle(id_);
    if (buffer_.size() > 0) return ReadHeader();
    ExpireAfter(host_.options().idle_ns);
    stream_.async_read_some(buffer_.prepare(kMaxHeaderBytes),
                            [self = this->shared_from_this()](error_code error, size_t count) {
                              if (error) return self->CloseNow();
                              self->buffer_.commit(count);
                              self->ReadHeader();
                            });
  }

  void ReadHeader() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(kMaxHeaderBytes));
    parser_->body_limit(std::numeric_limits<uint64_t>::max());  // a body is refused, not read
    ExpireAfter(host_.options().header_ns);
    http::async_read_header(stream_, buffer_, *parser_,
                            Then([](Connection& self, error_code error) { self.OnHeader(error); }));
  }

  void OnHeader(error_code error) {
    host_.BecomesBusy(id_);
    answering_ = true;
    keep_alive_ = false;
    head_ = false;
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Refuse(Refusal(431, "header", "the header of the request is longer than 8 KiB"));
    }
    if (error == beast::error::timeout) return Slow();
    if (error && error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return Refuse(Refusal(400, "request", "this is no HTTP request"));
    }
    if (error) return CloseNow();
    if (auto complaint = ComplaintAbout(*parser_)) return Refuse(*std::move(complaint));
    const auto& request = parser_->get();
    keep_alive_ = request.keep_alive() && request.version() == 11;
    head_ = request.method() == http::verb::head;
    takes_gzip_ = AcceptsGzip(View(request[http::field::accept_encoding]));
    if_none_match_ = std::string(View(request[http::field::if_none_match]));
    HttpRequest asked{.target = std::string(View(request.target())),
                      .host = std::string(View(request[http::field::host])),
                      .authorization = std::string(View(request[http::field::authorization])),
                      .cookie = std::string(View(request[http::field::cookie])),
                      .local_ip = local_ip_};
    parser_.reset();
    Lowest().expires_never();
    host_.Handle(std::move(asked), [self = this->shared_from_this()](HttpAnswer answer) {
      self->OnStrand([answer = std::move(answer)](Connection& me) { me.Answer(answer); });
    });
  }

  void Slow() {
    host_.CountEvent(HttpEvent::kMalformed);
    CloseNow();  // by its timeout the socket is closed already
  }

  void Refuse(HttpResponse response) {
    host_.CountEvent(HttpEvent::kMalformed);
    keep_alive_ = false;
    Send(std::move(response));
  }

  // --- answers

  void Answer(const HttpAnswer& answer) {
    if (closed_) return Drop(answer);
    if (const auto* events = std::get_if<std::shared_ptr<EventStream>>(&answer)) return SendEvents(*events);
    Send(std::get<HttpResponse>(answer));
  }

  static void Drop(const HttpAnswer& answer) {
    if (const auto* events = std::get_if<std::shared_ptr<EventStream>>(&answer)) (*events)->Close();
  }

  void Send(HttpResponse response) {
    body_ = std::move(response.body);
    const std::string_view etag = body_ == nullptr ? std::string_view() : std::string_view(body_->etag());
    if (response.status == 200 && !if_none_match_.empty() && NamesTag(if_none_match_, etag)) response.status = 304;
    const bool gzip = body_ != nullptr && takes_gzip_ && !body_->gzip().empty();
    rest_ = body_ == nullptr ? std::string_view() : gzip ? body_->gzip() : body_->bytes();
    header_ = Head(response);
    if (response.status == 200 && body_ != nullptr)
      header_ += fmt::format("ETag: {}\r\nVary: Accept-Encoding\r\n", etag);
    if (response.status == 304) {
      header_ += fmt::format("ETag: {}\r\nVary: Accept-Encoding\r\n", etag);
    } else {
      if (gzip) header_ += "Content-Encoding: gzip\r\n";
      header_ += fmt::format("Content-Length: {}\r\n", rest_.size());
    }
    header_ += keep_alive_ && !finishing_ ? "\r\n" : "Connection: close\r\n\r\n";
    if (head_ || response.status == 304) rest_ = {};
    if_none_match_.clear();
    host_.CountAnswer(response.status);
    ExpireAfter(host_.options().write_ns);
    WritePiece(asio::buffer(header_));
  }

  std::string Head(const HttpResponse& response) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, StatusText(response.status));
    for (const HttpHeader& header : host_.options().headers)
      head += fmt::format("{}: {}\r\n", header.name, header.value);
    for (const HttpHeader& header : response.headers) head += fmt::format("{}: {}\r\n", header.name, header.value);
    if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
    return head;
  }

  void WritePiece(asio::const_buffer piece) {
    asio::async_write(stream_, piece, Then([](Connection& self, error_code error) { self.OnWritten(error); }));
  }

  void OnWritten(error_code error) {
    if (error) return Lost(error);
    if (rest_.empty()) return Answered();
    const std::string_view piece = rest_.substr(0, kPieceBytes);
    rest_.remove_prefix(piece.size());
    ExpireAfter(host_.options().write_ns);
    WritePiece(asio::buffer(piece.data(), piece.size()));
  }

  void Answered() {
    body_ = nullptr;
    answering_ = false;
    if (!keep_alive_) return Shut();
    AwaitRequest();
  }

  void Lost(error_code error) {
    if (error == beast::error::timeout) host_.CountEvent(HttpEvent::kSlowReader);
    body_ = nullptr;
    CloseNow();
  }

  // --- events

  void SendEvents(std::shared_ptr<EventStream> events) {
    if (!host_.BeginStream()) {
      events->Close();
      return Send(Refusal(503, "streams", "too many pages listen at this moment"));
    }
    events_ = std::move(events);
    keep_alive_ = false;
    HttpResponse response{.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}};
    header_ = Head(response) + "Connection: close\r\n\r\n";
    host_.CountAnswer(200);
    if (head_) return Write(nullptr);
    // Whatever comes from the other side, even its end, ends the stream.
    stream_.async_read_some(asio::buffer(unasked_), Then([](Connection& self, error_code) { self.CloseNow(); }));
    events_->Attach([weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->OnStrand([](Connection& me) { me.WriteNext(); });
    });
    Write(nullptr);
  }

  // Null: the header, or the comment that keeps the connection open.
  void Write(SharedText event) {
    writing_ = true;
    sent_ = std::move(event);
    const std::string& text = sent_ == nullptr ? header_ : *sent_;
    ExpireWrite();
    asio::async_write(stream_, asio::buffer(text), Then([](Connection& self, error_code error) {
                        self.writing_ = false;
                        self.write_deadline_ = false;
                        if (error || self.head_) return self.CloseNow();
                        self.WriteNext();
                      }));
  }

  void WriteNext() {
    if (writing_ || closed_) return;
    if (events_->closed()) return CloseNow();
    if (SharedText event = events_->Take()) return Write(std::move(event));
    header_ = ":\n\n";
    heartbeat_.expires_after(std::chrono::nanoseconds(host_.options().heartbeat_ns));
    heartbeat_.async_wait(Then([](Connection& self, error_code error) {
      if (!error && self.IsDue() && !self.writing_ && !self.closed_) self.Write(nullptr);
    }));
  }

  // The stream's own timeout would end the read as well, which has none. So the timer of the heartbeat watches a write.
  void ExpireWrite() {
    Lowest().expires_never();
    write_deadline_ = true;
    heartbeat_.expires_after(std::chrono::nanoseconds(host_.options().write_ns));
    heartbeat_.async_wait(Then([](Connection& self, error_code error) {
      if (error || !self.IsDue() || !self.write_deadline_) return;
      self.host_.CountEvent(HttpEvent::kSlowReader);
      self.CloseNow();
    }));
  }

  // Not a timer's call that was under way when the timer was set again.
  [[nodiscard]] bool IsDue() const { return heartbeat_.expiry() <= std::chrono::steady_clock::now(); }

  void LeaveStream() {
    if (events_->overflowed()) host_.CountEvent(HttpEvent::kSlowReader);
    events_->Detach();
    host_.EndStream();
  }

  // --- the end

  // Says that nothing more comes, and lets the other side read what was sent: to close with unread bytes would reset
  // the connection under the answer.
  void Shut() {
    answering_ = false;
    Lowest().expires_after(kLinger);
    if constexpr (kTls) {
      stream_.async_shutdown(Then([](Connection& self, error_code) { self.CloseNow(); }));
    } else {
      error_code ignored;
      Lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
      Drain(0);
    }
  }

  void Drain(size_t drained) {
    if (drained >= kMostDrainedBytes) return CloseNow();
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kMaxHeaderBytes),
                            [self = this->shared_from_this(), drained](error_code error, size_t count) {
                              if (error) return self->CloseNow();
                              self->Drain(drained + count);
                            });
  }

  const std::shared_ptr<asio::ssl::context> tls_;
  const uint64_t id_;
  HttpConnectionHost& host_;
  Stream stream_;
  asio::steady_timer heartbeat_;
  std::string local_ip_;
  beast::flat_static_buffer<kMaxHeaderBytes + 1024> buffer_;
  std::optional<Parser> parser_;
  std::string if_none_match_;
  bool takes_gzip_ = false;
  bool keep_alive_ = false;
  bool head_ = false;
  bool answering_ = false;
  bool finishing_ = false;
  bool closed_ = false;

  std::string header_;
  std::shared_ptr<const HttpBody> body_;
  std::string_view rest_;  // of the body, not yet written

  std::shared_ptr<EventStream> events_;
  SharedText sent_;
  bool writing_ = false;
  bool write_deadline_ = false;
  char unasked_[64] = {};
};

}  // namespace

std::shared_ptr<HttpConnection> AdoptConnection(asio::io_context& context, int fd, bool is_v6,
                                                std::shared_ptr<asio::ssl::context> tls, uint64_t id,
                                                HttpConnectionHost& host) {
  tcp::socket socket(asio::make_strand(context));
  error_code error;
  socket.assign(is_v6 ? tcp::v6() : tcp::v4(), fd, error);
  if (error) {
    ::close(fd);
    host.Gone(id);
    return nullptr;
  }
  if (tls == nullptr) {
    return std::make_shared<Connection<beast::tcp_stream>>(nullptr, id, host, std::move(socket));
  }
  asio::ssl::context& secrets = *tls;
  return std::make_shared<Connection<beast::ssl_stream<beast::tcp_stream>>>(std::move(tls), id, host, std::move(socket),
                                                                            secrets);
}

}  // namespace lockstep
