#include "analysis/metrics/stragglers/own_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kBlockNs = 1'000'000'000;
constexpr int64_t kShortRunBlocks = 50;
constexpr int64_t kInstancesPerBlock = 4;

int64_t FirstArrival(const MatchedInstance& instance) {
  int64_t first = INT64_MAX;
  for (const MatchedMember& member : instance.members) first = std::min(first, member.start_ns);
  return first;
}

int64_t LastArrival(const MatchedInstance& instance) {
  int64_t last = INT64_MIN;
  for (const MatchedMember& member : instance.members) last = std::max(last, member.start_ns);
  return last;
}

struct StepStart {
  int64_t step = 0;
  int64_t start_ns = 0;
  friend auto operator<=>(const StepStart&, const StepStart&) = default;
};

// The first arrival in each step.
std::vector<StepStart> StepStarts(const ArrivalGraph& graph, const MatchResult& match) {
  std::vector<StepStart> starts;
  for (const uint32_t index : graph.order) {
    const MatchedInstance& instance = match.instances[index];
    if (instance.step != kNoStep) starts.push_back({instance.step, FirstArrival(instance)});
  }
  std::sort(starts.begin(), starts.end());
  const auto same = [](const StepStart& a, const StepStart& b) { return a.step == b.step; };
  starts.erase(std::unique(starts.begin(), starts.end(), same), starts.end());
  return starts;
}

int64_t TypicalLength(const std::vector<StepStart>& starts) {
  std::vector<int64_t> lengths;
  for (size_t i = 1; i < starts.size(); ++i) {
    const int64_t steps = starts[i].step - starts[i - 1].step;
    lengths.push_back((starts[i].start_ns - starts[i - 1].start_ns) / std::max<int64_t>(1, steps));
  }
  return UpperMedian(std::move(lengths));
}

// Instances of the busiest communicator: what a block must hold some of.
int64_t BusiestCommunicator(const ArrivalGraph& graph, const MatchResult& match) {
  std::vector<int64_t> counts(match.communicators.size());
  for (const uint32_t index : graph.order) ++counts[match.instances[index].communicator];
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

TestUnits BlocksOf(const ArrivalGraph& graph, const MatchResult& match) {
  TestUnits units;
  if (graph.order.empty()) return units;
  units.origin_ns = LastArrival(match.instances[graph.order.front()]);
  const int64_t span = LastArrival(match.instances[graph.order.back()]) - units.origin_ns;
  const int64_t blocks = std::min(kShortRunBlocks, BusiestCommunicator(graph, match) / kInstancesPerBlock);
  if (blocks < 2 || span <= 0) return units;
  units.unit_ns = std::max<int64_t>(1, std::min(kBlockNs, span / blocks));
  units.count = static_cast<size_t>(span / units.unit_ns);
  for (size_t unit = 0; unit < units.count; ++unit) {
    units.start_ns.push_back(units.origin_ns + static_cast<int64_t>(unit) * units.unit_ns);
  }
  return units;
}

// Which communicator's segments tell a rank's own time best: that of most usable instances, those in which everybody
// waits for everybody first.
std::vector<int32_t> BusiestOfRanks(const ArrivalGraph& graph, const MatchResult& match) {
  std::vector<std::vector<int64_t>> weights(graph.ranks.size());
  constexpr int64_t kAllPairsFirst = int64_t{1} << 40;
  for (const uint32_t index : graph.order) {
    const MatchedInstance& instance = match.instances[index];
    for (const MatchedMember& member : instance.members) {
      std::vector<int64_t>& weight = weights[static_cast<size_t>(member.rank_index)];
      if (weight.size() <= instance.communicator) weight.resize(instance.communicator + 1);
      ++weight[instance.communicator];
      if (instance.all_pairs) weight[instance.communicator] |= kAllPairsFirst;
    }
  }
  std::vector<int32_t> busiest(graph.ranks.size(), -1);
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    if (weights[rank].empty()) continue;
    busiest[rank] =
        static_cast<int32_t>(std::max_element(weights[rank].begin(), weights[rank].end()) - weights[rank].begin());
  }
  return busiest;
}

