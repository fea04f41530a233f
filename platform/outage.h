// A trouble that lasts, told calmly: once when it begins, once a minute while it lasts, once when it is over. Pure;
// not thread safe.
#pragma once

#include <cstdint>
#include <optional>

namespace lockstep {

class Outage {
 public:
  static constexpr int64_t kTellEveryNs = 60'000'000'000;

  // The trouble is met at `now_ns`. True: say so now.
  bool Met(int64_t now_ns) {
    if (!since_ns_) {
      since_ns_ = now_ns;
    } else if (now_ns - told_ns_ < kTellEveryNs) {
      return false;
    }
    told_ns_ = now_ns;
    return true;
  }
  // It is not there (any more). The time that it lasted if this ends one: say so now.
  std::optional<int64_t> Over(int64_t now_ns) {
    const std::optional<int64_t> since_ns = since_ns_;
    since_ns_.reset();
    return since_ns ? std::optional(now_ns - *since_ns) : std::nullopt;
  }

 private:
  std::optional<int64_t> since_ns_;
  int64_t told_ns_ = 0;
};

}  // namespace lockstep
