// What the aggregator counts about the streams of its agents. Names, units and meaning: docs/operations.md. Labels are
// from fixed catalogues, never from a trace. Thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analysis/model/drop_reason.h"
#include "platform/metrics_registry.h"

namespace lockstep {

struct Batch;

class IngestMetrics {
 public:
  // The registry must outlive this.
  explicit IngestMetrics(MetricsRegistry& registry);

  void OnStream() { streams_.Add(); }
  // A batch that is durable; `repeated`: it was before.
  void OnStored(const Batch& batch, size_t bytes, bool repeated);
  // From a batch's arrival to its answer.
  void OnAnswered(int64_t ns) { batch_time_.Observe(ns); }
  void OnRefusedSource(std::string_view reason);
  void OnEndedStream(std::string_view code);

 private:
  void CountDrops(const DropCounters& drops);

  MetricCounter& streams_;
  MetricCounter& batches_;
  MetricCounter& bytes_;
  MetricCounter& repeated_;
  MetricHistogram& batch_time_;
  std::map<std::string, MetricCounter*, std::less<>> refused_;
  std::map<std::string, MetricCounter*, std::less<>> ended_;
  std::array<MetricCounter*, kDropReasonCount> drops_{};
  std::atomic<int64_t> last_stored_unix_ns_{0};
};

}  // namespace lockstep
