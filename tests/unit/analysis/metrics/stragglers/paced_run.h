// A run made by hand with known truth: ranks work, meet in collectives, and go on together. Told directly as matched
// instances and arrival graph, so that tests of stragglers rest on nothing but these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/stragglers/tested_lateness.h"
#include "analysis/model/instance_row.h"
#include "tests/support/run_builder.h"

namespace lockstep {

struct PacedShape {
  int32_t hosts = 1;
  int32_t gpus = 8;             // per host
  bool tp_inside_hosts = true;  // one communicator per host; false: one of all ranks
  bool dp_across_hosts = true;  // and one per local index, once a step, where there are several hosts
  int steps = 50;
  int layers = 6;              // collectives of the fine communicator in a step
  int64_t own_ns = 1'000'000;  // of a usual rank before each
  int64_t transfer_ns = 50'000;
  double device_spread = 0;  // sd of the permanent speed
  double rho = 0;            // of the slow part of the speed, from step to step
  double rho_sigma = 0;      // its sd
  double noise = 0.001;      // sd of each stretch
  bool mark_steps = true;
  bool broadcasts = false;  // all but the last collective of a step are broadcasts of the communicator's first rank
  // What a cause adds is the host's time, not computing; then launches are told too: the host is blocked until its step
  // begins, and asks for one layer every 20 us.
  bool host_extra = false;
};

inline PacedShape Cluster(int32_t hosts, int32_t gpus, int steps = 40) {
  PacedShape shape;
  shape.hosts = hosts;
  shape.gpus = gpus;
  shape.steps = steps;
  return shape;
}

struct PacedRun {
  RunData run;
  RankResolution ranks;
  MatchResult match;
  ArrivalGraph graph;
  int64_t end_ns = 0;
};

// What a cause adds to a usual stretch of own time: ns, by rank, step and layer.
using ExtraOwn = std::function<int64_t(int32_t rank, int step, int layer)>;
// And to a usual transfer of the communicator (index: hosts' first, then those across hosts).
using ExtraTransfer = std::function<int64_t(int32_t communicator, int step)>;

class PacedRunMaker {
 public:
  PacedRunMaker(const PacedShape& shape, unsigned seed) : shape_(shape), random_(seed) {}

  PacedRun Make(const ExtraOwn& own = {}, const ExtraTransfer& transfer = {}) {
    own_ = own;
    transfer_ = transfer;
    AddRanks();
    AddCommunicators();
    for (int step = 0; step < shape_.steps; ++step) RunStep(step);
    Finish();
    return std::move(out_);
  }

 private:
  struct Instance {
    MatchedInstance matched;
    int64_t last_ns = 0;
    bool ties = true;
  };

  [[nodiscard]] int32_t World() const { return shape_.hosts * shape_.gpus; }
  double Normal() { return std::normal_distribution<double>()(random_); }

  void AddRanks() {
    const auto world = static_cast<size_t>(World());
    for (int32_t rank = 0; rank < World(); ++rank) {
      ResolvedRank resolved;
      resolved.source = static_cast<size_t>(rank);
      resolved.rank = rank;
      resolved.host = "node" + std::to_string(rank / shape_.gpus);
      out_.ranks.ranks.push_back(resolved);
      speed_.push_back(shape_.device_spread * Normal());
      slow_.push_back(shape_.rho_sigma * Normal());
      out_.match.clock.SetDomain(rank, DomainId{0});
    }
    out_.run.sources.resize(world);
    out_.graph.ranks.resize(world);
    out_.match.arrivals.resize(world);
    busy_.assign(world, 0);
    asked_.assign(world, 0);
  }

  void AddCommunicators() {
    const auto add = [&](const std::string& id, std::vector<int32_t> members) {
      out_.match.communicators.push_back({id, "", "", members, static_cast<int32_t>(members.size()), false});
      previous_.emplace_back(static_cast<size_t>(World()), -1);
      spent_.emplace_back(static_cast<size_t>(World()));
    };
    const auto members = [&](int32_t first, int32_t count, int32_t stride) {
      std::vector<int32_t> list;
      for (int32_t i = 0; i < count; ++i) list.push_back(first + i * stride);
      return list;
    };
    if (shape_.tp_inside_hosts) {
      for (int32_t host = 0; host < shape_.hosts; ++host) {
        add("tp" + std::to_string(host), members(host * shape_.gpus, shape_.gpus, 1));
      }
    } else {
      add("all", members(0, World(), 1));
    }
    fine_ = out_.match.communicators.size();
    if (!shape_.dp_across_hosts || shape_.hosts < 2 || !shape_.tp_inside_hosts) return;
    for (int32_t gpu = 0; gpu < shape_.gpus; ++gpu)
      add("dp" + std::to_string(gpu), members(gpu, shape_.hosts, shape_.gpus));
  }

