#include "tests/support/http/naive_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "platform/host.h"

namespace lockstep {
namespace {

constexpr int kPatienceS = 60;
// A buffer for all that is to come would be filled with zeros before each part of it.
constexpr size_t kMostAtOnce = size_t{256} << 10;

std::string SmallLetters(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

}  // namespace

NaiveClient::NaiveClient(const std::string& address) : address_(address) {
  const auto parsed = ParseAddress(address);
  if (!parsed) return;
  fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{.tv_sec = kPatienceS, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(parsed->port);
  ::inet_pton(AF_INET, parsed->host.c_str(), &to.sin_addr);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

NaiveClient::~NaiveClient() {
  if (fd_ >= 0) ::close(fd_);
}

bool NaiveClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void NaiveClient::EndSending() { ::shutdown(fd_, SHUT_WR); }

std::string NaiveClient::ReadSome(size_t count) {
  if (!pending_.empty()) {
    std::string some = pending_.substr(0, count);
    pending_.erase(0, some.size());
    return some;
  }
  std::string some(std::min(count, kMostAtOnce), '\0');
  const ssize_t got = ::recv(fd_, some.data(), some.size(), 0);
  some.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return some;
}

std::string NaiveClient::ReadAll() {
  std::string all;
  for (std::string some = ReadSome(); !some.empty(); some = ReadSome()) all += some;
  return all;
}

std::string NaiveClient::ReadUntil(std::string_view text) {
  std::string all;
  while (all.find(text) == std::string::npos) {
    const std::string some = ReadSome();
    if (some.empty()) return all;
    all += some;
  }
  const size_t end = all.find(text) + text.size();
  pending_ = all.substr(end) + pending_;
  return all.substr(0, end);
}

bool NaiveClient::IsClosed() {
  char byte = 0;
  const timeval soon{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
  return ::recv(fd_, &byte, 1, MSG_PEEK) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != 0);
}

NaiveAnswer NaiveClient::ReadAnswer(bool head) {
  NaiveAnswer answer;
  std::string text = ReadUntil("\r\n\r\n");
  if (text.size() < 12 || !text.starts_with("HTTP/1.1 ")) return answer;
  std::from_chars(text.data() + 9, text.data() + 12, answer.status);
  for (size_t at = text.find("\r\n") + 2; at < text.size();) {
    const size_t end = text.find("\r\n", at);
    const std::string line = text.substr(at, end - at);
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) answer.headers[SmallLetters(line.substr(0, colon))] = line.substr(colon + 2);
    at = end + 2;
  }
  size_t length = 0;
  if (const auto found = answer.headers.find("content-length"); found != answer.headers.end() && !head) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), length);
  }
  while (answer.body.size() < length) {
    const std::string some = ReadSome(length - answer.body.size());
    if (some.empty()) break;
    answer.body += some;
  }
  return answer;
}

NaiveAnswer NaiveClient::Get(const std::string& target, const std::string& headers) {
  Send("GET " + target + " HTTP/1.1\r\nHost: " + address_ + "\r\n" + headers + "\r\n");
  return ReadAnswer();
}

}  // namespace lockstep
