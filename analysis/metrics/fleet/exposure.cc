#include "analysis/metrics/fleet/exposure.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace lockstep {

void Exposure::Add(const Exposure& other) {
  wait_ns += other.wait_ns;
  transfer_ns += other.transfer_ns;
  unresolved_ns += other.unresolved_ns;
}

void Reconcile(Exposure& exposure, int64_t exposed_comm_ns) {
  int64_t missing = exposed_comm_ns - exposure.total_ns();
  if (missing >= 0) {
    exposure.unresolved_ns += missing;
    return;
  }
  for (int64_t* part : {&exposure.unresolved_ns, &exposure.wait_ns, &exposure.transfer_ns}) {
    const int64_t taken = std::min(*part, -missing);
    *part -= taken;
    missing += taken;
  }
}

ExposureSweep::ExposureSweep(std::vector<SweepWindow> windows)
    : windows_(std::move(windows)), results_(windows_.size()) {}

void ExposureSweep::Append(const SweepWindow& window) {
  windows_.push_back(window);
  results_.emplace_back();
}

void ExposureSweep::Add(int64_t start_ns, int64_t end, const Cover& cover, const ArrivalOfRow& arrival) {
  const int64_t start = std::max(start_ns, now_ns_);
  if (end <= start) return;
  AdvanceTo(start);
  Apply({start, 1, 0, 0, 0});
  edges_.push({end, -1, 0, 0, 0});
  const int64_t arrived = arrival.usable ? std::clamp(arrival.arrival_ns, start, end) : start;
  const int64_t latest = arrival.usable ? std::clamp(arrival.latest_ns, arrived, end) : end;
  AddStretch(arrival.resolved ? arrived : start, latest, &Edge::unresolved);
  AddStretch(latest, end, &Edge::passed);
  AddCover(start_ns, end, cover, start);
}

void ExposureSweep::AddStretch(int64_t start_ns, int64_t end_ns, int32_t Edge::*count) {
  if (start_ns >= end_ns) return;
  Edge edge{start_ns, 0, 0, 0, 0};
  edge.*count = 1;
  if (start_ns <= now_ns_) {
    Apply(edge);
  } else {
    edges_.push(edge);
  }
  edge.time_ns = end_ns;
  edge.*count = -1;
  edges_.push(edge);
}

void ExposureSweep::AddCover(int64_t start_ns, int64_t end, const Cover& cover, int64_t from_ns) {
  int64_t position = start_ns;
  for (const auto& [gap, length] : cover) {
    if (gap < 0 || length < 0 || gap > end - position) return;
    const int64_t begin = position + gap;
    position = begin + std::min(length, end - begin);
    if (position <= from_ns) continue;
    if (begin <= from_ns) {
      Apply({from_ns, 0, 0, 0, 1});
    } else {
      edges_.push({begin, 0, 0, 0, 1});
    }
    edges_.push({position, 0, 0, 0, -1});
  }
}

std::vector<Exposure> ExposureSweep::Finish() {
  AdvanceTo(std::numeric_limits<int64_t>::max());
  return std::move(results_);
}

void ExposureSweep::AdvanceTo(int64_t time_ns) {
  while (!edges_.empty() && edges_.top().time_ns <= time_ns) {
    const Edge edge = edges_.top();
    edges_.pop();
    Account(now_ns_, edge.time_ns);
    now_ns_ = edge.time_ns;
    Apply(edge);
  }
  Account(now_ns_, time_ns);
  now_ns_ = time_ns;
}

void ExposureSweep::Apply(const Edge& edge) {
  state_.active += edge.active;
  state_.passed += edge.passed;
  state_.unresolved += edge.unresolved;
  state_.compute += edge.compute;
}

void ExposureSweep::Account(int64_t start_ns, int64_t end_ns) {
  if (start_ns >= end_ns || state_.active == 0 || state_.compute > 0) return;
  while (window_ < windows_.size() && windows_[window_].end_ns <= start_ns) ++window_;
  for (size_t i = window_; i < windows_.size() && windows_[i].start_ns < end_ns; ++i) {
    const int64_t length = std::min(end_ns, windows_[i].end_ns) - std::max(start_ns, windows_[i].start_ns);
    if (length <= 0) continue;
    Exposure& result = results_[i];
    (state_.passed > 0 ? result.transfer_ns : state_.unresolved > 0 ? result.unresolved_ns : result.wait_ns) += length;
  }
}

}  // namespace lockstep
