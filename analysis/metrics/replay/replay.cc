#include "analysis/metrics/replay/replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/metrics/replay/replay_ideal.h"
#include "analysis/metrics/replay/replay_party.h"
#include "analysis/metrics/replay/replay_peers.h"
#include "analysis/metrics/replay/replay_run.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kFaithfulPermille = 5;
constexpr int64_t kFewRows = 5;
constexpr int64_t kOftenOneIn = 4;
constexpr int64_t kBlockNs = 1'000'000'000;  // stands for a step where the trace tells none

// The stretch of one rank whose length is compared: from the end of its first row of its first step to that of its last
// step, so that it holds whole steps.
struct Stretch {
  int32_t from = -1;
  int32_t to = -1;
  int64_t steps = 0;
};

std::vector<Stretch> StretchesOf(const ArrivalGraph& source, const ReplayGraph& graph) {
  std::vector<Stretch> out;
  for (size_t r = 0; r < source.ranks.size(); ++r) {
    Stretch stretch;
    int64_t first_step = kNoStep;
    int64_t last_step = kNoStep;
    for (size_t k = 0; k < source.ranks[r].size(); ++k) {
      const int64_t step = source.ranks[r][k].step;
      if (step == kNoStep || (last_step != kNoStep && step <= last_step)) continue;
      const auto n = static_cast<int32_t>(graph.first[r] + k);
      if (first_step == kNoStep) {
        first_step = step;
        stretch.from = n;
      }
      last_step = step;
      stretch.to = n;
      ++stretch.steps;
    }
    --stretch.steps;
    if (stretch.steps > 0) out.push_back(stretch);
  }
  return out;
}

int64_t LastOf(const std::vector<int64_t>& ends) {
  return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

}  // namespace

struct Replay::Parts {
  Parts(const ArrivalGraph& arrivals, const MatchResult& matched, Executor& executor)
      : source(arrivals),
        match(matched),
        graph(BuildReplayGraph(arrivals, matched, executor)),
        stretches(StretchesOf(arrivals, graph)) {}

  // Sum over the ranks of what their stretches take.
  [[nodiscard]] int64_t StretchNs() const {
    int64_t sum = 0;
    for (const Stretch& stretch : stretches) sum += graph.node(stretch.to).end_ns - graph.node(stretch.from).end_ns;
    return sum;
  }

  [[nodiscard]] int64_t SavingPerStep(const std::vector<int64_t>& ends) const;
  [[nodiscard]] double SlowestStepNs() const;
  [[nodiscard]] int64_t SoloDamageNs(const Idealisation& ideal) const;
  [[nodiscard]] static int64_t SoloDamageNs(const MatchedInstance& instance, int32_t rank,
                                            const std::vector<bool>& in_scope, const Idealisation& ideal);
  [[nodiscard]] std::vector<bool> ScopeOf(const Idealisation& ideal) const;
  [[nodiscard]] bool IsStageAmongOthers(const ReplayNode& node, const std::vector<bool>& in_scope) const;
  [[nodiscard]] bool LacksPeers(const Idealisation& ideal) const;

  const ArrivalGraph& source;
  const MatchResult& match;
  ReplayGraph graph;
  std::optional<const ReplayPeers> peers;
  std::vector<Stretch> stretches;
  ReplayTimes unchanged;
  int64_t begin_ns = 0;
  int64_t stretch_steps = 0;  // summed over ranks
  std::vector<ReplayParty> parties;
};

namespace {

// Whether a rank's rows of one kind (stream and kernel) often meet nobody: then nothing is known of whom it waits for
// there, however well the rest is joined. Rows that a capture or a lost record took away are few of each kind.
bool LacksAKind(const ArrivalGraph& source, const MatchResult& match) {
  struct Count {
    int64_t rows = 0;
    int64_t alone = 0;
  };
  using Kind = std::pair<int32_t, uint32_t>;  // stream and name
  using Kinds = std::map<Kind, Count>;
  std::vector<Kinds> kinds(source.ranks.size());
  std::vector<Kinds::value_type*> latest(source.ranks.size());  // most rows are of the kind of the one before
  for (const MatchedInstance& instance : match.instances) {
    if (match.communicators[instance.communicator].size == 1) continue;
    for (const MatchedMember& m : instance.members) {
      const auto rank = static_cast<size_t>(m.rank_index);
      const ArrivalNode& row = source.ranks[rank][static_cast<size_t>(m.row)];
      const Kind kind(row.stream, row.name);
      if (latest[rank] == nullptr || latest[rank]->first != kind) latest[rank] = &*kinds[rank].try_emplace(kind).first;
      ++latest[rank]->second.rows;
      if (!instance.usable()) ++latest[rank]->second.alone;
    }
  }
  const auto lacks = [](const auto& kind) {
    return kind.second.alone >= kFewRows && kind.second.alone * kOftenOneIn > kind.second.rows;
  };
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const Kinds& of_rank) { return std::any_of(of_rank.begin(), of_rank.end(), lacks); });
}

// A step gets shorter by a part of what is removed where others hold it up as well, and so much of the error counts.
double DeviationOfSaving(double saving_ns, const RemovedWork& removed) {
  const double passed_on = removed.ns_per_step > saving_ns ? std::max(0.0, saving_ns / removed.ns_per_step) : 1;
  return passed_on * removed.deviation_ns_per_step;
}

}  // namespace

int64_t Replay::Parts::SavingPerStep(const std::vector<int64_t>& ends) const {
  double slowest = 0;
  double slowest_ideal = 0;
  for (const ReplayParty& party : parties) {
    int64_t saved = 0;
    const auto sooner = [&](int32_t n) {
      return n < 0 ? 0 : unchanged.end_ns[static_cast<size_t>(n)] - ends[static_cast<size_t>(n)];
    };
    for (size_t i = 0; i < party.last.size(); ++i) saved += sooner(party.last[i]) - sooner(party.before[i]);
    slowest = std::max(slowest, static_cast<double>(party.covered_ns) / party.steps);
    slowest_ideal = std::max(slowest_ideal, static_cast<double>(party.covered_ns - saved) / party.steps);
  }
  return std::llround(slowest - slowest_ideal);
}

// What a saving is a part of: ranks that never wait for the slowest ones do not shorten their step.
double Replay::Parts::SlowestStepNs() const {
  double slowest = 0;
  for (const ReplayParty& party : parties)
    slowest = std::max(slowest, static_cast<double>(party.covered_ns) / party.steps);
  return slowest;
}

std::vector<bool> Replay::Parts::ScopeOf(const Idealisation& ideal) const {
  std::vector<bool> in_scope(source.ranks.size());
  for (const int32_t r : ideal.rank_indices) {
    if (r >= 0 && static_cast<size_t>(r) < in_scope.size()) in_scope[static_cast<size_t>(r)] = true;
  }
  return in_scope;
}

// A pipeline's other stages do the same on other layers. Of two, neither is the usual one.
bool Replay::Parts::IsStageAmongOthers(const ReplayNode& node, const std::vector<bool>& in_scope) const {
  constexpr size_t kFewestStages = 3;
  if (node.instance < 0) return false;
  const MatchedInstance& instance = match.instances[static_cast<size_t>(node.instance)];
  const bool pair = IsSendOrReceive(instance);
  if (!pair || instance.members.size() != 2) return false;
  if (match.communicators[instance.communicator].members.size() < kFewestStages) return false;
  return std::any_of(instance.members.begin(), instance.members.end(),
                     [&](const MatchedMember& m) { return !in_scope[static_cast<size_t>(m.rank_index)]; });
}

// Nobody does the same elsewhere: there is nothing to idealise to.
bool Replay::Parts::LacksPeers(const Idealisation& ideal) const {
  const std::vector<bool> in_scope = ScopeOf(ideal);
  const auto compared = [](const ReplayNode& node) { return node.device_ns; };
  bool asked = false;
  for (size_t r = 0; r < in_scope.size(); ++r) {
    for (size_t n = graph.first[r]; n < graph.first[r + 1] && in_scope[r]; ++n) {
      if (peers->Level(static_cast<int32_t>(n), in_scope, compared)) return false;
      if (IsStageAmongOthers(graph.nodes[n], in_scope)) return false;
      asked = true;
    }
  }
  const std::set<uint32_t> chosen(ideal.communicators.begin(), ideal.communicators.end());
  for (size_t i = 0; i < match.instances.size() && !chosen.empty(); ++i) {
    if (!chosen.contains(match.instances[i].communicator)) continue;
    asked = true;
    for (const int32_t like : peers->InstancesLike(static_cast<int32_t>(i))) {
      if (!chosen.contains(match.instances[static_cast<size_t>(like)].communicator)) return false;
    }
  }
  return asked;
}

// What would be gained at once if nobody of the scope came after the last of the others.
int64_t Replay::Parts::SoloDamageNs(const Idealisation& ideal) const {
  const std::vector<bool> in_scope = ScopeOf(ideal);
  int64_t sum = 0;
  for (size_t r = 0; r < in_scope.size(); ++r) {
    if (!in_scope[r]) continue;
    for (const ArrivalNode& node : source.ranks[r]) {
      if (node.instance < 0) continue;
      const MatchedInstance& instance = match.instances[static_cast<size_t>(node.instance)];
      if (instance.usable()) sum += SoloDamageNs(instance, static_cast<int32_t>(r), in_scope, ideal);
    }
  }
  return sum;
}

// The same of one instance; of several members in the scope it counts for the first.
int64_t Replay::Parts::SoloDamageNs(const MatchedInstance& instance, int32_t rank, const std::vector<bool>& in_scope,
                                    const Idealisation& ideal) {
  int64_t last = INT64_MIN;
  int64_t last_other = INT64_MIN;
  for (const MatchedMember& m : instance.members) {
    const bool own = in_scope[static_cast<size_t>(m.rank_index)];
    if (own && m.rank_index < rank) return 0;
    int64_t& latest = own ? last : last_other;
    latest = std::max(latest, m.start_ns);
  }
  const bool in_time = !ideal.time_ns || (last >= ideal.time_ns->first && last < ideal.time_ns->second);
  return last_other != INT64_MIN && last > last_other && in_time ? last - last_other : 0;
}

