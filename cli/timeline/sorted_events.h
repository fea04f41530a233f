// Events of one kind in order of time, out of the sorters of several threads. Memory is that of the sorters' windows.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/pipeline/external_sorter.h"
#include "analysis/base/status_macros.h"
#include "analysis/export/perfetto/timeline.h"
#include "platform/mutex.h"

namespace lockstep {

template <typename Event>
using EventSorter = ExternalSorter<Event, perfetto::InOrder>;

// Sorters to borrow, one for each thread that works at a time. Thread safe.
template <typename Event>
class SorterPool {
 public:
  SorterPool(std::string folder, int64_t memory_bytes) : folder_(std::move(folder)), memory_bytes_(memory_bytes) {}

  [[nodiscard]] std::unique_ptr<EventSorter<Event>> Borrow() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (free_.empty()) return std::make_unique<EventSorter<Event>>(folder_, memory_bytes_);
    auto sorter = std::move(free_.back());
    free_.pop_back();
    return sorter;
  }
  void Return(std::unique_ptr<EventSorter<Event>> sorter) LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    free_.push_back(std::move(sorter));
  }
  // When all are back.
  [[nodiscard]] std::vector<std::unique_ptr<EventSorter<Event>>> Take() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return std::move(free_);
  }

 private:
  const std::string folder_;
  const int64_t memory_bytes_;
  Mutex mutex_;
  std::vector<std::unique_ptr<EventSorter<Event>>> free_ LOCKSTEP_GUARDED_BY(mutex_);
};

// One thread. Errors: those of the sorters.
template <typename Event>
class SortedEvents {
 public:
  // Before the first event.
  absl::Status Open(std::vector<std::unique_ptr<EventSorter<Event>>> sorters) {
    for (auto& sorter : sorters) {
      LOCKSTEP_RETURN_IF_ERROR(sorter->Finish());
      count_ += sorter->count();
      heads_.push_back({std::move(sorter), Event()});
      LOCKSTEP_RETURN_IF_ERROR(Read(heads_.size() - 1));
    }
    Choose();
    return absl::OkStatus();
  }

  [[nodiscard]] bool empty() const { return heads_.empty(); }
  [[nodiscard]] const Event& front() const { return heads_[least_].event; }
  absl::Status Pop() {
    LOCKSTEP_RETURN_IF_ERROR(Read(least_));
    Choose();
    return absl::OkStatus();
  }
  [[nodiscard]] int64_t count() const { return count_; }

 private:
  struct Head {
    std::unique_ptr<EventSorter<Event>> sorter;
    Event event;
  };

  absl::Status Read(size_t at) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, heads_[at].sorter->Next(heads_[at].event));
    if (!more) heads_.erase(heads_.begin() + static_cast<std::ptrdiff_t>(at));
    return absl::OkStatus();
  }

  // There are as many as threads worked: few.
  void Choose() {
    least_ = 0;
    for (size_t i = 1; i < heads_.size(); ++i) {
      if (perfetto::InOrder()(heads_[i].event, heads_[least_].event)) least_ = i;
    }
  }

  std::vector<Head> heads_;
  size_t least_ = 0;
  int64_t count_ = 0;
};

}  // namespace lockstep
