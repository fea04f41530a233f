// Runs whose rows are given one by one. Not for the product.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/base/few.h"
#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/model/collective.h"
#include "tests/support/run_builder.h"
#include "tests/support/time_units.h"

namespace lockstep {

// One member of an instance.
struct HandMadeRow {
  int32_t rank = 0;
  int64_t start_us = 0;
  int64_t end_us = 0;
  int64_t covered_us = 0;  // compute runs meanwhile, so long from its start on
  int32_t awaits = -1;     // rank that it was found to wait for
};

class HandMadeRun {
 public:
  explicit HandMadeRun(int32_t ranks) {
    source_.ranks.resize(static_cast<size_t>(ranks));
    covers_.resize(source_.ranks.size());
  }

  // Its kernels run on a stream of their own.
  void AddCommunicator(std::vector<int32_t> members) {
    Communicator communicator;
    communicator.id = std::to_string(match_.communicators.size());
    communicator.size = static_cast<int32_t>(members.size());
    communicator.members = std::move(members);
    match_.communicators.push_back(std::move(communicator));
  }
  // Of the instances that are added from now on.
  void SetStep(int64_t step) { step_ = step; }
  // Of the communicator that was added last, in order.
  void Meet(CollectiveOp op, const std::vector<HandMadeRow>& rows) {
    MatchedInstance instance;
    instance.communicator = static_cast<uint32_t>(match_.communicators.size()) - 1;
    instance.op = op;
    instance.confidence = 1;
    instance.comparable = true;
    instance.step = step_;
    instance.all_pairs = IsAllPairs(op);
    match_.instances.push_back(instance);
    for (const HandMadeRow& row : rows) rows_.emplace_back(match_.instances.size() - 1, row);
  }

  // Node n of rank r is its n-th row in order of start, those of equal start in the order of their communicators.
  [[nodiscard]] ReplayGraph Graph() {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const auto& a, const auto& b) { return a.second.start_us < b.second.start_us; });
    for (const auto& [instance, row] : rows_) AddRow(instance, row);
    for (MatchedInstance& instance : match_.instances) {
      std::sort(instance.members.begin(), instance.members.end(),
                [](const MatchedMember& a, const MatchedMember& b) { return a.rank_index < b.rank_index; });
    }
    for (size_t r = 0; r < source_.ranks.size(); ++r) SetWork(covers_[r], source_.ranks[r]);
    InlineExecutor executor;
    return BuildReplayGraph(source_, match_, executor);
  }
  [[nodiscard]] const MatchResult& match() const { return match_; }

 private:
  void AddRow(size_t instance, const HandMadeRow& row) {
    const auto rank = static_cast<size_t>(row.rank);
    std::vector<ArrivalNode>& rows = source_.ranks[rank];
    ArrivalNode node;
    node.start_ns = row.start_us * kUs;
    node.end_ns = row.end_us * kUs;
    node.stream = static_cast<int32_t>(match_.instances[instance].communicator);
    node.step = match_.instances[instance].step;
    node.instance = static_cast<int64_t>(instance);
    const auto last = last_.try_emplace({row.rank, match_.instances[instance].communicator}, -1).first;
    node.previous = last->second;
    last->second = static_cast<int64_t>(rows.size());
    MatchedMember member;
    member.rank_index = row.rank;
    member.row = static_cast<int64_t>(rows.size());
    member.start_ns = node.start_ns;
    member.end_ns = node.end_ns;
    member.awaits = row.awaits;
    match_.instances[instance].members.push_back(member);
    rows.push_back(node);
    covers_[rank].emplace_back();
    if (row.covered_us > 0) covers_[rank].back().push_back({0, row.covered_us * kUs});
  }

  int64_t step_ = 0;
  ArrivalGraph source_;
  MatchResult match_;
  std::vector<std::vector<Few<std::pair<int64_t, int64_t>>>> covers_;
  std::vector<std::pair<size_t, HandMadeRow>> rows_;      // with their instances
  std::map<std::pair<int32_t, uint32_t>, int64_t> last_;  // row of a rank and a communicator
};

}  // namespace lockstep
