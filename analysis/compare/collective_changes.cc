#include "analysis/compare/collective_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace lockstep::compare {
namespace {

using CollectiveKey = std::tuple<std::string, std::string, int64_t, int64_t, std::string>;

CollectiveKey KeyOf(const report::ProfileCollective& row) {
  return {row.op.value_or(""), row.dtype.value_or(""), row.bytes ? row.bytes->value : -1, row.members.value,
          row.desc.value_or("")};
}

// The mean over the runs that know a figure.
class MeanOfKnown {
 public:
  void Add(const report::Percentiles::Value& value) {
    if (!value) return;
    sum_ += value->Real();
    ++count_;
  }
  [[nodiscard]] std::optional<double> Get() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

// One kind of collective in the runs of a side.
struct CollectiveRuns {
  const report::ProfileCollective* any = nullptr;
  double instances_per_step = 0;
  double wait_ns_per_step = 0;
  MeanOfKnown wait_p50;
  MeanOfKnown transfer_p50;
  MeanOfKnown transfer_p99;
  MeanOfKnown bandwidth;
};

using CollectivesOfSide = std::map<CollectiveKey, CollectiveRuns>;

// Totals are those of the whole capture; the steps of the capture are those of the profile and the one left out.
double StepsOfCapture(const ComparedRun& run) {
  const auto steps = static_cast<double>(run.profile.steps.size());
  return std::max(1.0, steps > 1 ? steps + 1 : steps);
}

CollectivesOfSide CollectivesOf(const std::vector<ComparedRun>& runs) {
  CollectivesOfSide side;
  for (const ComparedRun& run : runs) {
    const double steps = StepsOfCapture(run) * static_cast<double>(runs.size());
    for (const report::ProfileCollective& row : run.profile.collectives) {
      CollectiveRuns& sum = side[KeyOf(row)];
      sum.any = &row;
      sum.instances_per_step += static_cast<double>(row.instances.value) / steps;
      sum.wait_ns_per_step += static_cast<double>(row.wait_total_ns.value) / steps;
      sum.wait_p50.Add(row.wait_ns.p50);
      sum.transfer_p50.Add(row.transfer_ns.p50);
      sum.transfer_p99.Add(row.transfer_ns.p99);
      sum.bandwidth.Add(row.bus_bandwidth_gbps.p50);
    }
  }
  return side;
}

report::CollectiveSide SideOf(const CollectiveRuns& runs) {
  return {.instances_per_step = runs.instances_per_step,
          .wait_p50_ns = runs.wait_p50.Get(),
          .wait_ns_per_step = runs.wait_ns_per_step,
          .transfer_p50_ns = runs.transfer_p50.Get(),
          .transfer_p99_ns = runs.transfer_p99.Get(),
          .bus_bandwidth_gbps = runs.bandwidth.Get()};
}

double CostOf(const std::optional<report::CollectiveSide>& side) {
  return side ? side->instances_per_step * side->transfer_p50_ns.value_or(0) + side->wait_ns_per_step : 0;
}

report::CollectiveChange ChangeOf(const CollectiveRuns* base, const CollectiveRuns* fresh) {
  const report::ProfileCollective& any = *(base != nullptr ? base : fresh)->any;
  report::CollectiveChange change;
  change.op = any.op;
  change.dtype = any.dtype;
  change.bytes = any.bytes;
  change.members = any.members;
  change.desc = any.desc;
  if (base != nullptr) change.base = SideOf(*base);
  if (fresh != nullptr) change.fresh = SideOf(*fresh);
  if (change.base && change.fresh && change.base->transfer_p50_ns.value_or(0) > 0 && change.fresh->transfer_p50_ns) {
    change.transfer_change_ratio = *change.fresh->transfer_p50_ns / *change.base->transfer_p50_ns - 1;
  }
  return change;
}

const CollectiveRuns* Find(const CollectivesOfSide& side, const CollectiveKey& key) {
  const auto found = side.find(key);
  return found == side.end() ? nullptr : &found->second;
}

// Somebody who is late, in the runs of one side.
struct LateRuns {
  const report::Culprit* any = nullptr;
  report::LateSide side;
  bool causes_differ = false;
};

using LateOfSide = std::map<std::pair<std::string, std::string>, LateRuns>;

LateOfSide LateOf(const std::vector<ComparedRun>& runs) {
  LateOfSide late;
  const auto count = static_cast<double>(runs.size());
  for (const ComparedRun& run : runs) {
    const double wait_ns = run.MeanOfStep(&report::ProfileStep::exposed_wait_ns);
    for (const report::Culprit& culprit : run.summary.culprits) {
      LateRuns& sum = late[{culprit.scope, culprit.id}];
      sum.causes_differ = sum.causes_differ || (sum.any != nullptr && sum.side.cause != culprit.cause);
      sum.any = &culprit;
      sum.side.cause = culprit.cause;
      sum.side.share_of_wait_ratio += culprit.share_of_wait_ratio / count;
      sum.side.confidence += culprit.confidence / count;
      sum.side.wait_ns_per_step += wait_ns * culprit.share_of_wait_ratio / count;
    }
  }
  for (auto& [id, sum] : late) {
    if (sum.causes_differ) sum.side.cause.reset();
  }
  return late;
}

double LargerShare(const report::LateChange& change) {
  return std::max(change.base ? change.base->share_of_wait_ratio : 0,
                  change.fresh ? change.fresh->share_of_wait_ratio : 0);
}

}  // namespace

std::vector<report::CollectiveChange> CollectiveChangesOf(const Sides& sides) {
  const CollectivesOfSide base = CollectivesOf(sides.base);
  const CollectivesOfSide fresh = CollectivesOf(sides.fresh);
  std::vector<report::CollectiveChange> changes;
  for (const auto& [key, runs] : base) changes.push_back(ChangeOf(&runs, Find(fresh, key)));
  for (const auto& [key, runs] : fresh) {
    if (!base.contains(key)) changes.push_back(ChangeOf(nullptr, &runs));
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::abs(CostOf(a.fresh) - CostOf(a.base)) > std::abs(CostOf(b.fresh) - CostOf(b.base));
  });
  return changes;
}

std::vector<report::LateChange> LateChangesOf(const Sides& sides) {
  const LateOfSide base = LateOf(sides.base);
  const LateOfSide fresh = LateOf(sides.fresh);
  std::map<std::pair<std::string, std::string>, report::LateChange> changes;
  for (const auto& [id, late] : base) changes[id].base = late.side;
  for (const auto& [id, late] : fresh) changes[id].fresh = late.side;
  std::vector<report::LateChange> rows;
  for (auto& [id, change] : changes) {
    const auto of_fresh = fresh.find(id);
    change.scope = id.first;
    change.id = id.second;
    change.host = (of_fresh != fresh.end() ? of_fresh->second : base.at(id)).any->host;
    change.change = !change.base ? "appeared" : !change.fresh ? "gone" : "stays";
    rows.push_back(std::move(change));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return LargerShare(a) > LargerShare(b); });
  return rows;
}

}  // namespace lockstep::compare
