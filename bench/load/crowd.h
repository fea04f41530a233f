// Thousands of agents in one process, and what becomes of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/crowd_agent.h"
#include "bench/load/crowd_options.h"

namespace lockstep {

struct CrowdFigures {
  int64_t welcomed = 0;
  int64_t refused = 0;             // never welcomed
  int64_t without_descriptor = 0;  // of these: this machine lacked file descriptors
  int64_t lost = 0;                // ended after their welcome, without being asked to
  std::map<std::string, int64_t> reasons;
  int64_t acknowledged = 0;
  int64_t unacknowledged = 0;  // at the end
  int64_t p50_us = 0, p99_us = 0, max_us = 0;
};

class Crowd : public CrowdEvents {
 public:
  explicit Crowd(CrowdOptions options);
  ~Crowd() override;  // hangs up

  // So many more agents; returns once each is welcomed or has failed, at most `timeout_s` later.
  void Connect(int64_t agents, bool are_active, int64_t timeout_s = 600);
  // Lets the active agents send for the time of the options, then waits for what is not acknowledged, at most as long.
  void Send();
  [[nodiscard]] CrowdFigures Figures() LOCKSTEP_EXCLUDES(mutex_);

  void OnWelcome() override LOCKSTEP_EXCLUDES(mutex_);
  void OnAck(int64_t latency_ns) override LOCKSTEP_EXCLUDES(mutex_);
  void OnEnd(bool was_welcomed, const grpc::Status& status) override LOCKSTEP_EXCLUDES(mutex_);

 private:
  [[nodiscard]] int64_t Unacknowledged();

  const CrowdOptions options_;
  std::vector<EncodedBatch> batches_;
  std::vector<std::unique_ptr<CrowdAgent>> agents_;
  std::vector<CrowdAgent*> active_;

  Mutex mutex_;
  CondVar changed_;
  CrowdFigures figures_ LOCKSTEP_GUARDED_BY(mutex_);
  std::vector<int64_t> latencies_ns_ LOCKSTEP_GUARDED_BY(mutex_);
  int64_t ended_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  bool hanging_up_ LOCKSTEP_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep
