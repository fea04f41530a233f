#include "bench/simulator/cluster/defects.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "analysis/base/status_macros.h"
#include "bench/simulator/cluster/spec_values.h"

namespace lockstep {
namespace {

constexpr int64_t kAbsurdShiftNs = 100'000'000'000'000;  // what a re-registered timestamp callback adds
constexpr double kMostRecords = 1e9;

absl::Status TakeRank(const Spec& spec, const Cluster& cluster, const CounterRng& rng, std::optional<int32_t>& rank) {
  LOCKSTEP_ASSIGN_OR_RETURN(rank, IndexOf("--defect", spec, "rank", cluster.world()));
  if (rank) return absl::OkStatus();
  const DrawKey key{.op = spec.kind == "missing_rank" ? 1U : 0U, .purpose = Purpose::kDefectPlace};
  rank = static_cast<int32_t>(rng.UniformInt(key, 0, cluster.world() - 1));
  return absl::OkStatus();
}

absl::Status TakeOne(const Spec& spec, const Cluster& cluster, const CounterRng& rng, DefectPlan& plan) {
  const auto real = [&](const std::string& key, const RealRange& range) {
    return RealOr("--defect", spec, key, range);
  };
  if (spec.kind == "stagger") {
    LOCKSTEP_ASSIGN_OR_RETURN(plan.stagger_s, real("s", {2, 0, 1e6}));
  } else if (spec.kind == "loss") {
    LOCKSTEP_ASSIGN_OR_RETURN(plan.loss, real("p", {0.01, 0, 1}));
  } else if (spec.kind == "burst") {
    LOCKSTEP_ASSIGN_OR_RETURN(const double records, real("n", {1000, 1, kMostRecords}));
    plan.bursts.push_back(std::llround(records));
  } else if (spec.kind == "head") {
    LOCKSTEP_ASSIGN_OR_RETURN(const double records, real("n", {100, 0, kMostRecords}));
    plan.head = std::llround(records);
  } else if (spec.kind == "absurd") {
    LOCKSTEP_ASSIGN_OR_RETURN(plan.absurd, real("p", {0.001, 0, 1}));
  } else if (spec.kind == "duplicate_rank") {
    return TakeRank(spec, cluster, rng, plan.duplicate_rank);
  } else if (spec.kind == "missing_rank") {
    return TakeRank(spec, cluster, rng, plan.missing_rank);
  }
  return absl::OkStatus();
}

class TwoJobs : public StepProgram {
 public:
  TwoJobs(std::unique_ptr<StepProgram> program, int32_t world) : program_(std::move(program)), world_(world) {
    kernels_ = program_->kernels();
  }
  [[nodiscard]] const StepOps& StepOf(int32_t step, int32_t rank) const override {
    return program_->StepOf(step, rank % world_);
  }

 private:
  std::unique_ptr<StepProgram> program_;
  int32_t world_;
};

bool HasDeviceRecord(const Activity& activity) { return activity.end_ns != 0; }

// The fates of one timeline's device records, one defect after the other; the first that strikes decides.
class Spoiler {
 public:
  Spoiler(const DefectPlan& plan, const CaptureOfRank& capture, const CounterRng& rng, RankTimeline& timeline)
      : plan_(plan), capture_(capture), rng_(rng), timeline_(timeline), fates_(timeline.activities.size()) {}

  std::vector<RecordFate> Run(int32_t world) {
    if (plan_.stagger_s > 0) CutWindow();
    if (plan_.head > 0) LoseHead();
    for (size_t i = 0; i < plan_.bursts.size(); ++i) LoseBurst(static_cast<uint32_t>(i), world);
    if (plan_.loss > 0) LoseSome();
    if (plan_.absurd > 0) SpoilSome();
    return std::move(fates_);
  }

 private:
  [[nodiscard]] DrawKey KeyOf(const Activity& activity, Purpose purpose) const {
    return {.rank = capture_.rank, .step = activity.step, .op = activity.op, .purpose = purpose};
  }

  void Lose(size_t index) {
    Activity& activity = timeline_.activities[index];
    if (!HasDeviceRecord(activity)) return;
    activity.start_ns = activity.end_ns = 0;
    fates_[index] = RecordFate::kLost;
  }

  void CutWindow() {
    if (timeline_.steps.empty()) return;
    const double most = std::min(plan_.stagger_s * 1e9, static_cast<double>(capture_.run_ns) / 4);
    const double drawn = rng_.Uniform({.rank = capture_.session, .purpose = Purpose::kStagger}, -1, 1);
    const int64_t shift = std::llround(most * drawn);
    const int64_t begin = timeline_.steps.front().start_ns + std::max<int64_t>(0, shift);
    const int64_t end = timeline_.steps.back().end_ns + std::min<int64_t>(0, shift);
    for (size_t i = 0; i < timeline_.activities.size(); ++i) {
      Activity& activity = timeline_.activities[i];
      if (activity.start_ns < begin || activity.end_ns > end) Lose(i);
      if (activity.call_start_ns < begin || activity.call_end_ns > end) {
        activity.call_start_ns = activity.call_end_ns = 0;
      }
    }
    for (StepSpan& span : timeline_.steps) {
      if (span.start_ns < begin || span.end_ns > end) span.start_ns = span.end_ns = 0;
    }
  }

