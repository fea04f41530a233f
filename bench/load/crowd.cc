#include "bench/load/crowd.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/time.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

// Sends that fit into the time, and some for rounding.
int64_t BatchesOf(const CrowdOptions& options) {
  return options.active == 0 ? 0 : options.seconds * 1000 / std::max<int64_t>(1, options.interval_ms) + 2;
}

int64_t Quantile(const std::vector<int64_t>& sorted, double share) {
  if (sorted.empty()) {
    return 0;
  }
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void SleepUntil(int64_t due_ns) {
  const int64_t left_ns = due_ns - SystemClock().MonotonicNs();
  if (left_ns > 0) {
    Mutex mutex;
    CondVar never;
    const MutexLock lock(mutex);
    never.WaitFor(mutex, left_ns);
  }
}

}  // namespace

Crowd::Crowd(CrowdOptions options)
    : options_(std::move(options)), batches_(CrowdBatches(BatchesOf(options_), options_.instances)) {}

Crowd::~Crowd() {
  {
    const MutexLock lock(mutex_);
    hanging_up_ = true;
  }
  for (const auto& agent : agents_) {
    agent->Cancel();
  }
  const MutexLock lock(mutex_);
  while (ended_ < static_cast<int64_t>(agents_.size())) {
    changed_.Wait(mutex_);
  }
}

void Crowd::Connect(int64_t agents, bool are_active, int64_t timeout_s) {
  const int64_t end_ns = SystemClock().MonotonicNs() + timeout_s * kNsPerS;
  const auto begun = [this] { return static_cast<int64_t>(agents_.size()); };
  const int64_t target = begun() + agents;
  while (begun() < target) {
    agents_.push_back(std::make_unique<CrowdAgent>(options_, begun(), batches_, *this));
    if (are_active) {
      active_.push_back(agents_.back().get());
    }
    agents_.back()->Start(are_active);
    const MutexLock lock(mutex_);
    const int64_t allowed = begun() == target ? 0 : options_.at_once - 1;
    while (begun() - figures_.welcomed - figures_.refused > allowed && SystemClock().MonotonicNs() < end_ns) {
      changed_.WaitFor(mutex_, kNsPerS);
    }
  }
}

void Crowd::Send() {
  const int64_t begin_ns = SystemClock().MonotonicNs();
  const int64_t interval_ns = options_.interval_ms * kNsPerMs;
  const auto count = static_cast<int64_t>(active_.size());
  for (int64_t round = 0; round * interval_ns < options_.seconds * kNsPerS; ++round) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t due_ns = begin_ns + round * interval_ns + i * interval_ns / count;
      SleepUntil(due_ns);
      active_[static_cast<size_t>(i)]->Offer(due_ns);
    }
  }
  const int64_t end_ns = SystemClock().MonotonicNs() + options_.seconds * kNsPerS;
  while (Unacknowledged() > 0 && SystemClock().MonotonicNs() < end_ns) {
    SleepUntil(SystemClock().MonotonicNs() + 50 * kNsPerMs);
  }
}

int64_t Crowd::Unacknowledged() {
  int64_t sum = 0;
  for (CrowdAgent* const agent : active_) {
    sum += agent->unacknowledged();
  }
  return sum;
}

CrowdFigures Crowd::Figures() {
  const int64_t unacknowledged = Unacknowledged();
  const MutexLock lock(mutex_);
  CrowdFigures figures = figures_;
  std::vector<int64_t> sorted = latencies_ns_;
  std::sort(sorted.begin(), sorted.end());
  figures.unacknowledged = unacknowledged;
  figures.acknowledged = static_cast<int64_t>(sorted.size());
  figures.p50_us = Quantile(sorted, 0.5) / 1000;
  figures.p99_us = Quantile(sorted, 0.99) / 1000;
  figures.max_us = Quantile(sorted, 1) / 1000;
  return figures;
}

void Crowd::OnWelcome() {
  const MutexLock lock(mutex_);
  ++figures_.welcomed;
  changed_.NotifyAll();
}

void Crowd::OnAck(int64_t latency_ns) {
  const MutexLock lock(mutex_);
  latencies_ns_.push_back(latency_ns);
}

void Crowd::OnEnd(bool was_welcomed, const grpc::Status& status) {
  const MutexLock lock(mutex_);
  ++ended_;
  if (!hanging_up_) {
    ++(was_welcomed ? figures_.lost : figures_.refused);
    figures_.without_descriptor += status.error_message().find("Too many open files") != std::string::npos ? 1 : 0;
    ++figures_
          .reasons[fmt::format("{}: {}", static_cast<int>(status.error_code()), status.error_message().substr(0, 120))];
  }
  changed_.NotifyAll();
}

}  // namespace lockstep
