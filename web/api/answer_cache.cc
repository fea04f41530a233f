#include "web/api/answer_cache.h"

#include <utility>

namespace lockstep {

AnswerCache::AnswerCache(const AnswerCacheOptions& options)
    : options_(options), threads_(std::make_unique<TaskThreads>(options.threads)) {}

AnswerCache::~AnswerCache() { Stop(); }

void AnswerCache::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  threads_ = nullptr;
}

void AnswerCache::Ask(const std::string& key, std::function<absl::StatusOr<std::string>()> make,
                      std::function<void(const MadeAnswer&)> done) {
  MadeAnswer known = absl::UnavailableError("the server is going down: try again in a second");
  {
    const MutexLock lock(mutex_);
    const auto place = places_.find(key);
    if (place != places_.end()) {
      kept_.splice(kept_.begin(), kept_, place->second);
      known = place->second->second;
    } else if (const auto flight = making_.find(key); flight != making_.end()) {
      flight->second.push_back(std::move(done));
      return;
    } else if (!stopped_ && living_->load() > options_.most_living_bytes) {
      known = absl::ResourceExhaustedError("slow readers hold too many answers: try again in a few seconds");
    } else if (!stopped_) {
      making_[key].push_back(std::move(done));
      threads_->Post([this, key, make = std::move(make)] { Make(key, make); });
      return;
    }
  }
  done(known);
}

void AnswerCache::Make(const std::string& key, const std::function<absl::StatusOr<std::string>()>& make) {
  bool stopped = false;
  {
    const MutexLock lock(mutex_);
    stopped = stopped_;
  }
  MadeAnswer made = absl::UnavailableError("the server is going down: try again in a second");
  if (!stopped) {
    absl::StatusOr<std::string> text = make();
    if (text.ok()) {
      made = BodyOf(*std::move(text));
    } else {
      made = text.status();
    }
  }
  Waiting waiting;
  {
    const MutexLock lock(mutex_);
    if (made.ok()) Keep(key, *made);
    const auto flight = making_.find(key);
    waiting = std::move(flight->second);
    making_.erase(flight);
  }
  for (const auto& done : waiting) done(made);
}

std::shared_ptr<const HttpBody> AnswerCache::BodyOf(std::string text) {
  auto body = std::make_unique<const HttpBody>(std::move(text));
  *living_ += body->size();
  return {body.release(), [living = living_](const HttpBody* gone) {
            *living -= gone->size();
            delete gone;
          }};
}

void AnswerCache::Keep(const std::string& key, const std::shared_ptr<const HttpBody>& body) {
  kept_.emplace_front(key, body);
  places_[key] = kept_.begin();
  kept_bytes_ += body->size();
  while (kept_bytes_ > options_.most_kept_bytes) {
    kept_bytes_ -= kept_.back().second->size();
    places_.erase(kept_.back().first);
    kept_.pop_back();
  }
}

}  // namespace lockstep
