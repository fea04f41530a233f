#include "bench/simulator/stream/fleet_stream.h"

#include <memory>
#include <utility>
#include <vector>

#include "agent/uplink/grpc/grpc_transport.h"
#include "agent/uplink/uplink_client.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "bench/simulator/run/condensed_files.h"
#include "bench/simulator/stream/fleet_agent.h"
#include "platform/executor.h"
#include "platform/mutex.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

class UplinkSink : public SourceSink {
 public:
  explicit UplinkSink(UplinkClient& uplink) : uplink_(uplink) {}
  absl::Status Begin(const SourceContext& context) override { return uplink_.BeginSource(context); }
  absl::Status Take(const Hash128& source_id, const Batch& batch) override {
    if (!uplink_.Wants(source_id, batch.sequence)) return absl::OkStatus();
    OutgoingBatch outgoing{.source_id = source_id, .sequence = batch.sequence, .body = EncodeBatch(batch)};
    outgoing.content_hash = HashOf(outgoing.body);
    return uplink_.Push(std::move(outgoing));
  }

 private:
  UplinkClient& uplink_;
};

class Fleet {
 public:
  Fleet(const Scenario& scenario, const FleetStreamOptions& options, const ProgressFunction& progress)
      : s_(scenario), options_(options), progress_(progress), files_(FilesOf(scenario)) {}

  absl::Status Stream() {
    ThreadPool pool(options_.jobs);
    pool.ParallelFor(files_.size(), [this](size_t i) {
      if (!failure().ok()) return;
      Note(Send(files_[i]));
    });
    LOCKSTEP_RETURN_IF_ERROR(failure());
    return CloseAgent(*Connect("lockstep-simulate"), true);
  }

 private:
  absl::Status Send(const FileOfRun& file) const {
    const std::unique_ptr<UplinkClient> uplink = Connect(AgentOf(s_, file.ranks.first));
    UplinkSink sink(*uplink);
    LOCKSTEP_RETURN_IF_ERROR(CondenseRanks(s_, file, sink).status());
    return CloseAgent(*uplink, false);
  }

  [[nodiscard]] std::unique_ptr<UplinkClient> Connect(const std::string& agent) const {
    return ConnectAgent(ConnectTo(options_.address), options_.run, s_, agent, nullptr);
  }

  [[nodiscard]] absl::Status failure() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return failure_;
  }

  void Note(absl::Status status) LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (failure_.ok()) failure_ = std::move(status);
    ++done_;
    if (progress_) progress_("streaming", static_cast<double>(done_) / static_cast<double>(files_.size()));
  }

  const Scenario& s_;
  const FleetStreamOptions& options_;
  const ProgressFunction& progress_;
  const std::vector<FileOfRun> files_;
  Mutex mutex_;
  absl::Status failure_ LOCKSTEP_GUARDED_BY(mutex_);  // the first
  size_t done_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
};

}  // namespace

absl::Status StreamFleet(const Scenario& scenario, const FleetStreamOptions& options,
                         const ProgressFunction& progress) {
  return Fleet(scenario, options, progress).Stream();
}

}  // namespace lockstep
