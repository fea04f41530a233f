#include "aggregator/ingest/ingest_metrics.h"

#include "analysis/model/batch.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

constexpr std::string_view kOther = "other";

// A catalogue of labels; whatever else may come counts as "other".
std::map<std::string, MetricCounter*, std::less<>> AddEach(MetricsRegistry& registry, const std::string& name,
                                                           const std::string& help, const std::string& label,
                                                           std::initializer_list<std::string_view> values) {
  std::map<std::string, MetricCounter*, std::less<>> counters;
  for (const std::string_view value : values) {
    counters.emplace(value, &registry.AddCounter(name, help, {{label, std::string(value)}}));
  }
  return counters;
}

void Count(const std::map<std::string, MetricCounter*, std::less<>>& counters, std::string_view value) {
  const auto found = counters.find(value);
  (found == counters.end() ? counters.find(kOther) : found)->second->Add();
}

}  // namespace

IngestMetrics::IngestMetrics(MetricsRegistry& registry)
    : streams_(registry.AddCounter("lockstep_aggregator_streams_opened_total", "Streams of agents that were let in.")),
      batches_(registry.AddCounter("lockstep_aggregator_batches_total",
                                   "Batches acknowledged, each after it was durable, repeated ones included.")),
      bytes_(registry.AddCounter("lockstep_aggregator_batch_bytes_total", "Bytes of the acknowledged batches.")),
      repeated_(registry.AddCounter("lockstep_aggregator_repeated_batches_total",
                                    "Acknowledged batches that were stored before: sent again after a lost stream.")),
      batch_time_(registry.AddHistogram("lockstep_aggregator_batch_seconds",
                                        "From the arrival of a batch to its answer: waiting, decoding, storing.",
                                        LatencyBoundsNs())),
      refused_(AddEach(registry, "lockstep_aggregator_refused_sources_total",
                       "Sources refused because of one of their batches, by reason.", "reason",
                       {"damaged_batch", "undecodable_batch", "conflicting_batch", "admission_limit", kOther})),
      ended_(AddEach(registry, "lockstep_aggregator_ended_streams_total",
                     "Streams that the aggregator ended with an error, by gRPC status.", "code",
                     {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "UNAUTHENTICATED", "PERMISSION_DENIED",
                      "FAILED_PRECONDITION", "OUT_OF_RANGE", "DATA_LOSS", kOther})) {
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    drops_[i] = &registry.AddCounter("lockstep_aggregator_dropped_records_total",
                                     "Records of traces that agents dropped or repaired, by reason, of sources that "
                                     "were completed since the start.",
                                     {{"reason", std::string(kDropReasonNames[i])}});
  }
  registry.AddGauge("lockstep_aggregator_last_batch_timestamp_seconds",
                    "When a batch was stored last, since the Unix epoch; 0 = not since the start.",
                    [this] { return static_cast<double>(last_stored_unix_ns_.load()) * 1e-9; });
}

void IngestMetrics::OnStored(const Batch& batch, size_t bytes, bool repeated) {
  batches_.Add();
  bytes_.Add(static_cast<int64_t>(bytes));
  if (repeated) {
    repeated_.Add();
    return;
  }
  last_stored_unix_ns_ = SystemClock().UnixNs();
  if (batch.summary) CountDrops(batch.summary->drops);
}

void IngestMetrics::CountDrops(const DropCounters& drops) {
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    drops_[i]->Add(drops.count[i]);
  }
}

void IngestMetrics::OnRefusedSource(std::string_view reason) { Count(refused_, reason); }
void IngestMetrics::OnEndedStream(std::string_view code) { Count(ended_, code); }

}  // namespace lockstep
