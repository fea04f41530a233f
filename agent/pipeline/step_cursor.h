// Which step of one process a call belongs to, asked in order of time: the range that contains its start, of several
// the one begun last. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/condense/step_table.h"

namespace lockstep {

// Whose calls a step holds.
enum class StepThreads : uint8_t {
  kAny = 0,         // any thread's: a profiler's steps, a serving engine's, detected ones
  kOwn = 1,         // those of the range's own thread, as nsys counts what a range launches
  kOwnIfNamed = 2,  // the same of threads that have such ranges; of others (autograd's workers) as with kAny
};

class StepCursor {
 public:
  // `steps`, ordered by start, must outlive the cursor.
  StepCursor(const std::vector<StepRange>& steps, StepThreads threads) : steps_(&steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto position = static_cast<int32_t>(i);
      if (threads != StepThreads::kOwn) all_.positions.push_back(position);
      if (threads != StepThreads::kAny) threads_[steps[i].tid].positions.push_back(position);
    }
  }

  // Position in the steps, -1 in none. `t` never goes back.
  [[nodiscard]] int32_t At(int64_t t, int64_t tid) {
    if (const auto found = threads_.find(tid); found != threads_.end()) return InnermostAt(t, found->second);
    return InnermostAt(t, all_);
  }

 private:
  // Those of the steps that are looked at, and how far the time has come in them.
  struct Walk {
    std::vector<int32_t> positions;
    size_t next = 0;            // the first that has not begun
    std::vector<int32_t> open;  // begun, in order of start; the last one has not ended after InnermostAt
  };

  int32_t InnermostAt(int64_t t, Walk& walk) const {
    const auto step = [&](int32_t position) -> const StepRange& { return (*steps_)[static_cast<size_t>(position)]; };
    while (walk.next < walk.positions.size() && step(walk.positions[walk.next]).start_ns <= t) {
      walk.open.push_back(walk.positions[walk.next++]);
    }
    while (!walk.open.empty() && step(walk.open.back()).end_ns <= t) walk.open.pop_back();
    return walk.open.empty() ? -1 : walk.open.back();
  }

  const std::vector<StepRange>* steps_;
  std::map<int64_t, Walk> threads_;  // by thread; none where the thread does not matter
  Walk all_;                         // none where only the range's own thread counts
};

}  // namespace lockstep
