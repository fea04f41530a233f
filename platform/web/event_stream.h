// Server-sent events for one page that listens (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// Whoever has news pushes it from any thread; the connection takes it when the page has read what came before. What
// waits is bounded: a page that does not read is cut off, and comes back by itself when it wants to. Thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "platform/mutex.h"

namespace lockstep {

// One event, shared by all who are sent it.
using SharedText = std::shared_ptr<const std::string>;

// As it is written to the connection. `name` and `id` have no line breaks; those in `data` begin further lines.
[[nodiscard]] SharedText FormatEvent(std::string_view name, std::string_view id, std::string_view data);

class EventStream {
 public:
  static constexpr size_t kMostWaitingBytes = size_t{64} << 10;

  // False: it is closed, perhaps because this was too much.
  bool Push(SharedText event) LOCKSTEP_EXCLUDES(mutex_);
  // The connection ends; what waits is dropped.
  void Close() LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] bool closed() const LOCKSTEP_EXCLUDES(mutex_);

  // For the connection. `wake` is called after each change, by whoever makes it; once attached, at once.
  void Attach(std::function<void()> wake) LOCKSTEP_EXCLUDES(mutex_);
  // The next event; null = none waits.
  [[nodiscard]] SharedText Take() LOCKSTEP_EXCLUDES(mutex_);
  // Closes, and forgets `wake`.
  void Detach() LOCKSTEP_EXCLUDES(mutex_);
  // Closed because it was full.
  [[nodiscard]] bool overflowed() const LOCKSTEP_EXCLUDES(mutex_);

 private:
  void Wake() LOCKSTEP_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  std::deque<SharedText> waiting_ LOCKSTEP_GUARDED_BY(mutex_);
  size_t waiting_bytes_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  bool overflowed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::function<void()> wake_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
