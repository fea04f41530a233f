#include "bench/simulator/engine/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/base/check.h"
#include "bench/simulator/engine/device_model.h"

namespace lockstep {
namespace {

constexpr size_t kLaunchQueue = 1024;

// Where one rank stands.
struct RankState {
  int64_t host_ns = 0;
  std::array<int64_t, kStreams> stream_start_ns{};  // of the last device op
  std::array<int64_t, kStreams> stream_end_ns{};
  std::array<int64_t, kStreams> stream_ready_ns{};  // earliest start of what comes next, by waits
  int64_t graph_ready_ns = 0;                       // when the last graph launch has reached the device
  int64_t graph_call_start_ns = 0;
  int64_t graph_call_end_ns = 0;
  std::vector<int64_t> started_ns = std::vector<int64_t>(kLaunchQueue);  // starts of the last launches, a ring
  size_t launched = 0;
  uint32_t cursor = 0;            // next op of the current step
  uint32_t segment = 0;           // collectives so far in it
  const StepOps* step = nullptr;  // the current one
};

// Ranks whose kernels have reached the instance at which a meeting is.
struct Meeting {
  std::vector<Arrival> arrived;
  uint32_t instance = 0;
};

class Engine {
 public:
  explicit Engine(const SimulationInput& input)
      : input_(input),
        cluster_(*input.cluster),
        device_(*input.cluster, *input.program, *input.effects, input.noise, input.rng),
        ranks_(input.cluster->ranks.size()),
        states_(ranks_.size()),
        meetings_(input.cluster->meetings) {
    for (RankState& state : states_) {
      state.host_ns = input.start_ns;
      state.stream_start_ns.fill(input.start_ns);
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
    device_.BeginStep(step_);
    for (size_t rank = 0; rank < ranks_.size(); ++rank) BeginStepOf(rank);
    while (!runnable_.empty()) {
      const int32_t rank = runnable_.back();
      runnable_.pop_back();
      Advance(rank);
    }
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      RankState& state = states_[rank];
      LOCKSTEP_CHECK(state.cursor == state.step->ops.size());  // no rank waits for ever
      ranks_[rank].steps.back().end_ns = state.host_ns += kStepMarkNs;
      state.host_ns += kStepMarkNs;
    }
  }

  void BeginStepOf(size_t rank) {
    RankTimeline& timeline = ranks_[rank];
    RankState& state = states_[rank];
    state.cursor = 0;
    state.segment = 0;
    state.step = &input_.program->StepOf(step_, static_cast<int32_t>(rank));
    if (!input_.keep_records) timeline.activities.clear();
    if (step_ == 0) {
      const size_t steps = input_.keep_records ? static_cast<size_t>(input_.steps) : 1;
      timeline.activities.reserve(state.step->ops.size() * steps);
    }
    timeline.steps.push_back({.step = step_, .start_ns = state.host_ns, .first_activity = timeline.activities.size()});
    state.host_ns += kStepMarkNs + input_.effects->StepDelay(static_cast<int32_t>(rank), step_);
    runnable_.push_back(static_cast<int32_t>(ranks_.size() - 1 - rank));
  }

  // Runs a rank until its step ends or it stands at an instance that others have not reached. The host does not wait
  // there; its later calls are merely worked out later.
  void Advance(int32_t rank) {
    RankState& state = states_[static_cast<size_t>(rank)];
    const std::vector<Op>& ops = state.step->ops;
    while (state.cursor < ops.size()) {
      const uint32_t index = state.cursor++;
      const Op& op = ops[index];
      const OpPlace place{.rank = rank, .step = step_, .draw = DrawNumber(op, index), .segment = state.segment};
      const OpDraws draws(input_.rng, rank, step_, place.draw);
      const HostTimes times = device_.TimesOfHost(draws, rank, op);
      Activity activity{.step = step_, .op = index};
      Call(place, op, times, state, activity);
      int64_t arrival = 0;
      if (StartsDeviceWork(op.kind)) arrival = Start(draws, times, place, op, state, activity);
      if (!op.in_graph) Synchronise(draws, times, op, state, activity);
      if (!op.in_graph) state.host_ns = activity.call_end_ns;
      ranks_[static_cast<size_t>(rank)].activities.push_back(activity);
      if (op.kind == OpKind::kCollective) {
        ++state.segment;
        return Arrive(rank, op, place.draw, arrival);
      }
    }
  }

  // The host's part. What a graph replays has none: it shows the graph's launch.
  void Call(const OpPlace& place, const Op& op, const HostTimes& times, RankState& state, Activity& activity) {
    if (op.in_graph) {
      activity.call_start_ns = state.graph_call_start_ns;
      activity.call_end_ns = state.graph_call_end_ns;
      return;
    }
    state.host_ns += times.dispatch_ns;
    if (StartsKernels(op.kind)) state.host_ns += input_.effects->LaunchDelay(place.rank, step_, place.draw);
    if (StartsDeviceWork(op.kind)) {
      state.host_ns = std::max(state.host_ns, state.started_ns[state.launched % kLaunchQueue]);
    }
    activity.call_start_ns = state.host_ns;
    activity.call_end_ns = state.host_ns + times.call_ns;
  }

