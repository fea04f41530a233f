#include "analysis/metrics/stragglers/test_units.h"

#include <algorithm>
#include <utility>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kBlockNs = 1'000'000'000;
constexpr int64_t kShortRunBlocks = 50;
constexpr int64_t kInstancesPerBlock = 4;
// Of a run in chapters, whose length is what its sources claim:
constexpr int64_t kLeastBlockNs = 1'000'000;
constexpr size_t kMostBlocks = size_t{1} << 20;

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

// Of the last arrivals of the usable instances, of which there are some.
struct LastArrivals {
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
};

LastArrivals LastArrivalsOf(const Chapter& chapter, const ArrivalGraph& graph) {
  LastArrivals out;
  for (const uint32_t index : graph.order) {
    const int64_t arrival = LastArrival(chapter.match.instances[index]);
    out.first_ns = std::min(out.first_ns, arrival);
    out.last_ns = std::max(out.last_ns, arrival);
  }
  return out;
}

struct StepStart {
  int64_t step = 0;
  int64_t start_ns = 0;
  friend auto operator<=>(const StepStart&, const StepStart&) = default;
};

// The first arrival in each step, ascending.
std::vector<StepStart> StepStarts(const Chapter& chapter, const ArrivalGraph& graph) {
  std::vector<StepStart> starts;
  for (const uint32_t index : graph.order) {
    const MatchedInstance& instance = chapter.match.instances[index];
    if (instance.step != kNoStep && chapter.Owns(instance)) starts.push_back({instance.step, FirstArrival(instance)});
  }
  std::sort(starts.begin(), starts.end());
  const auto same = [](const StepStart& a, const StepStart& b) { return a.step == b.step; };
  starts.erase(std::unique(starts.begin(), starts.end(), same), starts.end());
  return starts;
}

// Instances of the busiest communicator: what a block must hold some of.
int64_t BusiestCommunicator(const Chapter& chapter, const ArrivalGraph& graph) {
  std::vector<int64_t> counts(chapter.match.communicators.size());
  for (const uint32_t index : graph.order) ++counts[chapter.match.instances[index].communicator];
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

int64_t BlockLengthNs(int64_t span_ns, int64_t blocks) {
  return std::max<int64_t>(1, std::min(kBlockNs, span_ns / blocks));
}

// Of a run that is this chapter.
TestUnits BlocksOf(const Chapter& chapter, const ArrivalGraph& graph) {
  TestUnits units;
  const LastArrivals arrivals = LastArrivalsOf(chapter, graph);
  units.origin_ns = arrivals.first_ns;
  const int64_t span = arrivals.last_ns - units.origin_ns;
  const int64_t blocks = std::min(kShortRunBlocks, BusiestCommunicator(chapter, graph) / kInstancesPerBlock);
  if (blocks < 2 || span <= 0) return units;
  units.unit_ns = BlockLengthNs(span, blocks);
  units.count = static_cast<size_t>(span / units.unit_ns);
  return units;
}

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

void UnitNumbers::Open(const Chapter& chapter, const ArrivalGraph& graph) {
  met_step_ = kNoStep;
  if (graph.order.empty()) return;
  if (kind_ == Kind::kUndecided) Decide(chapter, graph);
  if (kind_ == Kind::kSteps) {
    AddSteps(chapter, graph);
  } else {
    const LastArrivals arrivals = LastArrivalsOf(chapter, graph);
    first_ns_ = std::min(first_ns_, arrivals.first_ns);
    last_ns_ = std::max(last_ns_, arrivals.last_ns);
  }
}

void UnitNumbers::Decide(const Chapter& chapter, const ArrivalGraph& graph) {
  if (StepStarts(chapter, graph).size() >= 2) {
    kind_ = Kind::kSteps;
    return;
  }
  kind_ = Kind::kBlocks;
  if (span_ns_ <= 0) {
    blocks_ = BlocksOf(chapter, graph);
    return;
  }
  blocks_.origin_ns = start_ns_;  // other chapters may begin before this one
  blocks_.unit_ns = std::max(kLeastBlockNs, BlockLengthNs(span_ns_, kShortRunBlocks));
  blocks_.count = kMostBlocks;  // until the end is known
}

void UnitNumbers::AddSteps(const Chapter& chapter, const ArrivalGraph& graph) {
  for (const StepStart& start : StepStarts(chapter, graph)) {
    const auto [at, added] = steps_.try_emplace(start.step, Step{steps_.size(), start.start_ns});
    at->second.start_ns = std::min(at->second.start_ns, start.start_ns);
  }
}

int64_t UnitNumbers::NumberOf(const MatchedInstance& instance) {
  if (kind_ != Kind::kSteps) return blocks_.UnitOf(instance);
  if (instance.step == kNoStep) return -1;
  if (instance.step != met_step_) {
    const auto found = steps_.find(instance.step);
    met_step_ = instance.step;
    met_number_ = found == steps_.end() ? -1 : static_cast<int64_t>(found->second.number);
  }
  return met_number_;
}

// Of a run in chapters: from the block of the first arrival to that before the last one's.
UnitNumbers::Result UnitNumbers::FinishBlocks() const {
  Result out;
  TestUnits& units = out.units;
  units = blocks_;
  size_t before = 0;
  if (span_ns_ > 0 && units.unit_ns > 0) {
    const auto block_of = [&](int64_t at_ns) {
      return std::min(kMostBlocks, static_cast<size_t>(std::max<int64_t>(0, at_ns - units.origin_ns) / units.unit_ns));
    };
    before = first_ns_ <= last_ns_ ? block_of(first_ns_) : 0;
    units.count = std::max(before, block_of(last_ns_)) - before;
    units.origin_ns += static_cast<int64_t>(before) * units.unit_ns;
  }
  for (size_t unit = 0; unit < units.count; ++unit) {
    units.start_ns.push_back(units.origin_ns + static_cast<int64_t>(unit) * units.unit_ns);
    out.order.push_back(before + unit);
  }
  return out;
}

UnitNumbers::Result UnitNumbers::Finish() const {
  if (kind_ != Kind::kSteps) return FinishBlocks();
  Result out;
  TestUnits& units = out.units;
  units.are_steps = true;
  std::vector<int64_t> lengths;
  for (const auto& [step, it] : steps_) {
    if (!units.steps.empty()) {
      lengths.push_back((it.start_ns - units.start_ns.back()) / std::max<int64_t>(1, step - units.steps.back()));
    }
    units.steps.push_back(step);
    units.start_ns.push_back(it.start_ns);
    out.order.push_back(it.number);
  }
  units.unit_ns = UpperMedian(std::move(lengths));
  units.count = units.steps.size();
  return out;
}

}  // namespace lockstep