  void RunStep(int step) {
    for (double& slow : slow_) {
      slow = shape_.rho * slow + std::sqrt(1 - shape_.rho * shape_.rho) * shape_.rho_sigma * Normal();
    }
    for (int layer = 0; layer < shape_.layers; ++layer) {
      for (int32_t rank = 0; rank < World(); ++rank) Work(rank, step, layer);
      for (size_t c = 0; c < fine_; ++c) Meet(c, step, shape_.broadcasts && layer + 1 < shape_.layers);
    }
    for (size_t c = fine_; c < out_.match.communicators.size(); ++c) Meet(c, step, false);
  }

  void Work(int32_t rank, int step, int layer) {
    const auto r = static_cast<size_t>(rank);
    const double factor = 1 + speed_[r] + slow_[r] + shape_.noise * Normal();
    const int64_t usual = std::llround(static_cast<double>(shape_.own_ns) * factor);
    const int64_t extra = own_ ? own_(rank, step, layer) : 0;
    if (layer == 0) asked_[r] = busy_[r];
    asked_[r] += (extra > 0 && shape_.host_extra ? std::max<int64_t>(0, busy_[r] - asked_[r]) + extra : 0) + 20'000;
    busy_[r] += usual + extra;
    for (auto& spent : spent_) {
      spent[r].compute_ns += usual;
      (shape_.host_extra ? spent[r].host_ns : spent[r].compute_ns) += extra;
    }
  }

  // `rooted`: a broadcast, in which each waits for the first rank only.
  void Meet(size_t communicator, int step, bool rooted) {
    Instance instance;
    MatchedInstance& matched = instance.matched;
    matched.communicator = static_cast<uint32_t>(communicator);
    matched.op = rooted ? CollectiveOp::kBroadcast : CollectiveOp::kAllReduce;
    matched.bytes = 1'024;
    if (shape_.mark_steps) matched.step = step;
    matched.kind = MatchKind::kId;
    matched.confidence = 1;
    matched.complete = matched.comparable = matched.resolvable = matched.last_certain = true;
    matched.all_pairs = !rooted;
    matched.uncertainty_ns = 0;
    const std::vector<int32_t>& members = out_.match.communicators[communicator].members;
    int64_t first = INT64_MAX;
    for (const int32_t rank : members) {
      const int64_t start = busy_[static_cast<size_t>(rank)];
      first = std::min(first, start);
      if (start > instance.last_ns || matched.last_rank_index < 0) matched.last_rank_index = rank;
      instance.last_ns = std::max(instance.last_ns, start);
    }
    matched.spread_ns = instance.last_ns - first;
    matched.transfer_ns = shape_.transfer_ns + (transfer_ ? transfer_(static_cast<int32_t>(communicator), step) : 0);
    instance.ties = !rooted || matched.last_rank_index == members.front();
    const int64_t root_start = busy_[static_cast<size_t>(members.front())];
    const auto index = static_cast<int64_t>(instances_.size());
    for (const int32_t rank : members) {
      const int64_t there = rooted ? std::max(busy_[static_cast<size_t>(rank)], root_start) : instance.last_ns;
      AddMember(communicator, rank, there + matched.transfer_ns, index, matched, there);
    }
    instances_.push_back(std::move(instance));
  }

