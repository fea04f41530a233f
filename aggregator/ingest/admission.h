// What all streams of an aggregator share: how many there are, how many bytes of messages they hold, how many batches
// are being worked on. A store slower than the agents makes streams wait here, so that the agents are held back and
// memory does not grow. Thread safe.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "aggregator/ingest/ingest_limits.h"
#include "platform/mutex.h"

namespace lockstep {

class Admission {
 public:
  explicit Admission(const IngestLimits& limits) : limits_(limits) {}

  // One open stream, for as long as it lives. False: there are as many as allowed.
  class StreamPass {
   public:
    explicit StreamPass(Admission& admission) : admission_(admission), admitted_(admission.EnterStream()) {}
    ~StreamPass() {
      if (admitted_) admission_.LeaveStream();
    }
    StreamPass(const StreamPass&) = delete;
    StreamPass& operator=(const StreamPass&) = delete;
    explicit operator bool() const { return admitted_; }

   private:
    Admission& admission_;
    const bool admitted_;
  };

  // The bytes of one message, from its arrival to its answer. False: together with the others they are too many. One
  // message is always let in when there is no other.
  class Hold {
   public:
    Hold(Admission& admission, int64_t bytes)
        : admission_(admission), bytes_(bytes), admitted_(admission.TakeBytes(bytes)) {}
    ~Hold() {
      if (admitted_) admission_.GiveBytes(bytes_);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    explicit operator bool() const { return admitted_; }

   private:
    Admission& admission_;
    const int64_t bytes_;
    const bool admitted_;
  };

  // One batch being decoded and stored; waits for its turn. False: closed.
  class WorkPass {
   public:
    explicit WorkPass(Admission& admission) : admission_(admission), admitted_(admission.EnterWork()) {}
    ~WorkPass() {
      if (admitted_) admission_.LeaveWork();
    }
    WorkPass(const WorkPass&) = delete;
    WorkPass& operator=(const WorkPass&) = delete;
    explicit operator bool() const { return admitted_; }

   private:
    Admission& admission_;
    const bool admitted_;
  };

  // Calls `go_on` once less than half of the bytes are held, or this is closed: only then another message should be
  // read. At once, or from the thread that makes the room.
  void WhenRoom(std::function<void()> go_on) LOCKSTEP_EXCLUDES(mutex_);
  // Ends all waiting, now and later.
  void Close() LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] std::stop_token closed() const { return closed_.get_token(); }

  // What to tell a stream that was not admitted: kResourceExhausted.
  [[nodiscard]] absl::Status TooManyStreams() const;
  [[nodiscard]] absl::Status TooManyBytes() const;

  // How things stand, for the metrics.
  struct Load {
    int64_t streams = 0;
    int64_t held_bytes = 0;
    int64_t most_held_bytes = 0;  // ever
    int64_t working = 0;
    int64_t refused_streams = 0;
    int64_t refused_messages = 0;
  };
  [[nodiscard]] Load load() const LOCKSTEP_EXCLUDES(mutex_);

 private:
  bool EnterStream() LOCKSTEP_EXCLUDES(mutex_);
  void LeaveStream() LOCKSTEP_EXCLUDES(mutex_);
  bool TakeBytes(int64_t bytes) LOCKSTEP_EXCLUDES(mutex_);
  void GiveBytes(int64_t bytes) LOCKSTEP_EXCLUDES(mutex_);
  bool EnterWork() LOCKSTEP_EXCLUDES(mutex_);
  void LeaveWork() LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] bool HasRoom() const LOCKSTEP_REQUIRES(mutex_) { return load_.held_bytes * 2 < limits_.max_held_bytes; }

  const IngestLimits limits_;
  std::stop_source closed_;
  mutable Mutex mutex_;
  std::vector<std::function<void()>> waiting_for_room_ LOCKSTEP_GUARDED_BY(mutex_);
  CondVar turn_;
  Load load_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
