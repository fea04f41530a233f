#include "bench/simulator/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/base/check.h"
#include "bench/simulator/device_model.h"

namespace lockstep {
namespace {

constexpr size_t kLaunchQueue = 1024;

// Where one rank stands.
struct RankState {
  int64_t host_ns = 0;
  std::array<int64_t, kStreams> stream_end_ns{};
  std::array<int64_t, kStreams> stream_ready_ns{};  // earliest start of what comes next, by waits
  std::array<int64_t, kLaunchQueue> started_ns{};   // starts of the last device ops, a ring
  size_t launched = 0;
  uint32_t cursor = 0;  // next op of the current step
};

// Members of a communicator that have reached the collective it is at.
struct Rendezvous {
  std::vector<int32_t> arrived;
  int64_t last_start_ns = 0;
};

class Engine {
 public:
  explicit Engine(const SimulationInput& input)
      : input_(input),
        cluster_(*input.cluster),
        device_(*input.cluster, *input.effects, input.rng),
        ranks_(input.cluster->ranks.size()),
        states_(ranks_.size()),
        rendezvous_(input.cluster->communicators.size()) {
    for (RankState& state : states_) {
      state.host_ns = input.start_ns;
      state.stream_end_ns.fill(input.start_ns);
    }
  }

  std::vector<RankTimeline> Run() {
    for (step_ = 0; step_ < input_.steps; ++step_) {
      RunStep();
      if (input_.progress) input_.progress(step_);
    }
    return std::move(ranks_);
  }

 private:
  void RunStep() {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!input_.keep_records) ranks_[rank].activities.clear();
      states_[rank].cursor = 0;
      ranks_[rank].steps.push_back(
          {.step = step_, .start_ns = states_[rank].host_ns, .first_activity = ranks_[rank].activities.size()});
      states_[rank].host_ns += kStepMarkNs;
      runnable_.push_back(static_cast<int32_t>(ranks_.size() - 1 - rank));
    }
    while (!runnable_.empty()) {
      const int32_t rank = runnable_.back();
      runnable_.pop_back();
      Advance(rank);
    }
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      LOCKSTEP_CHECK(states_[rank].cursor == OpsOf(static_cast<int32_t>(rank)).size());  // no rank waits for ever
      ranks_[rank].steps.back().end_ns = states_[rank].host_ns += kStepMarkNs;
      states_[rank].host_ns += kStepMarkNs;
    }
  }

  [[nodiscard]] const std::vector<Op>& OpsOf(int32_t rank) const { return input_.program->StepOf(step_, rank).ops; }

  // Runs a rank until its step ends or it stands at a collective that others have not reached. The host does not wait
  // there; its later calls are merely worked out later.
  void Advance(int32_t rank) {
    RankState& state = states_[static_cast<size_t>(rank)];
    const std::vector<Op>& ops = OpsOf(rank);
    while (state.cursor < ops.size()) {
      const uint32_t index = state.cursor++;
      if (!Execute(rank, state, ops[index], index)) return;
    }
  }

  // False when the op is a collective that is not complete.
  bool Execute(int32_t rank, RankState& state, const Op& op, uint32_t index) {
    const DrawKey key{.rank = rank, .step = step_, .op = index};
    Activity activity{.step = step_, .op = index};
    state.host_ns += device_.Dispatch(key, op);
    if (op.kind == OpKind::kKernel || op.kind == OpKind::kCollective) {
      state.host_ns += input_.effects->LaunchDelay(rank, step_, index);
    }
    const bool on_device = StartsDeviceWork(op.kind);
    if (on_device) state.host_ns = std::max(state.host_ns, state.started_ns[state.launched % kLaunchQueue]);
    activity.call_start_ns = state.host_ns;
    activity.call_end_ns = state.host_ns + device_.CallLength(key, op.kind);
    const auto stream = static_cast<size_t>(op.stream);
    if (on_device) {
      Start(key, op, state, activity);
    } else if (op.kind == OpKind::kStreamWait) {
      state.stream_ready_ns[stream] =
          std::max(state.stream_ready_ns[stream], state.stream_end_ns[static_cast<size_t>(op.waits_for)]);
    } else if (op.kind == OpKind::kStreamSync) {
      const int64_t returns = std::max(state.stream_end_ns[stream], state.stream_ready_ns[stream]);
      activity.call_end_ns = std::max(activity.call_end_ns, returns + device_.SyncReturn(key));
    }
    state.host_ns = activity.call_end_ns;
    ranks_[static_cast<size_t>(rank)].activities.push_back(activity);
    return op.kind != OpKind::kCollective || Arrive(rank, op, index, activity.start_ns);
  }

  void Start(const DrawKey& key, const Op& op, RankState& state, Activity& activity) {
    const auto stream = static_cast<size_t>(op.stream);
    const int64_t free = std::max(state.stream_end_ns[stream], state.stream_ready_ns[stream]) + device_.StreamGap(key);
    activity.start_ns = OnTick(std::max(free, activity.call_start_ns + device_.LaunchLatency(key)));
    activity.end_ns = OnTick(activity.start_ns + device_.Length(key, op));
    state.started_ns[state.launched++ % kLaunchQueue] = activity.start_ns;
    state.stream_end_ns[stream] = activity.end_ns;  // of a collective: until all members have arrived
  }

  bool Arrive(int32_t rank, const Op& op, uint32_t index, int64_t start_ns) {
    const int32_t group = cluster_.CommunicatorOf(rank, op.group);
    LOCKSTEP_CHECK(group >= 0);
    Rendezvous& meeting = rendezvous_[static_cast<size_t>(group)];
    meeting.last_start_ns = std::max(meeting.last_start_ns, start_ns);
    meeting.arrived.push_back(rank);
    const Communicator& communicator = cluster_.communicators[static_cast<size_t>(group)];
    if (meeting.arrived.size() < communicator.members.size()) return false;
    const DrawKey shared{.rank = -1 - group, .step = step_, .op = index};
    const int64_t done = meeting.last_start_ns + device_.Transfer(shared, op, communicator);
    for (const int32_t member : meeting.arrived) Complete(member, op, index, done);
    meeting = {};
    return false;  // this rank is runnable again like the others
  }

  void Complete(int32_t member, const Op& op, uint32_t index, int64_t done_ns) {
    const DrawKey key{.rank = member, .step = step_, .op = index};
    const int64_t end = OnTick(done_ns + device_.EndJitter(key));
    ranks_[static_cast<size_t>(member)].activities.back().end_ns = end;
    states_[static_cast<size_t>(member)].stream_end_ns[static_cast<size_t>(op.stream)] = end;
    runnable_.push_back(member);
  }

  const SimulationInput& input_;
  const Cluster& cluster_;
  DeviceModel device_;
  std::vector<RankTimeline> ranks_;
  std::vector<RankState> states_;
  std::vector<Rendezvous> rendezvous_;
  std::vector<int32_t> runnable_;
  int32_t step_ = 0;
};

}  // namespace

std::vector<RankTimeline> Simulate(const SimulationInput& input) { return Engine(input).Run(); }

int64_t MeanStepNs(const std::vector<RankTimeline>& ranks) {
  LOCKSTEP_CHECK(!ranks.empty() && !ranks.front().steps.empty());
  int64_t first = ranks.front().steps.front().start_ns;
  int64_t last = ranks.front().steps.back().end_ns;
  for (const RankTimeline& rank : ranks) {
    first = std::min(first, rank.steps.front().start_ns);
    last = std::max(last, rank.steps.back().end_ns);
  }
  return (last - first) / static_cast<int64_t>(ranks.front().steps.size());
}

}  // namespace lockstep
