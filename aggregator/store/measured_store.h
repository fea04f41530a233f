// A store that counts and times what another one does, and knows whether it can be written. Thread safe.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "aggregator/store/forwarding_store.h"
#include "platform/metrics_registry.h"

namespace lockstep {

class MeasuredStore : public ForwardingStore {
 public:
  // Both must outlive this.
  MeasuredStore(JobStore& target, MetricsRegistry& registry);

  absl::Status PutBatch(const std::string& run, const Hash128& source, const Hash128& hash,
                        const ReceivedBatch& batch) override;
  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override;
  absl::StatusOr<LoadedRun> LoadRest(const std::string& run, const HadTables& had) override;

  // Why batches cannot be stored, by the last attempt; "" = they can. Names no path.
  [[nodiscard]] std::string Trouble() const;

 private:
  void CountError(const absl::Status& status);

  MetricHistogram& put_time_;
  MetricHistogram& load_time_;
  std::map<absl::StatusCode, MetricCounter*> errors_;
  std::atomic<absl::StatusCode> last_{absl::StatusCode::kOk};
};

}  // namespace lockstep