  void AddMember(size_t communicator, int32_t rank, int64_t end, int64_t index, MatchedInstance& matched,
                 int64_t last) {
    const auto r = static_cast<size_t>(rank);
    const int64_t start = busy_[r];
    auto& rows = out_.graph.ranks[r];
    ArrivalNode node;
    node.start_ns = start;
    node.end_ns = end;
    if (shape_.host_extra) {
      node.launch_start_ns = std::min(asked_[r], start - 5'000);
      node.launch_end_ns = node.launch_start_ns + 3'000;
    }
    node.instance = index;
    node.step = matched.step;
    node.previous = previous_[communicator][r];
    node.segment = spent_[communicator][r];
    if (node.previous >= 0) node.segment.begin_ns = rows[static_cast<size_t>(node.previous)].end_ns;
    spent_[communicator][r] = {};
    for (size_t c = 0; c < spent_.size(); ++c) {
      if (c == communicator) continue;
      const int64_t begin = previous_[c][r] < 0 ? start : rows[static_cast<size_t>(previous_[c][r])].end_ns;
      spent_[c][r].tiles.push_back({static_cast<int64_t>(rows.size()), start - begin, end - start});
      spent_[c][r].other_comm_ns += end - start;
    }
    previous_[communicator][r] = static_cast<int64_t>(rows.size());
    MatchedMember member;
    member.rank_index = rank;
    member.row = static_cast<int64_t>(rows.size());
    member.start_ns = start;
    member.end_ns = end;
    member.arrival_ns = last;
    member.wait_ns = last - start;
    if (rank != matched.last_rank_index) member.awaits = matched.last_rank_index;
    matched.members.push_back(member);
    rows.push_back(std::move(node));
    out_.match.arrivals[r].push_back({last, true, true});
    busy_[r] = end;
  }

  // Instances in the order of the contract, and the rows pointing to them.
  void Finish() {
    std::vector<size_t> by_communicator(instances_.size());
    for (size_t i = 0; i < by_communicator.size(); ++i) by_communicator[i] = i;
    std::stable_sort(by_communicator.begin(), by_communicator.end(), [&](size_t a, size_t b) {
      return instances_[a].matched.communicator < instances_[b].matched.communicator;
    });
    std::vector<int64_t> place(instances_.size());
    std::vector<int64_t> last;
    for (const size_t i : by_communicator) {
      out_.graph.ties.push_back(instances_[i].ties);
      place[i] = static_cast<int64_t>(out_.match.instances.size());
      last.push_back(instances_[i].last_ns);
      out_.match.instances.push_back(std::move(instances_[i].matched));
    }
    for (auto& rows : out_.graph.ranks) {
      for (ArrivalNode& node : rows) node.instance = place[static_cast<size_t>(node.instance)];
      SetWork({}, rows);
    }
    for (uint32_t i = 0; i < out_.match.instances.size(); ++i) out_.graph.order.push_back(i);
    std::stable_sort(out_.graph.order.begin(), out_.graph.order.end(),
                     [&](uint32_t a, uint32_t b) { return last[a] < last[b]; });
    out_.end_ns = *std::max_element(busy_.begin(), busy_.end());
  }

  PacedShape shape_;
  std::mt19937 random_;
  ExtraOwn own_;
  ExtraTransfer transfer_;
  PacedRun out_;
  std::vector<double> speed_;
  std::vector<double> slow_;
  std::vector<int64_t> busy_;
  std::vector<int64_t> asked_;  // when the host asked for the last
  size_t fine_ = 0;
  std::vector<std::vector<int64_t>> previous_;  // [communicator][rank] row
  std::vector<std::vector<Segment>> spent_;     // [communicator][rank] since the previous instance
  std::vector<Instance> instances_;
};

inline PacedRun MakePacedRun(const PacedShape& shape, unsigned seed, const ExtraOwn& own = {},
                             const ExtraTransfer& transfer = {}) {
  return PacedRunMaker(shape, seed).Make(own, transfer);
}

// A member of the instance loses its record: its next segment holds that, too, as rest. False: there is no next one.
inline bool LoseRecord(PacedRun& run, MatchedInstance& instance, size_t member) {
  std::vector<ArrivalNode>& rows = run.graph.ranks[static_cast<size_t>(instance.members[member].rank_index)];
  const auto lost = static_cast<size_t>(instance.members[member].row);
  if (lost + 1 >= rows.size()) return false;
  rows[lost].instance = -1;
  rows[lost + 1].previous = rows[lost].previous;
  rows[lost + 1].segment.rest_ns += rows[lost].end_ns - rows[lost].start_ns;
  instance.members.erase(instance.members.begin() + static_cast<std::ptrdiff_t>(member));
  return true;
}

inline Replay ReplayOf(const PacedRun& run) {
  InlineExecutor executor;
  return {run.graph, run.match, executor};
}

inline StragglerResult FindIn(const PacedRun& run) {
  const Replay replay = ReplayOf(run);
  const BlameResult blame = PropagateBlame(run.graph, run.match);
  return FindStragglers({run.run, run.ranks, run.match, run.graph, replay, blame},
                        TestLateness(run.ranks, run.match, run.graph, std::nullopt));
}

}  // namespace lockstep
