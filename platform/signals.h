// SIGINT and SIGTERM become a request to stop; the same signal again ends the process at once.
//
// One StopOnSignals a process, made in main before other threads. It owns one thread. SIGPIPE is ignored from then on,
// so that a closed pipe is an error of the write and not the end of the process.
#pragma once

#include <stop_token>
#include <thread>

namespace lockstep {

class StopOnSignals {
 public:
  StopOnSignals();
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  // The signal that asked to stop; 0 = none yet. The customary exit code is 128 + this.
  [[nodiscard]] int signal() const;

 private:
  std::stop_source source_;
  int wake_fd_ = -1;
  std::thread waiter_;
};

}  // namespace lockstep
