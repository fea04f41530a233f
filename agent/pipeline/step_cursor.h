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
  StepCursor(const std::vector<StepRange>& steps, StepThreads threads) : steps_(&steps), mode_(threads) {
    for (size_t i = 0; threads != StepThreads::kAny && i < steps.size(); ++i) {
      threads_[steps[i].tid].positions.push_back(static_cast<int32_t>(i));
    }
  }

  // Position in the steps, -1 in none. `t` never goes back.
  [[nodiscard]] int32_t At(int64_t t, int64_t tid) {
    if (const auto found = threads_.find(tid); found != threads_.end()) return AtThread(t, found->second);
    return mode_ == StepThreads::kOwn ? -1 : StepAt(*steps_, t);
  }

 private:
  struct Thread {
    std::vector<int32_t> positions;  // of its steps
    size_t next = 0;                 // the first that has not begun
    std::vector<int32_t> open;       // begun, in order of start; the last one has not ended after AtThread
  };

  int32_t AtThread(int64_t t, Thread& thread) const {
    const auto step = [&](int32_t position) -> const StepRange& { return (*steps_)[static_cast<size_t>(position)]; };
    while (thread.next < thread.positions.size() && step(thread.positions[thread.next]).start_ns <= t) {
      thread.open.push_back(thread.positions[thread.next++]);
    }
    while (!thread.open.empty() && step(thread.open.back()).end_ns <= t) thread.open.pop_back();
    return thread.open.empty() ? -1 : thread.open.back();
  }

  const std::vector<StepRange>* steps_;
  StepThreads mode_;
  std::map<int64_t, Thread> threads_;
};

}  // namespace lockstep
