#include "analysis/metrics/fleet/exposure.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

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
  FlushAlone(start_ns);
  const int64_t start = std::max(start_ns, now_ns_);
  if (end <= start) return;
  if (!edges_.empty()) AdvanceTo(start);
  const int64_t arrived = arrival.usable ? std::clamp(arrival.arrival_ns, start, end) : start;
  const int64_t latest = arrival.usable ? std::clamp(arrival.latest_ns, arrived, end) : end;
  const Row row{start, arrival.resolved ? arrived : start, latest, end};
  if (edges_.empty() && cover.empty()) {
    alone_ = row;
    return;
  }
  AddRow(row);
  AddCover(start_ns, end, cover, start);
}

// Accounts for the last row, if it waits for the next one. Most rows overlap no other, and such a row needs no edges.
void ExposureSweep::FlushAlone(int64_t next_start_ns) {
  if (!alone_) return;
  const Row row = *std::exchange(alone_, std::nullopt);
  if (next_start_ns < row.end_ns) {
    AddRow(row);
    return;
  }
  Account(row.start_ns, row.unresolved_ns, &Exposure::wait_ns);
  Account(row.unresolved_ns, row.passed_ns, &Exposure::unresolved_ns);
  Account(row.passed_ns, row.end_ns, &Exposure::transfer_ns);
  now_ns_ = row.end_ns;
}

void ExposureSweep::AddRow(const Row& row) {
  AdvanceTo(row.start_ns);
  AddStretch(row.start_ns, row.end_ns, Count::kActive);
  AddStretch(row.unresolved_ns, row.passed_ns, Count::kUnresolved);
  AddStretch(row.passed_ns, row.end_ns, Count::kPassed);
}

void ExposureSweep::AddStretch(int64_t start_ns, int64_t end_ns, Count of) {
  if (start_ns >= end_ns) return;
  if (start_ns <= now_ns_) {
    ++Running(of);
  } else {
    edges_.push({start_ns, of, 1});
  }
  edges_.push({end_ns, of, -1});
}

void ExposureSweep::AddCover(int64_t start_ns, int64_t end, const Cover& cover, int64_t from_ns) {
  int64_t position = start_ns;
  for (const auto& [gap, length] : cover) {
    if (gap < 0 || length < 0 || gap > end - position) return;
    const int64_t begin = position + gap;
    position = begin + std::min(length, end - begin);
    if (position > from_ns) AddStretch(std::max(begin, from_ns), position, Count::kCompute);
  }
}

std::vector<Exposure> ExposureSweep::Finish() {
  FlushAlone(std::numeric_limits<int64_t>::max());
  AdvanceTo(std::numeric_limits<int64_t>::max());
  return std::move(results_);
}

void ExposureSweep::AdvanceTo(int64_t time_ns) {
  while (!edges_.empty() && edges_.top().time_ns <= time_ns) {
    const Edge edge = edges_.top();
    edges_.pop();
    AccountRunning(now_ns_, edge.time_ns);
    now_ns_ = edge.time_ns;
    Running(edge.of) += edge.change;
  }
  AccountRunning(now_ns_, time_ns);
  now_ns_ = time_ns;
}

void ExposureSweep::AccountRunning(int64_t start_ns, int64_t end_ns) {
  if (Running(Count::kActive) == 0 || Running(Count::kCompute) > 0) return;
  Account(start_ns, end_ns,
          Running(Count::kPassed) > 0       ? &Exposure::transfer_ns
          : Running(Count::kUnresolved) > 0 ? &Exposure::unresolved_ns
                                            : &Exposure::wait_ns);
}

void ExposureSweep::Account(int64_t start_ns, int64_t end_ns, int64_t Exposure::*part) {
  if (start_ns >= end_ns) return;
  while (window_ < windows_.size() && windows_[window_].end_ns <= start_ns) ++window_;
  for (size_t i = window_; i < windows_.size() && windows_[i].start_ns < end_ns; ++i) {
    const int64_t length = std::min(end_ns, windows_[i].end_ns) - std::max(start_ns, windows_[i].start_ns);
    if (length > 0) results_[i].*part += length;
  }
}

}  // namespace lockstep
