// An owned file descriptor: closed when it goes. Moved from, it owns none (-1). As a raw descriptor: one thread at a
// time for who moves it, any for who uses get().
#pragma once

#include <unistd.h>

#include <utility>

namespace lockstep {

class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes what open(2) and its like returned; a negative one is none.
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace lockstep
