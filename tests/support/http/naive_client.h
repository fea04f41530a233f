// An HTTP client as naive as can be: bytes over a blocking socket, so that tests can also say what no client would.
// Not thread safe. Every read ends after a minute at the latest: a test that would hang fails instead.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lockstep {

struct NaiveAnswer {
  int status = 0;                              // 0 = there was none
  std::map<std::string, std::string> headers;  // names in small letters; of several the last
  std::string body;
};

class NaiveClient {
 public:
  // HOST:PORT with a numeric host. A refused connection is a client that is closed.
  explicit NaiveClient(const std::string& address);
  ~NaiveClient();
  NaiveClient(const NaiveClient&) = delete;
  NaiveClient& operator=(const NaiveClient&) = delete;

  bool Send(std::string_view bytes);
  // Nothing more comes from this side.
  void EndSending();
  // Up to `count` bytes, at least one; "" = the other side has ended, or nothing came for a minute.
  [[nodiscard]] std::string ReadSome(size_t count = 65'536);
  // All until the other side ends.
  [[nodiscard]] std::string ReadAll();
  // One answer with a Content-Length, or none where the status or `head` says so.
  [[nodiscard]] NaiveAnswer ReadAnswer(bool head = false);
  // Until `text` has come; what came so far. Less than that at the end.
  [[nodiscard]] std::string ReadUntil(std::string_view text);
  // Whether the other side has ended, as far as can be seen without waiting for long.
  [[nodiscard]] bool IsClosed();

  NaiveAnswer Get(const std::string& target, const std::string& headers = "");

 private:
  int fd_ = -1;
  std::string address_;
  std::string pending_;
};

}  // namespace lockstep
