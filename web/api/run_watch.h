// Tells pages that a run has changed: one thread looks at the runs four times a second while somebody listens, and
// pushes one shared text to all who listen to the same run, at most one a second to each. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "analysis/model/run_data.h"
#include "platform/mutex.h"
#include "platform/web/event_stream.h"
#include "web/answers/run_answers.h"

namespace lockstep {

class RunWatch {
 public:
  // `answers` must outlive this. Between two looks at least `period_ns` passes, and twenty times what a look takes.
  explicit RunWatch(const RunAnswers& answers, int64_t period_ns = 250'000'000);
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  // An event "run" with {"run","state","version"} at once and after each change; "gone" once there is no such run. The
  // stream is closed when `allowed` says no.
  void Follow(const std::string& run, std::function<bool()> allowed, std::shared_ptr<EventStream> stream)
      LOCKSTEP_EXCLUDES(mutex_);
  void Stop() LOCKSTEP_EXCLUDES(mutex_);

 private:
  struct Follower {
    std::string run;
    std::function<bool()> allowed;
    std::shared_ptr<EventStream> stream;
    std::string version;  // last pushed; "" = none yet
    int64_t next_ns = 0;  // no event before
  };
  struct Seen {
    std::string version;
    SharedText event;
  };

  void Work() LOCKSTEP_EXCLUDES(mutex_);
  void Look();
  void Tell(std::vector<Follower>& followers) const;

  const RunAnswers& answers_;
  const int64_t period_ns_;
  std::map<std::string, Seen> seen_;  // of the thread
  bool has_seen_ = false;             // of the thread: a look succeeded
  Mutex mutex_;
  CondVar changed_;
  std::vector<Follower> followers_ LOCKSTEP_GUARDED_BY(mutex_);
  bool arrived_ LOCKSTEP_GUARDED_BY(mutex_) = false;  // a follower without any event yet
  bool stopped_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace lockstep
