#include "aggregator/query/answers_ahead.h"

#include <absl/status/status.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "aggregator/query/run_query.h"
#include "platform/clock.h"
#include "platform/log.h"

namespace lockstep {
namespace {

int64_t NowNs() { return SystemClock().MonotonicNs(); }

// Without memory for an analysis the aggregator goes on: nobody has asked for it.
absl::Status TryAnswerAhead(JobStore& store, const std::string& run, Executor& executor,
                            const std::function<bool()>& go_on) {
  try {
    return AnswerAhead(store, run, executor, go_on);
  } catch (const std::exception& failure) {
    return absl::ResourceExhaustedError(failure.what());
  }
}

}  // namespace

AnswersAhead::AnswersAhead(JobStore& store, Executor& executor, const AnswersAheadOptions& options)
    : store_(store), executor_(executor), options_(options) {
  thread_ = std::thread([this] { Work(); });
}

AnswersAhead::~AnswersAhead() { Stop(); }

void AnswersAhead::Ended(const std::string& run) {
  const MutexLock lock(mutex_);
  quiet_at_ns_[run] = NowNs() + options_.quiet_ns;
  changed_.NotifyAll();
}

void AnswersAhead::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void AnswersAhead::Work() {
  for (std::string run = Next(); !run.empty(); run = Next()) Answer(run);
}

std::string AnswersAhead::Next() {
  const MutexLock lock(mutex_);
  while (!stopped_) {
    const auto next = std::min_element(quiet_at_ns_.begin(), quiet_at_ns_.end(),
                                       [](const auto& x, const auto& y) { return x.second < y.second; });
    if (next == quiet_at_ns_.end()) {
      changed_.Wait(mutex_);
      continue;
    }
    const int64_t wait_ns = std::max(next->second, rests_until_ns_) - NowNs();
    if (wait_ns <= 0) return quiet_at_ns_.extract(next).key();
    changed_.WaitFor(mutex_, wait_ns);
  }
  return "";
}

void AnswersAhead::Answer(const std::string& run) {
  const int64_t begun_ns = NowNs();
  const absl::Status answered = TryAnswerAhead(store_, run, executor_, [this] { return GoesOn(); });
  // A run may have been pruned since, and a damaged one is told to whoever asks about it.
  if (!answered.ok()) LogDebug("run '{}' is not analysed ahead: {}", run, std::string(answered.message()));
  const int64_t now_ns = NowNs();
  const MutexLock lock(mutex_);
  rests_until_ns_ = now_ns + (now_ns - begun_ns);
}

bool AnswersAhead::GoesOn() {
  const MutexLock lock(mutex_);
  return !stopped_;
}

}  // namespace lockstep
