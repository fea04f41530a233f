// Answers that take long to make: made on threads of their own, few at a time, once for all who ask for the same, and
// kept for those who ask next, as far as a limit of bytes allows.
//
// What a key names never changes: it holds the version of the run. Thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/mutex.h"
#include "platform/task_threads.h"
#include "platform/web/http_message.h"

namespace lockstep {

using MadeAnswer = absl::StatusOr<std::shared_ptr<const HttpBody>>;

struct AnswerCacheOptions {
  size_t threads = 2;                            // answers made at a time: each may take the memory of an analysis
  size_t most_kept_bytes = size_t{64} << 20;     // for those who ask next
  size_t most_living_bytes = size_t{256} << 20;  // with those that slow readers hold; beyond, no more are made
};

class AnswerCache {
 public:
  explicit AnswerCache(const AnswerCacheOptions& options = {});
  ~AnswerCache();

  // `done` is called once, now or from a thread of the cache; `make` at most once. kResourceExhausted: slow readers
  // hold too much; kUnavailable: stopped.
  void Ask(const std::string& key, std::function<absl::StatusOr<std::string>()> make,
           std::function<void(const MadeAnswer&)> done) LOCKSTEP_EXCLUDES(mutex_);
  // What is being made is finished, what waits is not begun.
  void Stop() LOCKSTEP_EXCLUDES(mutex_);

 private:
  using Kept = std::pair<std::string, std::shared_ptr<const HttpBody>>;
  using Waiting = std::vector<std::function<void(const MadeAnswer&)>>;

  void Make(const std::string& key, const std::function<absl::StatusOr<std::string>()>& make);
  [[nodiscard]] std::shared_ptr<const HttpBody> BodyOf(std::string text);
  void Keep(const std::string& key, const std::shared_ptr<const HttpBody>& body) LOCKSTEP_REQUIRES(mutex_);

  const AnswerCacheOptions options_;
  // Bytes of all bodies that somebody still holds; outlives this, as bodies may.
  const std::shared_ptr<std::atomic<size_t>> living_ = std::make_shared<std::atomic<size_t>>(0);
  Mutex mutex_;
  std::list<Kept> kept_ LOCKSTEP_GUARDED_BY(mutex_);  // the last asked for first
  std::map<std::string, std::list<Kept>::iterator> places_ LOCKSTEP_GUARDED_BY(mutex_);
  size_t kept_bytes_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Waiting> making_ LOCKSTEP_GUARDED_BY(mutex_);
  bool stopped_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::unique_ptr<TaskThreads> threads_;
};

}  // namespace lockstep
