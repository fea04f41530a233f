#include "aggregator/ingest/admission.h"

#include <fmt/format.h>

#include <algorithm>

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
  const MutexLock lock(mutex_);
  const bool had_room = HasRoom();
  load_.held_bytes -= bytes;
  if (!had_room && HasRoom()) {
    room_.NotifyAll();
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

bool Admission::WaitForRoom() {
  const MutexLock lock(mutex_);
  while (!closed_.stop_requested() && !HasRoom()) {
    room_.Wait(mutex_);
  }
  return !closed_.stop_requested();
}

void Admission::Close() {
  closed_.request_stop();
  const MutexLock lock(mutex_);
  room_.NotifyAll();
  turn_.NotifyAll();
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
