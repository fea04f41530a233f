#include "cli/waiting_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/terminal.h"

namespace lockstep {

WaitingLine::WaitingLine(std::string what) : what_(std::move(what)) {
  if (StderrTakesEscapes()) thread_ = std::thread([this] { Show(); });
}

WaitingLine::~WaitingLine() { Clear(); }

void WaitingLine::Clear() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void WaitingLine::Show() {
  const int64_t start_ns = SystemClock().MonotonicNs();
  int64_t shown_s = 0;
  const MutexLock lock(mutex_);
  while (!ended_) {
    const int64_t passed_s = (SystemClock().MonotonicNs() - start_ns) / kNsPerS;
    if (passed_s > shown_s) {
      shown_s = passed_s;
      fmt::print(stderr, "\r\033[K{}, {} s", what_, shown_s);
      std::fflush(stderr);
    }
    changed_.WaitFor(mutex_, start_ns + (passed_s + 1) * kNsPerS - SystemClock().MonotonicNs());
  }
  if (shown_s > 0) std::fputs("\r\033[K", stderr);
}

}  // namespace lockstep
