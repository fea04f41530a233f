#include "aggregator/store/measured_store.h"

#include "analysis/model/received_batch.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

constexpr const char* kTimeName = "lockstep_aggregator_store_seconds";
constexpr const char* kTimeHelp = "Time that the store took, by operation.";

// What is wrong with the file or its disk; the rest is the batch's own fault, or a limit.
bool IsTrouble(absl::StatusCode code) {
  return code == absl::StatusCode::kResourceExhausted || code == absl::StatusCode::kDataLoss ||
         code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kPermissionDenied ||
         code == absl::StatusCode::kInternal;
}

}  // namespace

MeasuredStore::MeasuredStore(JobStore& target, MetricsRegistry& registry)
    : ForwardingStore(target),
      put_time_(registry.AddHistogram(kTimeName, kTimeHelp, LatencyBoundsNs(), {{"operation", "put_batch"}})),
      load_time_(registry.AddHistogram(kTimeName, kTimeHelp, LatencyBoundsNs(), {{"operation", "load_run"}})) {
  for (const auto& [code, name] :
       {std::pair{absl::StatusCode::kResourceExhausted, "no_room"}, std::pair{absl::StatusCode::kDataLoss, "damaged"},
        std::pair{absl::StatusCode::kUnavailable, "locked"},
        std::pair{absl::StatusCode::kPermissionDenied, "permission_denied"},
        std::pair{absl::StatusCode::kInternal, "internal"}}) {
    errors_[code] = &registry.AddCounter("lockstep_aggregator_store_errors_total",
                                         "Batches that the store could not write, by reason.", {{"reason", name}});
  }
}

absl::Status MeasuredStore::PutBatch(const std::string& run, const Hash128& source, const Hash128& hash,
                                     const ReceivedBatch& batch) {
  const int64_t start_ns = SystemClock().MonotonicNs();
  absl::Status put = ForwardingStore::PutBatch(run, source, hash, batch);
  put_time_.Observe(SystemClock().MonotonicNs() - start_ns);
  CountError(put);
  return put;
}

void MeasuredStore::CountError(const absl::Status& status) {
  const bool trouble = IsTrouble(status.code()) && !IsLimit(status);
  if (trouble) errors_.at(status.code())->Add();
  if (trouble || status.ok()) last_ = status.code();
}

absl::StatusOr<LoadedRun> MeasuredStore::LoadRun(const std::string& run) {
  const int64_t start_ns = SystemClock().MonotonicNs();
  absl::StatusOr<LoadedRun> loaded = ForwardingStore::LoadRun(run);
  load_time_.Observe(SystemClock().MonotonicNs() - start_ns);
  return loaded;
}

absl::StatusOr<LoadedRun> MeasuredStore::LoadRest(const std::string& run, const HadTables& had) {
  const int64_t start_ns = SystemClock().MonotonicNs();
  absl::StatusOr<LoadedRun> loaded = ForwardingStore::LoadRest(run, had);
  load_time_.Observe(SystemClock().MonotonicNs() - start_ns);
  return loaded;
}

std::string MeasuredStore::Trouble() const {
  switch (last_.load()) {
    case absl::StatusCode::kOk:
      return "";
    case absl::StatusCode::kResourceExhausted:
      return "the store has no room on its disk";
    case absl::StatusCode::kDataLoss:
      return "the store is damaged";
    case absl::StatusCode::kUnavailable:
      return "the store is held by another program";
    default:
      return "the store cannot be written";
  }
}

}  // namespace lockstep
