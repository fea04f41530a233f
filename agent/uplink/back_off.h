// How long to wait before the next attempt: doubling up to a limit, with half of it random, so that a thousand agents
// do not come back in one instant. Pure; not thread safe.
#pragma once

#include <cstdint>
#include <functional>

namespace lockstep {

struct BackOffOptions {
  int64_t initial_ns = 100'000'000;
  int64_t max_ns = 10'000'000'000;
};

class BackOff {
 public:
  // `random` gives uniform reals in [0, 1).
  BackOff(const BackOffOptions& options, std::function<double()> random);
  // In [d/2, d) with d = initial, 2 initial, 4 initial, ... max.
  [[nodiscard]] int64_t NextDelayNs();
  // After success: begin anew.
  void Reset();

 private:
  BackOffOptions options_;
  std::function<double()> random_;
  int64_t ceiling_ns_;
};

}  // namespace lockstep
