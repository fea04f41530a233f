// A bar on the last line of a terminal: "[=====>     ]  45 %  3 of 8 files, rank3.json". Without a known amount of work
// there is no bar: "3 of 8 files, rank3.json 45 %". Nothing is shown in the first second. Thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "agent/condense_and_send.h"
#include "platform/clock.h"
#include "platform/mutex.h"

namespace lockstep {

// The line, of at most `columns` columns.
[[nodiscard]] std::string ProgressText(const SendProgress& progress, size_t columns);

// When the line is due: not in the first second, so that short work shows nothing, and then five times a second. Not
// thread safe; the clock has to live longer.
class ProgressPace {
 public:
  explicit ProgressPace(const Clock& clock);
  // True if the line is due, which then counts as shown.
  [[nodiscard]] bool TakeTurn();

 private:
  const Clock& clock_;
  int64_t shown_ns_;
};

class ProgressLine {
 public:
  // Writes nothing unless stderr is a terminal that understands escapes.
  ProgressLine();
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const SendProgress& progress) LOCKSTEP_EXCLUDES(mutex_);

 private:
  const bool enabled_;
  Mutex mutex_;
  ProgressPace pace_ LOCKSTEP_GUARDED_BY(mutex_);
  bool dirty_ LOCKSTEP_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep
