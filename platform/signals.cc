#include "platform/signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

// What a signal handler may touch: lock-free atomics, write and _exit.
std::atomic<int> received_signal{0};
std::atomic<int> handler_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void Wake(int fd) {
  const uint64_t one = 1;
  const ssize_t written = write(fd, &one, sizeof one);
  static_cast<void>(written);  // an eventfd takes it unless it is already awake
}

void OnSignal(int number) {
  const int saved_errno = errno;
  int none = 0;
  if (!received_signal.compare_exchange_strong(none, number)) {
    _exit(128 + number);
  }
  Wake(handler_fd.load());
  errno = saved_errno;
}

void Install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopOnSignals::StopOnSignals() : wake_fd_(eventfd(0, EFD_CLOEXEC)) {
  LOCKSTEP_CHECK(wake_fd_ >= 0);
  LOCKSTEP_CHECK(handler_fd.exchange(wake_fd_) == -1);
  received_signal = 0;
  waiter_ = std::thread([this] {
    uint64_t count = 0;
    while (read(wake_fd_, &count, sizeof count) < 0 && errno == EINTR) {
    }
    if (received_signal.load() != 0) {
      source_.request_stop();
    }
  });
  std::signal(SIGPIPE, SIG_IGN);
  Install(&OnSignal);
}

StopOnSignals::~StopOnSignals() {
  Install(SIG_DFL);
  Wake(wake_fd_);
  waiter_.join();
  handler_fd = -1;
  close(wake_fd_);
}

int StopOnSignals::signal() const { return received_signal.load(); }

}  // namespace lockstep
