// When the host of a process waited for its device: what ended in such a wait let the host go on. Pure. Local ns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/model/row_values.h"

namespace lockstep {

// From the begin of the first call that waited to the return of the last, without a launch between them. kNoTime: none.
struct HostWait {
  int64_t from_ns = kNoTime;
  int64_t until_ns = kNoTime;

  [[nodiscard]] bool Saw(int64_t end_ns) const { return from_ns != kNoTime && end_ns >= from_ns && end_ns <= until_ns; }
};

// Follows the calls of one process, whatever their thread: the thread that waits is often not the one that launches
// next. Calls come in order of their start.
class HostWaits {
 public:
  // A call that synchronises.
  void Add(const HostWait& call) {
    if (open_.size() >= kMostThreads) open_.erase(open_.begin());
    open_.push_back(call);
  }

  // The last wait that was over when a launch was called.
  HostWait AtLaunch(int64_t start_ns) {
    std::erase_if(open_, [&](const HostWait& call) {
      if (call.until_ns > start_ns) return false;
      if (launched_) last_ = call;
      launched_ = false;
      last_.from_ns = std::min(last_.from_ns, call.from_ns);
      last_.until_ns = std::max(last_.until_ns, call.until_ns);
      return true;
    });
    launched_ = true;
    return last_;
  }

 private:
  static constexpr size_t kMostThreads = 256;
  std::vector<HostWait> open_;  // may still wait
  HostWait last_;
  bool launched_ = true;  // since `last_`
};

}  // namespace lockstep
