// "3 of 8 files, rank3.json 45 %" on the last line of a terminal. Thread safe.
#pragma once

#include <cstdint>

#include "agent/condense_and_send.h"
#include "platform/mutex.h"

namespace lockstep {

class ProgressLine {
 public:
  // Writes nothing when stderr is no terminal.
  ProgressLine();
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const SendProgress& progress) LOCKSTEP_EXCLUDES(mutex_);

 private:
  const bool enabled_;
  Mutex mutex_;
  int64_t shown_ns_ LOCKSTEP_GUARDED_BY(mutex_);
  bool dirty_ LOCKSTEP_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep
