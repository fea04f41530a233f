#include "analysis/metrics/causes/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/metrics/causes/replay_graph.h"
#include "analysis/metrics/causes/replay_ideal.h"
#include "analysis/metrics/causes/replay_peers.h"
#include "analysis/metrics/causes/replay_run.h"

namespace lockstep {
namespace {

constexpr int64_t kFaithfulPermille = 5;
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
  Parts(const ArrivalGraph& arrivals, const MatchResult& matched)
      : source(arrivals),
        match(matched),
        graph(BuildReplayGraph(arrivals, matched)),
        peers(graph, matched),
        stretches(StretchesOf(arrivals, graph)),
        unchanged(RunReplay(graph, MeasuredLengths(graph))) {}

  // Sum over the ranks of what their stretches take.
  [[nodiscard]] int64_t StretchNs(const std::vector<int64_t>& ends) const {
    int64_t sum = 0;
    for (const Stretch& stretch : stretches) {
      sum += ends[static_cast<size_t>(stretch.to)] - ends[static_cast<size_t>(stretch.from)];
    }
    return sum;
  }

  // Sum over the ranks of how much sooner their last row ends.
  [[nodiscard]] int64_t SavedNs(const std::vector<int64_t>& ends) const {
    int64_t sum = 0;
    for (size_t r = 0; r + 1 < graph.first.size(); ++r) {
      if (graph.first[r] == graph.first[r + 1]) continue;
      const auto begin = static_cast<int64_t>(graph.first[r]);
      const auto end = static_cast<int64_t>(graph.first[r + 1]);
      sum += *std::max_element(unchanged.end_ns.begin() + begin, unchanged.end_ns.begin() + end) -
             *std::max_element(ends.begin() + begin, ends.begin() + end);
    }
    return sum;
  }

  [[nodiscard]] int64_t SoloDamageNs(const Idealisation& ideal) const;

  const ArrivalGraph& source;
  const MatchResult& match;
  ReplayGraph graph;
  ReplayPeers peers;
  std::vector<Stretch> stretches;
  ReplayTimes unchanged;
  int64_t begin_ns = 0;
  int64_t stretch_steps = 0;  // summed over ranks
  int64_t covered_ns = 0;     // from first start to last end, summed over ranks
};

// What would be gained at once if nobody of the scope came after the last of the others.
int64_t Replay::Parts::SoloDamageNs(const Idealisation& ideal) const {
  std::vector<bool> in_scope(source.ranks.size());
  for (const int32_t r : ideal.rank_indices) {
    if (r >= 0 && static_cast<size_t>(r) < in_scope.size()) in_scope[static_cast<size_t>(r)] = true;
  }
  int64_t sum = 0;
  for (const uint32_t i : source.order) {
    const MatchedInstance& instance = match.instances[i];
    int64_t last = INT64_MIN;
    int64_t last_other = INT64_MIN;
    for (const MatchedMember& m : instance.members) {
      int64_t& latest = in_scope[static_cast<size_t>(m.rank_index)] ? last : last_other;
      latest = std::max(latest, m.start_ns);
    }
    const bool in_time = !ideal.time_ns || (last >= ideal.time_ns->first && last < ideal.time_ns->second);
    if (last != INT64_MIN && last_other != INT64_MIN && last > last_other && in_time) sum += last - last_other;
  }
  return sum;
}

Replay::Replay(const ArrivalGraph& graph, const MatchResult& match) {
  auto parts = std::make_unique<Parts>(graph, match);
  const std::vector<ReplayNode>& nodes = parts->graph.nodes;
  if (nodes.empty()) {
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
  base_.replayed_ns = LastOf(parts->unchanged.end_ns) - first;
  for (size_t r = 0; r + 1 < parts->graph.first.size(); ++r) {
    int64_t end = INT64_MIN;
    const size_t begin = parts->graph.first[r];
    for (size_t n = begin; n < parts->graph.first[r + 1]; ++n) end = std::max(end, nodes[n].end_ns);
    if (end != INT64_MIN) parts->covered_ns += end - nodes[begin].start_ns;
  }
  for (const Stretch& stretch : parts->stretches) {
    parts->stretch_steps += stretch.steps;
    base_.steps = std::max(base_.steps, stretch.steps + 1);
  }
  if (parts->stretch_steps > 0) {
    std::vector<int64_t> measured_ends;
    for (const ReplayNode& node : nodes) measured_ends.push_back(node.end_ns);
    base_.step_ns = parts->StretchNs(measured_ends) / parts->stretch_steps;
  } else {
    base_.steps = std::max<int64_t>(1, base_.measured_ns / kBlockNs);
    base_.step_ns = base_.measured_ns / base_.steps;
  }
  const auto count = static_cast<int64_t>(nodes.size());
  const bool same = std::abs(base_.replayed_ns - base_.measured_ns) * 1'000 <= base_.measured_ns * kFaithfulPermille;
  // Without most of the couplings a replay proves nothing about what ranks do to each other.
  base_.faithful =
      same && base_.step_ns > 0 && parts->graph.coupled * 10 >= count * 9 && parts->graph.forced * 100 < count;
  parts_ = std::move(parts);
}

Replay::~Replay() = default;

std::optional<WhatIf> Replay::Saving(const Idealisation& ideal) const {
  if (!base_.faithful) return std::nullopt;
  const Parts& p = *parts_;
  const ReplayTimes times = RunReplay(p.graph, IdealLengths(p.graph, p.source, p.match, p.peers, ideal));
  // As many steps as fit into what the ranks cover, whole or not.
  const auto per_step = [&](int64_t ns, int64_t covered_ns) {
    return std::llround(static_cast<double>(ns) * static_cast<double>(base_.step_ns) / static_cast<double>(covered_ns));
  };
  WhatIf out;
  out.saving_ns_per_step = per_step(p.SavedNs(times.end_ns), p.covered_ns);
  out.saving_ratio = static_cast<double>(out.saving_ns_per_step) / static_cast<double>(base_.step_ns);
  const int64_t solo =
      ideal.rank_indices.empty() ? out.saving_ns_per_step : per_step(p.SoloDamageNs(ideal), base_.measured_ns);
  out.bound_lo_ns_per_step = std::min(solo, out.saving_ns_per_step);
  out.bound_hi_ns_per_step = std::max(solo, out.saving_ns_per_step);
  return out;
}

std::optional<int64_t> Replay::IdealNs(const Idealisation& ideal) const {
  if (!base_.faithful) return std::nullopt;
  const Parts& p = *parts_;
  const ReplayTimes times = RunReplay(p.graph, IdealLengths(p.graph, p.source, p.match, p.peers, ideal));
  return LastOf(times.end_ns) - p.begin_ns;
}

std::optional<int64_t> ZeroTransferNs(const Replay& replay) {
  Idealisation ideal;
  ideal.all_transfers_zero = true;
  return replay.IdealNs(ideal);
}

}  // namespace lockstep
