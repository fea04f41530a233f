#include "web/api/run_watch.h"

#include <algorithm>
#include <utility>

#include "analysis/report/json.h"
#include "platform/clock.h"
#include "platform/log.h"
#include "web/answers/page_answers.h"

namespace lockstep {
namespace {

constexpr int64_t kBetweenEventsNs = 1'000'000'000;  // of one page: it draws for longer than that
constexpr int64_t kShareOfLooking = 20;              // a look every twenty times its own length: at most 5 % of a core

SharedText EventOf(const RunInfo& run, const std::string& version) {
  Json data;
  data["run"] = run.name;
  data["state"] = std::string(Name(run.state == RunState::kOpen ? RunState::kOpen : RunState::kComplete));
  data["version"] = version;
  return FormatEvent("run", version, data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

RunWatch::RunWatch(const RunAnswers& answers, int64_t period_ns)
    : answers_(answers), period_ns_(period_ns), thread_([this] { Work(); }) {}

RunWatch::~RunWatch() { Stop(); }

void RunWatch::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    for (const Follower& follower : followers_) follower.stream->Close();
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void RunWatch::Follow(const std::string& run, std::function<bool()> allowed, std::shared_ptr<EventStream> stream) {
  const MutexLock lock(mutex_);
  if (stopped_) return stream->Close();
  followers_.push_back({.run = run, .allowed = std::move(allowed), .stream = std::move(stream)});
  arrived_ = true;
  changed_.NotifyAll();
}

void RunWatch::Work() {
  int64_t next_look_ns = 0;
  while (true) {
    std::vector<Follower> followers;
    {
      const MutexLock lock(mutex_);
      while (!stopped_ && !arrived_) {
        const int64_t left_ns = next_look_ns - SystemClock().MonotonicNs();
        if (followers_.empty()) {
          changed_.Wait(mutex_);
        } else if (left_ns <= 0) {
          break;
        } else {
          changed_.WaitFor(mutex_, left_ns);
        }
      }
      if (stopped_) return;
      arrived_ = false;
      followers = std::exchange(followers_, {});
    }
    const int64_t begin_ns = SystemClock().MonotonicNs();
    if (begin_ns >= next_look_ns) {
      Look();
      const int64_t end_ns = SystemClock().MonotonicNs();
      next_look_ns = std::max(begin_ns + period_ns_, end_ns + kShareOfLooking * (end_ns - begin_ns));
    }
    Tell(followers);
    std::erase_if(followers, [](const Follower& follower) { return follower.stream->closed(); });
    const MutexLock lock(mutex_);
    if (stopped_) {
      for (const Follower& follower : followers) follower.stream->Close();
    }
    std::move(followers.begin(), followers.end(), std::back_inserter(followers_));
  }
}

void RunWatch::Look() {
  const absl::StatusOr<std::vector<RunInfo>> runs = answers_.Runs();
  if (!runs.ok()) {
    LogDebug("the runs cannot be looked at: {}", std::string(runs.status().message()));
    return;
  }
  std::map<std::string, Seen> seen;
  for (const RunInfo& run : *runs) {
    const std::string version = VersionOf(run);
    const auto before = seen_.find(run.name);
    const bool same = before != seen_.end() && before->second.version == version;
    seen[run.name] = same ? std::move(before->second) : Seen{version, EventOf(run, version)};
  }
  seen_ = std::move(seen);
  has_seen_ = true;
}

void RunWatch::Tell(std::vector<Follower>& followers) const {
  static const SharedText kGone = FormatEvent("gone", "", "{}");
  const int64_t now_ns = SystemClock().MonotonicNs();
  for (Follower& follower : followers) {
    if (follower.stream->closed()) continue;
    if (!follower.allowed()) {
      follower.stream->Close();
      continue;
    }
    const auto found = seen_.find(follower.run);
    if (found == seen_.end()) {
      if (has_seen_ && follower.version != "gone") follower.stream->Push(kGone);
      if (has_seen_) follower.version = "gone";
    } else if (follower.version != found->second.version && now_ns >= follower.next_ns) {
      follower.next_ns = now_ns + kBetweenEventsNs;
      follower.version = found->second.version;
      follower.stream->Push(found->second.event);
    }
  }
}

}  // namespace lockstep
