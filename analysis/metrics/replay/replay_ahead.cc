#include "analysis/metrics/replay/replay_ahead.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kLeastSteps = 8;      // to tell a steady lead from a growing one
constexpr double kSteadyLead = 0.5;    // of the lead: how much it may differ between the first and the last third
constexpr double kNearlyAll = 0.9;     // of the steps
constexpr size_t kMostStepsAhead = 3;  // that a host is held back by
constexpr size_t kLastRows = 4;        // of a step, one of which the host may wait for
constexpr int64_t kTimerNs = 2'000;    // a launch may seem to come this much before the end that it waited for

// The launches of a step, in order.
struct StepLaunches {
  std::vector<int32_t> nodes;
};

std::vector<StepLaunches> StepsOf(const ArrivalGraph& source, size_t rank, const ReplayGraph& graph) {
  std::vector<StepLaunches> steps;
  int64_t step = kNoStep;
  for (const int32_t n : graph.launched[rank]) {
    const int64_t of_node = source.ranks[rank][static_cast<size_t>(n) - graph.first[rank]].step;
    if (of_node == kNoStep) continue;
    if (steps.empty() || of_node != step) steps.emplace_back();
    step = of_node;
    steps.back().nodes.push_back(n);
  }
  return steps;
}

// What a host waits for before it launches a step: the row-th last one, from 1, of so many steps before.
struct Behind {
  size_t steps = 0;
  size_t row = 0;
};

class Finder {
 public:
  Finder(const std::vector<StepLaunches>& steps, const ReplayGraph& graph) : steps_(steps), graph_(graph) {}

  // The host is well ahead at the begin of nearly every step, by as much at the end of the run as at its begin, and not
  // because it was blocked until the device had ended all.
  [[nodiscard]] bool IsHeldBack() const {
    if (steps_.size() < kLeastSteps) return false;
    std::vector<int64_t> leads;
    size_t ahead = 0;
    size_t blocked = 0;
    for (const StepLaunches& step : steps_) {
      const ReplayNode& first = graph_.node(step.nodes.front());
      leads.push_back(first.start_ns - first.launch_ns);
      ahead += leads.back() > kAheadNs ? 1 : 0;
      blocked += first.is_anchor(step.nodes.front()) && first.follows ? 1 : 0;
    }
    const auto count = static_cast<double>(steps_.size());
    if (static_cast<double>(ahead) < kNearlyAll * count || 2 * blocked > steps_.size()) return false;
    const auto third = static_cast<std::ptrdiff_t>(leads.size() / 3);
    const int64_t early = UpperMedian(std::vector<int64_t>(leads.begin(), leads.begin() + third));
    const int64_t late = UpperMedian(std::vector<int64_t>(leads.end() - third, leads.end()));
    return static_cast<double>(std::abs(late - early)) <= kSteadyLead * static_cast<double>(std::max(late, early));
  }

  // The one at the steadiest distance.
  [[nodiscard]] std::optional<Behind> Find() const {
    std::optional<Behind> best;
    int64_t least = 0;
    for (size_t ago = 1; ago <= kMostStepsAhead; ++ago) {
      for (size_t row = 1; row <= kLastRows; ++row) {
        const std::optional<int64_t> scatter = ScatterOf({ago, row});
        if (!scatter || (best && *scatter >= least)) continue;
        best = {ago, row};
        least = *scatter;
      }
    }
    return best;
  }

  // The node that the host waits for before it launches this step; -1: there is none.
  [[nodiscard]] int32_t NodeOf(const Behind& behind, size_t step) const {
    if (step < behind.steps) return -1;
    const std::vector<int32_t>& nodes = steps_[step - behind.steps].nodes;
    return nodes.size() < behind.row ? -1 : nodes[nodes.size() - behind.row];
  }

 private:
  // How much the time from the end of this node to the launch differs from step to step, in the middle of all; nothing
  // where it does not end before nearly all of the launches.
  [[nodiscard]] std::optional<int64_t> ScatterOf(const Behind& behind) const {
    std::vector<int64_t> distances;
    size_t before = 0;
    for (size_t step = behind.steps; step < steps_.size(); ++step) {
      const int32_t n = NodeOf(behind, step);
      if (n < 0) continue;
      distances.push_back(graph_.node(steps_[step].nodes.front()).launch_ns - graph_.node(n).end_ns);
      before += distances.back() >= -kTimerNs ? 1 : 0;
    }
    const auto possible = static_cast<double>(steps_.size() - behind.steps);
    if (static_cast<double>(before) < kNearlyAll * possible) return std::nullopt;
    const int64_t usual = UpperMedian(distances);
    for (int64_t& distance : distances) distance = std::abs(distance - usual);
    return UpperMedian(std::move(distances));
  }

  const std::vector<StepLaunches>& steps_;
  const ReplayGraph& graph_;
};

}  // namespace

void AddRunAhead(const ArrivalGraph& source, size_t rank, ReplayGraph& graph) {
  const std::vector<StepLaunches> steps = StepsOf(source, rank, graph);
  const Finder finder(steps, graph);
  if (!finder.IsHeldBack()) return;
  const std::optional<Behind> behind = finder.Find();
  for (size_t step = 0; step < steps.size(); ++step) {
    const int32_t awaited = behind ? finder.NodeOf(*behind, step) : -1;
    for (const int32_t n : steps[step].nodes) {
      ReplayNode& node = graph.nodes[static_cast<size_t>(n)];
      node.behind = awaited;
      if (!behind) node.host_bound = false;
    }
    if (awaited < 0) continue;
    ReplayNode& first = graph.nodes[static_cast<size_t>(steps[step].nodes.front())];
    first.begins_launching = true;
    first.host_step_ns = std::max<int64_t>(0, first.launch_ns - graph.node(awaited).end_ns);
  }
}

}  // namespace lockstep
