// The threads that answer agents' messages, in lanes: what waits for one thing never holds up what does not.
#pragma once

#include <cstddef>

#include "platform/task_threads.h"

namespace lockstep {

struct AnsweringThreads {
  explicit AnsweringThreads(size_t max_working) : batches(max_working) {}

  TaskThreads batches;        // being decoded and stored
  TaskThreads announced{28};  // sources, notes of files and offers, which share the store's commits
  TaskThreads runs{4};        // opened, finished, drained, given back: one after the other, while a run may be dropped
};

}  // namespace lockstep
