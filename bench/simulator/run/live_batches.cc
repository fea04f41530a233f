#include "bench/simulator/run/live_batches.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"

namespace lockstep {
namespace {

// Rows of one batch that ended in one stretch, and how many definitions they need: names and communicators are numbered
// densely in order of first use.
struct Piece {
  Batch batch;
  int64_t names = 0;
  int64_t communicators = 0;

  void NeedName(uint32_t id) {
    if (id != kNoId) names = std::max(names, int64_t{id} + 1);
  }
  void NeedCommunicator(uint32_t id) { communicators = std::max(communicators, int64_t{id} + 1); }
};

class Cutter {
 public:
  Cutter(int64_t bucket_ns, const LiveStretches& stretches) : bucket_ns_(bucket_ns), stretches_(stretches) {}

  void Add(Batch batch) {
    for (InstanceRow& row : batch.instances) {
      Piece& piece = At(latest_instance_, row.end_ns());
      piece.NeedName(row.name);
      piece.NeedCommunicator(row.communicator);
      piece.batch.instances.push_back(std::move(row));
    }
    for (StepRow& row : batch.steps) AddStep(std::move(row));
    for (StepKernelRow& row : batch.step_kernels) AddStepKernel(row);
    for (BucketRow& row : batch.buckets) {
      At(latest_bucket_, (row.index + 1) * bucket_ns_).batch.buckets.push_back(row);
    }
    batch.instances.clear();
    batch.steps.clear();
    batch.step_kernels.clear();
    batch.buckets.clear();
    rests_.push_back(std::move(batch));
  }

  std::vector<LiveBatch> Finish() {
    const int64_t last = std::max({latest_instance_, latest_step_, latest_bucket_});
    std::vector<NameDef> names;
    std::vector<LocalCommunicator> communicators;
    for (size_t i = 0; i < rests_.size(); ++i) {
      for (NameDef& name : rests_[i].names) names.push_back(std::move(name));
      for (LocalCommunicator& one : rests_[i].communicators) communicators.push_back(std::move(one));
      TakeTables(std::move(rests_[i]), names.size(), communicators.size(), pieces_[{last, i}]);
    }
    std::vector<LiveBatch> out;
    auto name = names.begin();
    auto communicator = communicators.begin();
    for (auto& [at, piece] : pieces_) {
      for (; name != names.end() && name->id < piece.names; ++name) piece.batch.names.push_back(std::move(*name));
      for (; communicator != communicators.end() && communicator->id < piece.communicators; ++communicator) {
        piece.batch.communicators.push_back(std::move(*communicator));
      }
      piece.batch.sequence = static_cast<int64_t>(out.size());
      out.push_back({at.first, std::move(piece.batch)});
    }
    if (!out.empty()) out.back().batch.total_batches = static_cast<int64_t>(out.size());
    return out;
  }

 private:
  // The piece of what ended then; none of its kind goes into an earlier one any more.
  Piece& At(int64_t& latest, int64_t end_ns) {
    latest = std::max(latest, (end_ns - 1 - stretches_.begin_ns) / stretches_.width_ns);
    return pieces_[{latest, rests_.size()}];
  }

  void AddStep(StepRow row) {
    Piece& piece = At(latest_step_, row.window_end_ns);
    piece.NeedName(row.name);
    stretch_of_step_[row.step] = latest_step_;
    piece.batch.steps.push_back(std::move(row));
  }

  void AddStepKernel(const StepKernelRow& row) {
    const auto found = stretch_of_step_.find(row.step);
    const int64_t stretch = found == stretch_of_step_.end() ? latest_step_ : found->second;
    Piece& piece = pieces_[{stretch, rests_.size()}];
    piece.NeedName(row.name);
    piece.batch.step_kernels.push_back(row);
  }

  static void TakeTables(Batch rest, size_t names, size_t communicators, Piece& piece) {
    piece.names = std::max(piece.names, static_cast<int64_t>(names));
    piece.communicators = std::max(piece.communicators, static_cast<int64_t>(communicators));
    piece.batch.kernels = std::move(rest.kernels);
    piece.batch.memory = std::move(rest.memory);
    piece.batch.apis = std::move(rest.apis);
    piece.batch.ranges = std::move(rest.ranges);
    piece.batch.launches = std::move(rest.launches);
    piece.batch.summary = std::move(rest.summary);
  }

  const int64_t bucket_ns_;
  const LiveStretches stretches_;
  // By stretch, then by the batch that the rows come from: none becomes larger than that was.
  std::map<std::pair<int64_t, size_t>, Piece> pieces_;
  std::vector<Batch> rests_;  // what has no time of its own
  std::map<int64_t, int64_t> stretch_of_step_;
  int64_t latest_instance_ = 0;
  int64_t latest_step_ = 0;
  int64_t latest_bucket_ = 0;
};

}  // namespace

std::vector<LiveBatch> CutByTime(std::vector<Batch> batches, int64_t bucket_ns, const LiveStretches& stretches) {
  Cutter cutter(bucket_ns, stretches);
  for (Batch& batch : batches) cutter.Add(std::move(batch));
  return cutter.Finish();
}

}  // namespace lockstep