OwnParts PartsOf(const Segment& segment) {
  OwnParts parts{};
  const auto set = [&](LatenessPart part, int64_t ns) { parts[static_cast<size_t>(part)] = static_cast<double>(ns); };
  set(LatenessPart::kCompute, segment.compute_ns);
  set(LatenessPart::kCopy, segment.copy_ns);
  set(LatenessPart::kHost, segment.host_ns);
  set(LatenessPart::kLaunch, segment.launch_ns);
  set(LatenessPart::kDependency, segment.dependency_ns);
  set(LatenessPart::kRest, segment.rest_ns);
  return parts;
}

double SumOf(const OwnParts& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

class OwnTimeMeter {
 public:
  OwnTimeMeter(const ArrivalGraph& graph, const MatchResult& match, const TestUnits& units)
      : graph_(graph), match_(match), units_(units), ranks_(graph.ranks.size()), counts_(graph.ranks.size()) {
    const std::vector<int32_t> busiest = BusiestOfRanks(graph, match);
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].communicator = busiest[rank];
      ranks_[rank].own_ns.assign(units.count, 0);
      ranks_[rank].excess_ns.assign(units.count, 0);
      counts_[rank].assign(units.count, 0);
    }
  }

  std::vector<RankOwnTime> Measure() {
    for (const uint32_t index : graph_.order) {
      const int64_t unit = units_.UnitOf(match_.instances[index]);
      if (unit >= 0) AddInstance(match_.instances[index], static_cast<size_t>(unit));
    }
    const std::map<int32_t, Usual> usual = UsualOfCommunicators();
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].communicator >= 0) Finish(ranks_[rank], counts_[rank], usual.at(ranks_[rank].communicator));
    }
    return std::move(ranks_);
  }

 private:
  struct Own {
    size_t rank = 0;
    OwnParts parts{};
    double sum = 0;
  };

  [[nodiscard]] const ArrivalNode* NodeOf(const MatchedMember& member) const {
    const auto& rows = graph_.ranks[static_cast<size_t>(member.rank_index)];
    if (member.row < 0 || static_cast<size_t>(member.row) >= rows.size()) return nullptr;
    const ArrivalNode& node = rows[static_cast<size_t>(member.row)];
    return node.segment.begin_ns == kNoTime || node.previous < 0 ? nullptr : &node;
  }

  [[nodiscard]] int64_t PreviousInstance(const MatchedMember& member, const ArrivalNode& node) const {
    return graph_.ranks[static_cast<size_t>(member.rank_index)][static_cast<size_t>(node.previous)].instance;
  }

  // The previous instance of most members: who lost that one has a longer segment and cannot be compared here.
  [[nodiscard]] int64_t CommonPrevious(const MatchedInstance& instance) const {
    int64_t candidate = -1;
    int64_t votes = 0;
    for (const MatchedMember& member : instance.members) {
      const ArrivalNode* node = NodeOf(member);
      if (node == nullptr) continue;
      const int64_t previous = PreviousInstance(member, *node);
      if (votes == 0) candidate = previous;
      votes += previous == candidate ? 1 : -1;
    }
    return candidate;
  }

  void AddInstance(const MatchedInstance& instance, size_t unit) {
    own_.clear();
    const int64_t previous = instance.all_pairs ? CommonPrevious(instance) : -1;
    for (const MatchedMember& member : instance.members) {
      const auto rank = static_cast<size_t>(member.rank_index);
      const ArrivalNode* node = NodeOf(member);
      if (node == nullptr || ranks_[rank].communicator != static_cast<int32_t>(instance.communicator)) continue;
      if (instance.all_pairs && (previous < 0 || PreviousInstance(member, *node) != previous)) continue;
      const OwnParts parts = PartsOf(node->segment);
      own_.push_back({rank, parts, SumOf(parts)});
    }
    AddOwn(unit);
    if (instance.all_pairs && own_.size() >= 2) AddExcess(unit);
  }

  void AddOwn(size_t unit) {
    for (const Own& own : own_) {
      RankOwnTime& rank = ranks_[own.rank];
      ++counts_[own.rank][unit];
      rank.own_ns[unit] += own.sum;
      for (size_t p = 0; p < kLatenessParts; ++p) rank.own_parts[p] += own.parts[p];
    }
  }

  void AddExcess(size_t unit) {
    OwnParts total{};
    for (const Own& own : own_) {
      for (size_t p = 0; p < kLatenessParts; ++p) total[p] += own.parts[p];
    }
    const double sum = SumOf(total);
    const auto others = static_cast<double>(own_.size() - 1);
    for (const Own& own : own_) {
      RankOwnTime& rank = ranks_[own.rank];
      rank.compared = true;
      rank.excess_ns[unit] += own.sum - (sum - own.sum) / others;
      for (size_t p = 0; p < kLatenessParts; ++p) {
        rank.excess_parts[p] += own.parts[p] - (total[p] - own.parts[p]) / others;
      }
    }
  }

  // Median of the counts that are not 0.
  static int64_t UsualOf(const std::vector<int64_t>& counts) {
    std::vector<int64_t> seen;
    std::copy_if(counts.begin(), counts.end(), std::back_inserter(seen), [](int64_t count) { return count > 0; });
    return UpperMedian(std::move(seen));
  }

  // How many instances a rank of the communicator has that lost none.
  struct Usual {
    int64_t count = 0;             // in most units
    std::vector<int64_t> in_unit;  // of steps
  };

  [[nodiscard]] std::map<int32_t, Usual> UsualOfCommunicators() const {
    std::map<int32_t, Usual> out;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      Usual& usual = out[ranks_[rank].communicator];
      usual.count = std::max(usual.count, UsualOf(counts_[rank]));
      usual.in_unit.resize(units_.count);
      for (size_t unit = 0; unit < units_.count; ++unit) {
        usual.in_unit[unit] = std::max(usual.in_unit[unit], counts_[rank][unit]);
      }
    }
    return out;
  }

  // Units of which less than half was seen tell nothing. Who lost some instances, or has one more or less in a block,
  // is told per instance.
  void Finish(RankOwnTime& rank, const std::vector<int64_t>& counts, const Usual& usual) const {
    const int64_t own_usual = UsualOf(counts);
    double seen = 0;
    double expected = 0;
    for (size_t unit = 0; unit < counts.size(); ++unit) {
      if (counts[unit] == 0 || 2 * counts[unit] < own_usual) {
        rank.own_ns[unit] = rank.excess_ns[unit] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      ++rank.units;
      const int64_t whole = units_.are_steps ? usual.in_unit[unit] : usual.count;
      rank.own_ns[unit] *= static_cast<double>(whole) / static_cast<double>(counts[unit]);
      seen += static_cast<double>(counts[unit]);
      expected += static_cast<double>(whole);
    }
    for (double& part : rank.own_parts) part *= seen > 0 ? expected / seen : 1;
  }

  const ArrivalGraph& graph_;
  const MatchResult& match_;
  const TestUnits& units_;
  std::vector<RankOwnTime> ranks_;
  std::vector<std::vector<int64_t>> counts_;  // [rank][unit] instances
  std::vector<Own> own_;                      // of the instance in hand
};

}  // namespace

int64_t TestUnits::UnitOf(const MatchedInstance& instance) const {
  if (are_steps) {
    const auto found = std::lower_bound(steps.begin(), steps.end(), instance.step);
    if (instance.step == kNoStep || found == steps.end() || *found != instance.step) return -1;
    return found - steps.begin();
  }
  if (unit_ns <= 0) return -1;
  const int64_t unit = (LastArrival(instance) - origin_ns) / unit_ns;
  return unit >= 0 && unit < static_cast<int64_t>(count) ? unit : -1;
}

TestUnits ChooseUnits(const ArrivalGraph& graph, const MatchResult& match) {
  const std::vector<StepStart> starts = StepStarts(graph, match);
  if (starts.size() < 2) return BlocksOf(graph, match);
  TestUnits units;
  units.are_steps = true;
  units.unit_ns = TypicalLength(starts);
  for (const StepStart& start : starts) {
    units.steps.push_back(start.step);
    units.start_ns.push_back(start.start_ns);
  }
  units.count = units.steps.size();
  return units;
}

std::vector<RankOwnTime> MeasureOwnTime(const ArrivalGraph& graph, const MatchResult& match, const TestUnits& units) {
  return OwnTimeMeter(graph, match, units).Measure();
}

}  // namespace lockstep
