// The matched instances to list one by one: all of them, or those with the most waiting. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/match.h"

namespace lockstep {

class ListedInstances {
 public:
  // limit < 0: all.
  explicit ListedInstances(int64_t limit) : limit_(limit) {}
  // Instances that are not matched are left out by itself. Of equal ones the first given is kept.
  void Add(const MatchedInstance& instance);
  // Those to list, by communicator and index. The list is used up.
  [[nodiscard]] std::vector<MatchedInstance> Finish();
  // How many there are to choose from.
  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] bool leaves_out() const { return limit_ >= 0 && count_ > limit_; }

 private:
  struct Kept {
    int64_t wait_ns = 0;
    int64_t number = 0;
    MatchedInstance instance;
  };
  static bool Before(const Kept& a, const Kept& b);

  int64_t limit_ = -1;
  int64_t count_ = 0;
  std::vector<Kept> kept_;  // with a limit: a heap, the one to drop first in front
};

}  // namespace lockstep
