#include "platform/web/event_stream.h"

#include <algorithm>
#include <utility>

namespace lockstep {

SharedText FormatEvent(std::string_view name, std::string_view id, std::string_view data) {
  auto text = std::make_shared<std::string>();
  if (!id.empty()) text->append("id: ").append(id).append("\n");
  if (!name.empty()) text->append("event: ").append(name).append("\n");
  while (true) {
    const size_t end = std::min(data.find_first_of("\r\n"), data.size());
    text->append("data: ").append(data.substr(0, end)).append("\n");
    if (end == data.size()) break;
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  text->append("\n");
  return text;
}

bool EventStream::Push(SharedText event) {
  bool taken = false;
  {
    const MutexLock lock(mutex_);
    if (closed_) return false;
    waiting_bytes_ += event->size();
    taken = waiting_bytes_ <= kMostWaitingBytes;
    if (taken) {
      waiting_.push_back(std::move(event));
    } else {
      closed_ = overflowed_ = true;
    }
  }
  Wake();
  return taken;
}

void EventStream::Close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  Wake();
}

bool EventStream::closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

bool EventStream::overflowed() const {
  const MutexLock lock(mutex_);
  return overflowed_;
}

void EventStream::Attach(std::function<void()> wake) {
  {
    const MutexLock lock(mutex_);
    wake_ = std::move(wake);
  }
  Wake();
}

SharedText EventStream::Take() {
  const MutexLock lock(mutex_);
  if (closed_ || waiting_.empty()) return nullptr;
  SharedText event = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= event->size();
  return event;
}

void EventStream::Detach() {
  std::function<void()> forgotten;  // destroyed after the lock: it may own who calls this
  const MutexLock lock(mutex_);
  closed_ = true;
  waiting_.clear();
  forgotten.swap(wake_);
}

void EventStream::Wake() {
  std::function<void()> wake;
  {
    const MutexLock lock(mutex_);
    wake = wake_;
  }
  if (wake) wake();
}

}  // namespace lockstep
