#include "bench/simulator/stream/live_fleet.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "bench/simulator/run/condensed_files.h"
#include "bench/simulator/run/live_batches.h"
#include "bench/simulator/stream/fleet_agent.h"
#include "platform/clock.h"
#include "platform/executor.h"
#include "platform/mutex.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

// How many batches are not acknowledged yet, over all agents.
class Acknowledged : public UplinkObserver {
 public:
  void Expect(int64_t batches) LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    expected_ += batches;
  }
  void OnAcknowledged(const Hash128& source_id, int64_t sequence, bool /*complete*/) override
      LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    int64_t& known = batches_[source_id];
    acknowledged_ += std::max<int64_t>(0, sequence + 1 - known);
    known = std::max(known, sequence + 1);
    changed_.NotifyAll();
  }
  void OnNoteStored(const Hash128& /*id*/) override {}
  // Nothing more of it will be acknowledged; who closes its agent tells why.
  void OnRefused(const Hash128& /*source_id*/) override LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    refused_ = true;
    changed_.NotifyAll();
  }

  // False after that time.
  [[nodiscard]] bool WaitFor(int64_t within_ns) LOCKSTEP_EXCLUDES(mutex_) {
    const int64_t end_ns = SystemClock().MonotonicNs() + within_ns;
    const MutexLock lock(mutex_);
    while (acknowledged_ < expected_ && !refused_) {
      const int64_t left_ns = end_ns - SystemClock().MonotonicNs();
      if (left_ns <= 0) return false;
      changed_.WaitFor(mutex_, left_ns);
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<Hash128, int64_t> batches_ LOCKSTEP_GUARDED_BY(mutex_);  // acknowledged ones
  int64_t expected_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t acknowledged_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  bool refused_ LOCKSTEP_GUARDED_BY(mutex_) = false;
};

// What an agent sends in one stretch.
struct Sending {
  std::vector<OutgoingBatch> batches;
  int64_t instances = 0;
};

// The sources of one file, condensed and cut by time.
class LiveFile : public SourceSink {
 public:
  LiveFile(int64_t begin_ns, int64_t stretch_ns) : stretches_{begin_ns, stretch_ns} {}

  absl::Status Begin(const SourceContext& context) override {
    CutTheLast();
    contexts_.push_back(context);
    return absl::OkStatus();
  }
  absl::Status Take(const Hash128& /*source_id*/, const Batch& batch) override {
    whole_.push_back(batch);
    return absl::OkStatus();
  }
  // After the last batch of the last source.
  void CutTheLast() {
    if (whole_.empty()) return;
    for (LiveBatch& live : CutByTime(std::exchange(whole_, {}), contexts_.back().bucket_ns, stretches_)) {
      const auto at = static_cast<size_t>(live.stretch);
      if (by_stretch_.size() <= at) by_stretch_.resize(at + 1);
      OutgoingBatch outgoing{
          .source_id = contexts_.back().source_id, .sequence = live.batch.sequence, .body = EncodeBatch(live.batch)};
      outgoing.content_hash = HashOf(outgoing.body);
      by_stretch_[at].batches.push_back(std::move(outgoing));
      by_stretch_[at].instances += static_cast<int64_t>(live.batch.instances.size());
    }
  }

  [[nodiscard]] const std::vector<SourceContext>& contexts() const { return contexts_; }
  [[nodiscard]] size_t stretches() const { return by_stretch_.size(); }
  [[nodiscard]] Sending TakeStretch(size_t at) {
    return at < by_stretch_.size() ? std::move(by_stretch_[at]) : Sending();
  }

 private:
  const LiveStretches stretches_;
  std::vector<SourceContext> contexts_;
  std::vector<Batch> whole_;  // of the last source
  std::vector<Sending> by_stretch_;
};

// The first start on a device, by the ranks' own clocks.
int64_t BeginOf(const Scenario& scenario) {
  int64_t begin_ns = INT64_MAX;
  for (const RankTimeline& timeline : scenario.recorded) {
    for (const Activity& activity : timeline.activities) {
      if (activity.start_ns != 0) begin_ns = std::min(begin_ns, activity.start_ns);
    }
  }
  return begin_ns;
}

class LiveFleet {
 public:
  LiveFleet(const Scenario& scenario, const LiveFleetOptions& options)
      : s_(scenario), options_(options), channels_(options.address) {}

  absl::Status Condense() {
    const std::vector<FileOfRun> files = FilesOf(s_);
    const int64_t begin_ns = BeginOf(s_);
    for (size_t i = 0; i < files.size(); ++i) {
      files_.push_back(std::make_unique<LiveFile>(begin_ns, options_.stretch_ns));
    }
    std::vector<absl::Status> failures(files.size());
    ThreadPool(0).ParallelFor(files.size(), [&](size_t i) {
      failures[i] = CondenseRanks(s_, files[i], *files_[i]).status();
      files_[i]->CutTheLast();
    });
    for (size_t i = 0; i < files.size(); ++i) {
      LOCKSTEP_RETURN_IF_ERROR(failures[i]);
      stretches_ = std::max(stretches_, files_[i]->stretches());
      agents_.push_back(Connect(AgentOf(s_, files[i].ranks.first), &acknowledged_));
    }
    return absl::OkStatus();
  }

  absl::Status Send(const std::function<void(const LiveProgress&)>& told) {
    for (size_t i = 0; i < files_.size(); ++i) {
      for (const SourceContext& context : files_[i]->contexts()) {
        LOCKSTEP_RETURN_IF_ERROR(agents_[i]->BeginSource(context));
      }
    }
    const int64_t begin_ns = SystemClock().MonotonicNs();
    LiveProgress progress{.run_ns = static_cast<int64_t>(stretches_) * options_.stretch_ns};
    for (size_t at = 0; at < stretches_; ++at) {
      progress.sent_ns += options_.stretch_ns;
      SleepUntil(begin_ns + static_cast<int64_t>(static_cast<double>(progress.sent_ns) / options_.pace));
      LOCKSTEP_RETURN_IF_ERROR(SendStretch(at, progress));
      told(progress);
    }
    for (const auto& agent : agents_) LOCKSTEP_RETURN_IF_ERROR(CloseAgent(*agent, false));
    return CloseAgent(*Connect("lockstep-simulate", nullptr), true);
  }

 private:
  static constexpr int64_t kMostWaitNs = int64_t{60} * 1'000'000'000;

  static void SleepUntil(int64_t due_ns) {
    Mutex mutex;
    CondVar never;
    const MutexLock lock(mutex);
    for (int64_t left_ns = 0; (left_ns = due_ns - SystemClock().MonotonicNs()) > 0;) never.WaitFor(mutex, left_ns);
  }

  std::unique_ptr<UplinkClient> Connect(const std::string& agent, UplinkObserver* observer) {
    return ConnectAgent(channels_.Next(), options_.run, s_, agent, observer);
  }

  absl::Status SendStretch(size_t at, LiveProgress& progress) {
    for (size_t i = 0; i < files_.size(); ++i) {
      Sending sending = files_[i]->TakeStretch(at);
      acknowledged_.Expect(static_cast<int64_t>(sending.batches.size()));
      progress.instances += sending.instances;
      for (OutgoingBatch& batch : sending.batches) LOCKSTEP_RETURN_IF_ERROR(agents_[i]->Push(std::move(batch)));
    }
    if (acknowledged_.WaitFor(kMostWaitNs)) return absl::OkStatus();
    for (const auto& agent : agents_) LOCKSTEP_RETURN_IF_ERROR(agent->failure());
    return absl::UnavailableError("the aggregator did not acknowledge a stretch within a minute");
  }

  const Scenario& s_;
  const LiveFleetOptions& options_;
  AgentChannels channels_;
  Acknowledged acknowledged_;  // outlives the agents
  std::vector<std::unique_ptr<LiveFile>> files_;
  std::vector<std::unique_ptr<UplinkClient>> agents_;  // of each file
  size_t stretches_ = 0;
};

}  // namespace

absl::Status StreamLive(const Scenario& scenario, const LiveFleetOptions& options,
                        const std::function<void(const LiveProgress&)>& told) {
  LiveFleet fleet(scenario, options);
  LOCKSTEP_RETURN_IF_ERROR(fleet.Condense());
  return fleet.Send(told);
}

}  // namespace lockstep
