// "computing the report, 12 s" on the last line of a terminal, for work that does not say how far it is. Nothing is
// shown in its first second, nor where stderr is no terminal.
#pragma once

#include <string>
#include <thread>

#include "platform/mutex.h"

namespace lockstep {

// Owns a thread where there is a terminal.
class WaitingLine {
 public:
  explicit WaitingLine(std::string what);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  // Ends it, and removes the line.
  void Clear() LOCKSTEP_EXCLUDES(mutex_);

 private:
  void Show() LOCKSTEP_EXCLUDES(mutex_);

  const std::string what_;
  Mutex mutex_;
  CondVar changed_;
  bool ended_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep
