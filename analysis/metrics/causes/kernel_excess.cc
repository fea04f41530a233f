#include "analysis/metrics/causes/kernel_excess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kAlikeNames = 0.8;       // of the names either rank runs, both run
constexpr double kAlikeLaunches = 1.25;   // launches per instance of ranks with one job differ by at most this factor
constexpr double kSameLaunches = 0.005;   // and of ranks of one pipeline stage hardly
constexpr double kExcessInStage = 0.005;  // against those of the own stage; less: compare with all alike
constexpr double kShapesDiffer = 0.02;    // share of the launches that have another shape
constexpr double kDeviceQuantile = 0.35;  // of the names' ratios, by time: what nearly all are slower by
constexpr double kStandsOut = 0.01;       // a name is singled out when it is slower than the device by more

struct NameTotal {
  double launches = 0;  // per instance of the rank
  double time_ns = 0;
  double blocks = 0;  // launches times their grid; 0: shapes are not known
  std::map<std::array<int32_t, 6>, double> shapes;
};

using RankKernels = std::map<uint32_t, NameTotal>;  // by name

std::array<int32_t, 6> KeyOf(const LaunchShape& s) {
  return {s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2]};
}

double BlocksOf(const LaunchShape& s) {
  return static_cast<double>(s.grid[0]) * static_cast<double>(s.grid[1]) * static_cast<double>(s.grid[2]);
}

bool IsCompute(const KernelRow& row) { return row.kind.category != Category::kCommunication && !row.is_rest; }

// What a rank does in a step of its own.
struct StepCounts {
  double launches = 0;   // of compute
  double instances = 0;  // records of collectives
};

std::optional<StepCounts> StepCountsOf(const SourceData& source) {
  const auto steps =
      std::count_if(source.steps.begin(), source.steps.end(), [](const StepRow& row) { return row.step != kNoStep; });
  if (steps == 0) return std::nullopt;
  StepCounts out;
  for (const KernelRow& row : source.kernels) {
    if (!IsCompute(row)) continue;
    for (const auto& [slice, sketch] : row.slices) out.launches += static_cast<double>(sketch.count());
  }
  out.launches /= static_cast<double>(steps);
  out.instances = static_cast<double>(source.instance_count) / static_cast<double>(steps);
  return out;
}

// The instances that each rank took part in: its records; where a tracer lost many of them, what ranks of as many
// launches a step recorded in as many steps. By rank index.
std::vector<double> InstancesOf(const RunData& run, const RankResolution& ranks) {
  constexpr double kAsManyLaunches = 0.02;
  constexpr double kLostMany = 0.05;
  std::vector<std::optional<StepCounts>> counts;
  for (const ResolvedRank& rank : ranks.ranks) counts.push_back(StepCountsOf(run.sources[rank.source]));
  std::vector<std::pair<double, double>> by_launches;  // launches, instances of a step
  for (const std::optional<StepCounts>& of : counts) {
    if (of) by_launches.emplace_back(of->launches, of->instances);
  }
  std::sort(by_launches.begin(), by_launches.end());
  std::vector<double> out;
  for (size_t r = 0; r < counts.size(); ++r) {
    out.push_back(static_cast<double>(std::max<int64_t>(1, run.sources[ranks.ranks[r].source].instance_count)));
    if (!counts[r] || counts[r]->instances <= 0) continue;
    std::vector<double> peers;
    const double least = counts[r]->launches * (1 - kAsManyLaunches);
    for (auto at = std::lower_bound(by_launches.begin(), by_launches.end(), std::pair(least, 0.0));
         at != by_launches.end() && at->first <= counts[r]->launches * (1 + kAsManyLaunches); ++at) {
      peers.push_back(at->second);
    }
    const double usual = Median(std::move(peers));
    if (counts[r]->instances < usual * (1 - kLostMany)) out.back() *= usual / counts[r]->instances;
  }
  return out;
}

RankKernels TotalsOf(const SourceData& source, double instances) {
  RankKernels out;
  const double scale = 1.0 / instances;
  for (const KernelRow& row : source.kernels) {
    if (!IsCompute(row)) continue;
    NameTotal& total = out[row.name];
    for (const auto& [slice, sketch] : row.slices) {
      const double launches = static_cast<double>(sketch.count()) * scale;
      total.launches += launches;
      total.time_ns += static_cast<double>(sketch.sum()) * scale;
      if (!row.has_shape) continue;
      total.blocks += launches * BlocksOf(row.shape);
      total.shapes[KeyOf(row.shape)] += launches;
    }
  }
  return out;
}

double Likeness(const RankKernels& a, const RankKernels& b) {
  size_t common = 0;
  for (const auto& [name, total] : a) common += b.contains(name) ? 1 : 0;
  const size_t all = a.size() + b.size() - common;
  return all == 0 ? 0 : static_cast<double>(common) / static_cast<double>(all);
}

double MedianOf(const std::vector<const RankKernels*>& peers, uint32_t name, double NameTotal::*field) {
  std::vector<double> values;
  for (const RankKernels* peer : peers) {
    const auto at = peer->find(name);
    values.push_back(at == peer->end() ? 0 : at->second.*field);
  }
  return Median(std::move(values));
}

double LaunchesOf(const RankKernels& rank) {
  double launches = 0;
  for (const auto& [name, total] : rank) launches += total.launches;
  return launches;
}

bool IsSameJob(const RankKernels& a, const RankKernels& b) {
  if (a.empty() && b.empty()) return true;
  const double ratio = LaunchesOf(a) / std::max(LaunchesOf(b), 1e-9);
  return Likeness(a, b) >= kAlikeNames && ratio <= kAlikeLaunches && ratio >= 1 / kAlikeLaunches;
}

// Share of the launches of a name whose shape the peer does not have as often.
double ShapeDistance(const NameTotal& own, const NameTotal& peer) {
  double distance = 0;
  for (const auto& [shape, launches] : own.shapes) {
    const auto at = peer.shapes.find(shape);
    const double others = at == peer.shapes.end() ? 0 : at->second / peer.launches * own.launches;
    distance += std::max(0.0, launches - others);
  }
  return own.launches > 0 ? distance / own.launches : 0;
}

// The excess of one name, in ns per instance.
struct NameExcess {
  uint32_t name = 0;
  double peer_ns = 0;
  double work_ns = 0;
  double work_ratio = 1;
  double speed_ratio = 1;
};

double WorkRatio(const NameTotal& own, const std::vector<const RankKernels*>& peers, uint32_t name) {
  const double launches = MedianOf(peers, name, &NameTotal::launches);
  if (launches <= 0) return 1;
  const double blocks = MedianOf(peers, name, &NameTotal::blocks);
  std::vector<double> distances;
  for (const RankKernels* peer : peers) {
    const auto at = peer->find(name);
    if (at != peer->end()) distances.push_back(ShapeDistance(own, at->second));
  }
  const bool shapes_differ = blocks > 0 && own.blocks > 0 && Median(std::move(distances)) > kShapesDiffer;
  return shapes_differ ? own.blocks / blocks : own.launches / launches;
}

NameExcess Compare(uint32_t name, const NameTotal& own, const std::vector<const RankKernels*>& peers) {
  NameExcess out;
  out.name = name;
  out.peer_ns = MedianOf(peers, name, &NameTotal::time_ns);
  if (out.peer_ns <= 0) {  // only this rank has it
    out.work_ns = own.time_ns;
    return out;
  }
  out.work_ratio = WorkRatio(own, peers, name);
  const double ratio = own.time_ns / out.peer_ns;
  // A kernel need not take longer in proportion to its grid: beyond what it takes, work explains nothing.
  if (out.work_ratio > 1 && ratio > 1) out.work_ratio = std::min(out.work_ratio, ratio);
  out.work_ns = (out.work_ratio - 1) * out.peer_ns;
  out.speed_ratio = ratio / out.work_ratio;
  return out;
}

// Speed ratio that the given share of the time is at most slower by.
double QuantileByTime(std::vector<NameExcess> names, double quantile) {
  std::sort(names.begin(), names.end(),
            [](const NameExcess& a, const NameExcess& b) { return a.speed_ratio < b.speed_ratio; });
  double total = 0;
  for (const NameExcess& n : names) total += n.peer_ns;
  double passed = 0;
  for (const NameExcess& n : names) {
    passed += n.peer_ns;
    if (passed >= quantile * total) return n.speed_ratio;
  }
  return 1;
}

void Summarise(std::vector<NameExcess> names, KernelExcess& out) {
  double total = 0;
  double positive_work = 0;
  for (const NameExcess& n : names) total += n.peer_ns;
  if (total <= 0) return;
  out.compared = true;
  double most_work = 0;
  for (const NameExcess& n : names) {
    out.work += n.work_ns / total;
    positive_work += std::max(0.0, n.work_ns);
    if (n.work_ns <= most_work) continue;
    most_work = n.work_ns;
    out.work_name = n.name;
    out.work_ratio = n.work_ratio;
  }
  out.work_share = positive_work > 0 ? most_work / positive_work : 0;

  std::erase_if(names, [](const NameExcess& n) { return n.peer_ns <= 0; });
  const auto excess = [](const NameExcess& n) { return (n.speed_ratio - 1) * n.peer_ns; };
  const auto top = std::max_element(names.begin(), names.end(),
                                    [&](const NameExcess& a, const NameExcess& b) { return excess(a) < excess(b); });
  std::vector<NameExcess> others(names.begin(), names.end());
  others.erase(others.begin() + (top - names.begin()));
  out.device_ratio = QuantileByTime(others.empty() ? names : others, kDeviceQuantile);
  out.device = out.device_ratio - 1;
  double most = 0;
  for (const NameExcess& n : names) {
    const double beyond = (n.speed_ratio - out.device_ratio) * n.peer_ns / total;
    if (n.speed_ratio < out.device_ratio + kStandsOut) continue;
    out.kernel += beyond;
    if (beyond <= most) continue;
    most = beyond;
    out.kernel_name = n.name;
    out.kernel_ratio = n.speed_ratio;
  }
}

KernelExcess CompareWith(const RankKernels& own, const std::vector<const RankKernels*>& peers) {
  KernelExcess out;
  if (own.empty() || peers.empty()) return out;
  std::vector<NameExcess> names;
  for (const auto& [name, total] : own) names.push_back(Compare(name, total, peers));
  Summarise(std::move(names), out);
  return out;
}

double LargestOf(const KernelExcess& excess) { return std::max({excess.work, excess.device, excess.kernel}); }

// Launches as often: stages of a pipeline hardly ever do.
bool IsSameStage(const RankKernels& a, const RankKernels& b) {
  const double ratio = LaunchesOf(a) / std::max(LaunchesOf(b), 1e-9);
  return Likeness(a, b) >= kAlikeNames && std::abs(ratio - 1) <= kSameLaunches;
}

}  // namespace

std::vector<int32_t> JobsOf(const RunData& run, const RankResolution& ranks) {
  std::vector<RankKernels> jobs;  // of the first rank of each
  std::vector<int32_t> out;
  const std::vector<double> instances = InstancesOf(run, ranks);
  for (size_t r = 0; r < ranks.ranks.size(); ++r) {
    RankKernels own = TotalsOf(run.sources[ranks.ranks[r].source], instances[r]);
    const auto at = std::find_if(jobs.begin(), jobs.end(), [&](const RankKernels& job) { return IsSameJob(own, job); });
    out.push_back(static_cast<int32_t>(at - jobs.begin()));
    if (at == jobs.end()) jobs.push_back(std::move(own));
  }
  return out;
}

KernelExcess CompareKernels(const RunData& run, const RankResolution& ranks, int32_t rank_index) {
  std::vector<RankKernels> all;
  const std::vector<double> instances = InstancesOf(run, ranks);
  for (size_t r = 0; r < ranks.ranks.size(); ++r) {
    all.push_back(TotalsOf(run.sources[ranks.ranks[r].source], instances[r]));
  }
  const RankKernels& own = all[static_cast<size_t>(rank_index)];
  std::vector<const RankKernels*> same;
  std::vector<const RankKernels*> alike;
  std::vector<const RankKernels*> others;
  for (const RankKernels& other : all) {
    if (&other == &own || other.empty()) continue;
    others.push_back(&other);
    if (Likeness(own, other) >= kAlikeNames) alike.push_back(&other);
    if (IsSameStage(own, other)) same.push_back(&other);
  }
  if (alike.empty()) alike = others;
  const KernelExcess close = CompareWith(own, same);
  // Where those of its stage are as it is, the stage as a whole may be slower than the others.
  return close.compared && LargestOf(close) >= kExcessInStage ? close : CompareWith(own, alike);
}

}  // namespace lockstep
