#include "analysis/metrics/match/lanes/end_wander.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "analysis/metrics/match/lanes/lane_walker.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kBlock = 64;     // pairs over which a clock is a line
constexpr size_t kMinBlock = 16;  // fewer show nothing
constexpr size_t kMinAlike = 6;   // of one kind and duration, for a middle of their own
constexpr double kFarDeviations = 4;
constexpr double kIndependent = 2;
constexpr double kWandering = 1.7;            // and less
constexpr double kClear = 1.5;                // what must have shown for sure
constexpr double kFalseWanderChance = 0.003;  // of calling any pool wandering that is not

using Distances = std::vector<EndDistance>;

// Kind, and octave of the duration.
std::pair<uint32_t, int> DistanceClassOf(const EndDistance& d) {
  return {d.kind, std::bit_width(static_cast<uint64_t>(std::max<int64_t>(0, d.shortest_ns)))};
}

int64_t MiddleOf(const Distances& distances, size_t first, size_t last) {
  std::vector<int64_t> values;
  values.reserve(last - first);
  for (size_t i = first; i < last; ++i) values.push_back(distances[i].distance_ns);
  return UpperMedian(std::move(values));
}

// Takes off the line through the middles of the first and the last third.
void TakeOffLine(Distances& block) {
  const size_t third = block.size() / 3;
  const int64_t early = MiddleOf(block, 0, third);
  const int64_t late = MiddleOf(block, block.size() - third, block.size());
  const int64_t from = block[third / 2].t_ns;
  const int64_t to = block[block.size() - 1 - third / 2].t_ns;
  const double rate = to > from ? static_cast<double>(late - early) / static_cast<double>(to - from) : 0;
  for (EndDistance& d : block) d.distance_ns -= early + std::llround(rate * static_cast<double>(d.t_ns - from));
}

// Takes off the middle of each class; rows of classes that are too rare to have one are left out.
void TakeOffMiddles(Distances& block) {
  std::map<std::pair<uint32_t, int>, std::vector<int64_t>> by_class;
  for (const EndDistance& d : block) by_class[DistanceClassOf(d)].push_back(d.distance_ns);
  std::erase_if(block, [&](const EndDistance& d) { return by_class.at(DistanceClassOf(d)).size() < kMinAlike; });
  std::map<std::pair<uint32_t, int>, int64_t> middle;
  for (auto& [cls, values] : by_class) middle[cls] = UpperMedian(std::move(values));
  for (EndDistance& d : block) d.distance_ns -= middle.at(DistanceClassOf(d));
}

// Without their mean; those that lie far out count as no farther than a few deviations.
std::vector<double> Centred(const Distances& block) {
  std::vector<int64_t> sizes;
  sizes.reserve(block.size());
  for (const EndDistance& d : block) sizes.push_back(std::abs(d.distance_ns));
  const double limit = kFarDeviations * static_cast<double>(UpperMedian(std::move(sizes))) + 1;
  std::vector<double> out;
  out.reserve(block.size());
  double sum = 0;
  for (const EndDistance& d : block) {
    out.push_back(std::clamp(static_cast<double>(d.distance_ns), -limit, limit));
    sum += out.back();
  }
  for (double& x : out) x -= sum / static_cast<double>(out.size());
  return out;
}

EndWander OfBlock(Distances block) {
  // Where clocks drift fast, the middle of a third hangs on the few rows beside it, and that of a class on when its
  // rows were: the line is taken off before the middles, and what is left of it after them.
  TakeOffLine(block);
  TakeOffMiddles(block);
  if (block.size() < kMinBlock) return {};
  TakeOffLine(block);
  const std::vector<double> x = Centred(block);
  double squares = 0;
  double changes = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    squares += x[i] * x[i];
    if (i > 0) changes += (x[i] - x[i - 1]) * (x[i] - x[i - 1]);
  }
  if (squares <= 0) return {};
  return {changes / squares, static_cast<int64_t>(x.size())};
}

std::vector<Distances> CutAtJumps(const Distances& distances) {
  std::vector<Distances> out(1);
  for (const EndDistance& d : distances) {
    if (MovesUnevenly(static_cast<CollectiveOp>(d.kind / 256))) continue;
    const bool jump = !out.back().empty() && std::abs(d.distance_ns - out.back().back().distance_ns) > kOtherShiftNs;
    if (jump) out.emplace_back();
    out.back().push_back(d);
  }
  return out;
}

}  // namespace

EndWander MeasureEndWander(const std::vector<EndDistance>& distances) {
  EndWander out;
  for (const Distances& part : CutAtJumps(distances)) {
    const size_t blocks = std::max<size_t>(1, (part.size() + kBlock / 2) / kBlock);
    for (size_t b = 0; b < blocks && part.size() >= kMinBlock; ++b) {
      const auto at = [&](size_t n) { return part.begin() + static_cast<std::ptrdiff_t>(part.size() * n / blocks); };
      const EndWander block = OfBlock(Distances(at(b), at(b + 1)));
      out.ratio += block.ratio * static_cast<double>(block.pairs);
      out.pairs += block.pairs;
    }
  }
  if (out.pairs > 0) out.ratio /= static_cast<double>(out.pairs);
  return out;
}

void WanderPool::Add(size_t lane_a, size_t lane_b, const EndWander& wander) {
  if (wander.pairs == 0) return;
  lanes_a_.insert(lane_a);
  lanes_b_.insert(lane_b);
  weighted_ += wander.ratio * static_cast<double>(wander.pairs);
  pairs_ += wander.pairs;
  ++comparisons_;
}

// The standard error of one comparison's ratio is 2 / sqrt(pairs); comparisons that share a lane are not independent.
Wandering WanderPool::Verdict(size_t pools) const {
  if (pairs_ == 0) return Wandering::kUntold;
  const double ratio = weighted_ / static_cast<double>(pairs_);
  const auto lanes = static_cast<double>(std::min(lanes_a_.size(), lanes_b_.size()));
  const double effective = lanes * static_cast<double>(pairs_) / static_cast<double>(comparisons_);
  const double sure =
      std::sqrt(2 * std::log(static_cast<double>(pools) / kFalseWanderChance)) * 2 / std::sqrt(effective);
  if (ratio < kWandering) return kIndependent - ratio > sure ? Wandering::kApart : Wandering::kUntold;
  return kIndependent - kClear > sure ? Wandering::kNone : Wandering::kUntold;
}

}  // namespace lockstep
