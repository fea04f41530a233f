#include "aggregator/ingest/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {

bool Admission::EnterStream() {
  const MutexLock lock(mutex_);
  if (load_.streams >= limits_.max_streams) {
    ++load_.refused_streams;
    return false;
  }
  ++load_.streams;
  return true;
}

void Admission::LeaveStream() {
  const MutexLock lock(mutex_);
  --load_.streams;
}

bool Admission::TakeBytes(int64_t bytes) {
  const MutexLock lock(mutex_);
  if (load_.held_bytes > 0 && bytes > limits_.max_held_bytes - load_.held_bytes) {
    ++load_.refused_messages;
    return false;
  }
  load_.held_bytes += bytes;
  load_.most_held_bytes = std::max(load_.most_held_bytes, load_.held_bytes);
  return true;
}

void Admission::GiveBytes(int64_t bytes) {
  std::vector<std::function<void()>> waiting;
  {
    const MutexLock lock(mutex_);
    load_.held_bytes -= bytes;
    if (HasRoom()) {
      waiting.swap(waiting_for_room_);
    }
  }
  for (const std::function<void()>& go_on : waiting) {
    go_on();
  }
}

bool Admission::EnterWork() {
  const MutexLock lock(mutex_);
  while (!closed_.stop_requested() && load_.working >= limits_.max_working) {
    turn_.Wait(mutex_);
  }
  if (closed_.stop_requested()) {
    return false;
  }
  ++load_.working;
  return true;
}

void Admission::LeaveWork() {
  const MutexLock lock(mutex_);
  --load_.working;
  turn_.NotifyOne();
}

void Admission::WhenRoom(std::function<void()> go_on) {
  {
    const MutexLock lock(mutex_);
    if (!closed_.stop_requested() && !HasRoom()) {
      waiting_for_room_.push_back(std::move(go_on));
      return;
    }
  }
  go_on();
}

void Admission::Close() {
  closed_.request_stop();
  std::vector<std::function<void()>> waiting;
  {
    const MutexLock lock(mutex_);
    waiting.swap(waiting_for_room_);
    turn_.NotifyAll();
  }
  for (const std::function<void()>& go_on : waiting) {
    go_on();
  }
}

absl::Status Admission::TooManyStreams() const {
  return absl::ResourceExhaustedError(fmt::format(
      "{} agents have a stream already, as many as the aggregator takes at once: try again in some seconds, "
      "or start it with a larger --max-streams",
      limits_.max_streams));
}

absl::Status Admission::TooManyBytes() const {
  return absl::ResourceExhaustedError(
      "the aggregator holds as many bytes as it may (--max-held-bytes), because its store is slower than its agents: "
      "try again in some seconds");
}

Admission::Load Admission::load() const {
  const MutexLock lock(mutex_);
  return load_;
}

}  // namespace lockstep