  void Synchronise(const OpDraws& draws, const HostTimes& times, const Op& op, RankState& state, Activity& activity) {
    const auto stream = static_cast<size_t>(op.stream);
    if (op.kind == OpKind::kStreamWait) {
      state.stream_ready_ns[stream] =
          std::max(state.stream_ready_ns[stream], state.stream_end_ns[static_cast<size_t>(op.waits_for)]);
    } else if (op.kind == OpKind::kStreamSync) {
      const int64_t returns = std::max(state.stream_end_ns[stream], state.stream_ready_ns[stream]);
      activity.call_end_ns = std::max(activity.call_end_ns, returns + device_.SyncReturn(draws));
    } else if (op.pageable) {
      activity.call_end_ns = std::max(activity.call_end_ns, activity.end_ns + device_.SyncReturn(draws));
    } else if (op.kind == OpKind::kGraphLaunch) {
      state.graph_call_start_ns = activity.call_start_ns;
      state.graph_call_end_ns = activity.call_end_ns;
      state.graph_ready_ns = activity.call_start_ns + times.latency_ns;
    }
  }

  // Gives the time from which on a collective's kernel takes part: its start, or with an early start the end of its
  // predecessor.
  int64_t Start(const OpDraws& draws, const HostTimes& times, const OpPlace& place, const Op& op, RankState& state,
                Activity& activity) {
    const auto stream = static_cast<size_t>(op.stream);
    const int64_t launched = op.in_graph ? state.graph_ready_ns : activity.call_start_ns + times.latency_ns;
    const int64_t ready = std::max(state.stream_ready_ns[stream], launched);
    const int64_t free = state.stream_end_ns[stream];
    const int64_t held = op.kind == OpKind::kCollective ? input_.effects->ArrivalDelay(place.rank) : 0;
    int64_t arrival = 0;
    if (op.early_start) {
      const int64_t early = std::max(state.stream_start_ns[stream] + kDeviceTickNs, free - device_.EarlyStart(draws));
      activity.start_ns = OnTick(std::max(ready, early) + held);
      arrival = std::max(activity.start_ns, free);
    } else {
      const int64_t unblocked = std::max(free, state.stream_ready_ns[stream]) + times.stream_gap_ns;
      activity.start_ns = OnTick(std::max(unblocked, launched) + held);
      arrival = activity.start_ns;
    }
    activity.end_ns = OnTick(activity.start_ns + device_.Length(draws, place, op));
    if (!op.in_graph) state.started_ns[state.launched++ % kLaunchQueue] = activity.start_ns;
    state.stream_start_ns[stream] = activity.start_ns;
    state.stream_end_ns[stream] = activity.end_ns;  // of a collective: until all members have arrived
    return arrival;
  }

  void Arrive(int32_t rank, const Op& op, uint32_t draw, int64_t arrival_ns) {
    const int32_t communicator = cluster_.CommunicatorOf(rank, op.group);
    const uint32_t number = MeetingOf(cluster_, op, rank);
    const RankGroup& group = cluster_.communicators[static_cast<size_t>(communicator)];
    Meeting& meeting = meetings_[number];
    meeting.arrived.push_back(
        {.rank = rank, .position = cluster_.PositionIn(group, rank), .start_ns = arrival_ns, .op = &op, .draw = draw});
    if (meeting.arrived.size() < (IsPairwise(op) ? 2 : group.members.size())) return;
    device_.CompleteInstance(communicator, number, meeting.instance++, meeting.arrived);
    for (const Arrival& member : meeting.arrived) Complete(member);
    meeting.arrived.clear();
  }

  void Complete(const Arrival& member) {
    const auto rank = static_cast<size_t>(member.rank);
    Activity& activity = ranks_[rank].activities.back();
    activity.end_ns = OnTick(std::max(member.end_ns, activity.start_ns + kDeviceTickNs));
    states_[rank].stream_end_ns[static_cast<size_t>(member.op->stream)] = activity.end_ns;
    runnable_.push_back(member.rank);
  }

  const SimulationInput& input_;
  const Cluster& cluster_;
  DeviceModel device_;
  std::vector<RankTimeline> ranks_;
  std::vector<RankState> states_;
  std::vector<Meeting> meetings_;
  std::vector<int32_t> runnable_;
  int32_t step_ = 0;
};

}  // namespace

std::vector<RankTimeline> Simulate(const SimulationInput& input) { return Engine(input).Run(); }

StepsOfRanks StepsOf(const std::vector<RankTimeline>& ranks) {
  StepsOfRanks steps;
  for (const RankTimeline& rank : ranks) steps.push_back(rank.steps);
  return steps;
}

int64_t MeanStepNs(const std::vector<RankTimeline>& ranks) {
  const StepsOfRanks steps = StepsOf(ranks);
  LOCKSTEP_CHECK(!steps.empty() && !steps.front().empty());
  return MeanStepNs(steps, {0, steps.front().size() - 1});
}

int64_t MeanStepNs(const StepsOfRanks& ranks, const StepRange& range) {
  LOCKSTEP_CHECK(!ranks.empty() && range.first <= range.last && range.last < ranks.front().size());
  int64_t begin = range.first == 0 ? INT64_MAX : INT64_MIN;
  int64_t end = INT64_MIN;
  for (const std::vector<StepSpan>& steps : ranks) {
    begin = range.first == 0 ? std::min(begin, steps.front().start_ns) : std::max(begin, steps[range.first - 1].end_ns);
    end = std::max(end, steps[range.last].end_ns);
  }
  return (end - begin) / static_cast<int64_t>(range.last - range.first + 1);
}

}  // namespace lockstep