  // Indices of the device records that are there, by start.
  [[nodiscard]] std::vector<size_t> Records() const {
    std::vector<size_t> records;
    for (size_t i = 0; i < timeline_.activities.size(); ++i) {
      if (HasDeviceRecord(timeline_.activities[i])) records.push_back(i);
    }
    std::stable_sort(records.begin(), records.end(), [this](size_t a, size_t b) {
      return timeline_.activities[a].start_ns < timeline_.activities[b].start_ns;
    });
    return records;
  }

  void LoseRange(const std::vector<size_t>& records, int64_t first, int64_t count) {
    const auto size = static_cast<int64_t>(records.size());
    for (int64_t i = first; i < std::min(size, first + count); ++i) Lose(records[static_cast<size_t>(i)]);
  }

  void LoseHead() {
    LoseRange(Records(), 0, rng_.UniformInt({.rank = capture_.rank, .purpose = Purpose::kHead}, 0, plan_.head));
  }

  void LoseBurst(uint32_t number, int32_t world) {
    const DrawKey key{.op = number, .purpose = Purpose::kBurst};
    if (rng_.UniformInt(key, 0, world - 1) != capture_.rank) return;
    const std::vector<size_t> records = Records();
    const auto room = std::max<int64_t>(0, static_cast<int64_t>(records.size()) - plan_.bursts[number]);
    const DrawKey place{.rank = capture_.rank, .op = number, .purpose = Purpose::kBurst};
    LoseRange(records, rng_.UniformInt(place, 0, room), plan_.bursts[number]);
  }

  void LoseSome() {
    for (size_t i = 0; i < timeline_.activities.size(); ++i) {
      if (rng_.Chance(KeyOf(timeline_.activities[i], Purpose::kLoss), plan_.loss)) Lose(i);
    }
  }

  void SpoilSome() {
    for (size_t i = 0; i < timeline_.activities.size(); ++i) {
      Activity& activity = timeline_.activities[i];
      const DrawKey key = KeyOf(activity, Purpose::kAbsurd);
      if (!HasDeviceRecord(activity) || !rng_.Chance(key, plan_.absurd)) continue;
      const bool can_be_zero = capture_.zero_ns != 0;
      const DrawKey which{.rank = key.rank, .step = key.step, .op = key.op, .purpose = Purpose::kDefectPlace};
      fates_[i] = static_cast<RecordFate>(
          rng_.UniformInt(which, static_cast<int64_t>(can_be_zero ? RecordFate::kZeroTime : RecordFate::kNegative),
                          static_cast<int64_t>(RecordFate::kAbsurd)));
      Spoil(fates_[i], activity);
    }
  }

  void Spoil(RecordFate fate, Activity& activity) const {
    if (fate == RecordFate::kZeroTime) {
      activity.start_ns = activity.end_ns = capture_.zero_ns;
    } else if (fate == RecordFate::kAbsurd) {
      activity.start_ns += kAbsurdShiftNs;
      activity.end_ns += kAbsurdShiftNs;
    } else {
      // At least a microsecond, so that tools that count microseconds show it as well.
      const int64_t length = std::max<int64_t>(2'000, activity.end_ns - activity.start_ns);
      activity.start_ns = activity.end_ns + length;
    }
  }

  const DefectPlan& plan_;
  const CaptureOfRank& capture_;
  const CounterRng& rng_;
  RankTimeline& timeline_;
  std::vector<RecordFate> fates_;
};

}  // namespace

EarlyDefects EarlyDefectsOf(const std::vector<Spec>& specs) {
  EarlyDefects early;
  for (const Spec& spec : specs) {
    if (spec.kind == "no_metadata") early.files.no_metadata = true;
    if (spec.kind == "elided_groups") early.files.elided_groups = true;
    if (spec.kind == "same_hostname") early.files.same_hostname = true;
    if (spec.kind == "opaque_graphs") early.files.opaque_graphs = true;
    if (spec.kind == "decoy") early.decoy = true;
    if (spec.kind == "always_last") early.causes.push_back(spec);
  }
  return early;
}

absl::StatusOr<DefectPlan> PlanDefects(const std::vector<Spec>& specs, const Cluster& cluster, const CounterRng& rng) {
  DefectPlan plan;
  for (const Spec& spec : specs) LOCKSTEP_RETURN_IF_ERROR(TakeOne(spec, cluster, rng, plan));
  return plan;
}

Cluster WithDecoy(const Cluster& job, const Cluster& decoy) {
  Cluster both = job;
  const auto groups = static_cast<int32_t>(job.communicators.size());
  both.hosts += decoy.hosts;
  both.meetings += decoy.meetings;
  for (RankPlace place : decoy.ranks) {
    place.host += job.hosts;
    place.world += groups;
    for (int32_t& group : place.groups) group = group < 0 ? group : group + groups;
    both.ranks.push_back(place);
  }
  for (RankGroup group : decoy.communicators) {
    for (int32_t& member : group.members) member += job.world();
    group.id = CommunicatorIdOf(group.members);
    group.name = std::to_string(both.communicators.size());
    group.first_meeting += job.meetings;
    both.communicators.push_back(std::move(group));
  }
  return both;
}

std::unique_ptr<StepProgram> DoubledProgram(std::unique_ptr<StepProgram> program, int32_t world) {
  return std::make_unique<TwoJobs>(std::move(program), world);
}

std::vector<RecordFate> ApplyDefects(const DefectPlan& plan, const CaptureOfRank& capture, const CounterRng& rng,
                                     int32_t world, RankTimeline& timeline) {
  return Spoiler(plan, capture, rng, timeline).Run(world);
}

}  // namespace lockstep