Replay::Replay(const ArrivalGraph& graph, const MatchResult& match, Executor& executor) {
  auto parts = std::make_unique<Parts>(graph, match, executor);
  const ReplayNodes& nodes = parts->graph.nodes;
  if (nodes.empty()) {
    parts->peers.emplace(parts->graph, match);
    parts_ = std::move(parts);
    return;
  }
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (const ReplayNode& node : nodes) {
    first = std::min(first, node.start_ns);
    last = std::max(last, node.end_ns);
  }
  parts->begin_ns = first;
  base_.measured_ns = last - first;
  for (const Stretch& stretch : parts->stretches) {
    parts->stretch_steps += stretch.steps;
    base_.steps = std::max(base_.steps, stretch.steps + 1);
  }
  if (parts->stretch_steps > 0) {
    base_.step_ns = parts->StretchNs() / parts->stretch_steps;
  } else {
    base_.steps = std::max<int64_t>(1, base_.measured_ns / kBlockNs);
    base_.step_ns = base_.measured_ns / base_.steps;
  }
  bool lacks_a_kind = false;
  // The longest first: none needs another.
  const std::array<std::function<void()>, 4> rest = {
      [&] { parts->unchanged = RunMeasured(parts->graph); },
      [&] { parts->parties = FindParties(graph, match, parts->graph, std::max<int64_t>(1, base_.step_ns)); },
      [&] { lacks_a_kind = LacksAKind(graph, match); },
      [&] { parts->peers.emplace(parts->graph, match); },
  };
  executor.ParallelFor(rest.size(), [&](size_t i) { rest[i](); });
  base_.replayed_ns = LastOf(parts->unchanged.end_ns) - first;
  const auto count = static_cast<int64_t>(nodes.size());
  const bool same = std::abs(base_.replayed_ns - base_.measured_ns) * 1'000 <= base_.measured_ns * kFaithfulPermille;
  // Without most of the couplings a replay proves nothing about what ranks do to each other.
  base_.faithful = same && base_.step_ns > 0 && parts->graph.coupled * 10 >= count * 9 &&
                   parts->graph.forced * 100 < count && !lacks_a_kind;
  parts_ = std::move(parts);
}

Replay::~Replay() = default;

ReplayScratch::ReplayScratch(Executor* executor) : executor_(executor) {}
ReplayScratch::~ReplayScratch() = default;

template <typename Use>
auto Replay::With(const Idealisation& ideal, ReplayScratch& scratch, const Use& use) const {
  const Parts& p = *parts_;
  if (scratch.room_ == nullptr) scratch.room_ = std::make_unique<ReplayWorkspace>(p.graph, p.unchanged);
  ReplayWorkspace& room = *scratch.room_;
  const std::vector<size_t> groups = GroupsOf(p.graph, p.match, ideal);
  const RemovedWork removed = Idealise(p.graph, p.source, p.match, *p.peers, ideal, room.lengths(), scratch.executor_);
  const auto figure = use(room.Run(groups), removed);
  room.Restore(groups);
  return figure;
}

std::optional<WhatIf> Replay::Saving(const Idealisation& ideal, ReplayScratch& scratch) const {
  if (!base_.faithful) return std::nullopt;
  const Parts& p = *parts_;
  if (p.LacksPeers(ideal)) return std::nullopt;
  WhatIf out;
  double deviation_ns = 0;
  out.saving_ns_per_step = With(ideal, scratch, [&](const ReplayTimes& times, const RemovedWork& removed) {
    const int64_t saving_ns = p.SavingPerStep(times.end_ns);
    deviation_ns = DeviationOfSaving(static_cast<double>(saving_ns), removed);
    return saving_ns;
  });
  const double step = p.SlowestStepNs();
  out.saving_ratio = step > 0 ? static_cast<double>(out.saving_ns_per_step) / step : 0;
  out.deviation_ratio = step > 0 ? deviation_ns / step : 0;
  const double steps = static_cast<double>(base_.measured_ns) / static_cast<double>(base_.step_ns);
  const int64_t solo = ideal.rank_indices.empty() ? out.saving_ns_per_step
                                                  : std::llround(static_cast<double>(p.SoloDamageNs(ideal)) / steps);
  out.bound_lo_ns_per_step = std::min(solo, out.saving_ns_per_step);
  out.bound_hi_ns_per_step = std::max(solo, out.saving_ns_per_step);
  return out;
}

std::optional<int64_t> Replay::IdealNs(const Idealisation& ideal) const {
  if (!base_.faithful) return std::nullopt;
  ReplayScratch scratch;
  return With(ideal, scratch,
              [&](const ReplayTimes& times, const RemovedWork&) { return LastOf(times.end_ns) - parts_->begin_ns; });
}

std::optional<int64_t> ZeroTransferNs(const Replay& replay) {
  Idealisation ideal;
  ideal.all_transfers_zero = true;
  return replay.IdealNs(ideal);
}

}  // namespace lockstep
