#include "platform/process.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <ctime>

namespace lockstep {
namespace {

int64_t NsOf(clockid_t clock) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace

absl::Status SetNiceness(int niceness) {
  if (::setpriority(PRIO_PROCESS, 0, niceness) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("cannot set the niceness to {}", niceness));
  }
  return absl::OkStatus();
}

int64_t ThreadCpuNs() { return NsOf(CLOCK_THREAD_CPUTIME_ID); }
int64_t ProcessCpuNs() { return NsOf(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace lockstep
