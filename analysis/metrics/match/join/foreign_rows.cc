#include "analysis/metrics/match/join/foreign_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kCommon = 12;      // instances of a kind that tell how its ends lie
constexpr size_t kCommonPart = 10;  // ... and of all instances, to be the measure of the others
constexpr double kFarTimes = 2.5;   // the measure ...
constexpr double kChance = 2;       // ... and what few instances show by chance, times 1 / sqrt(instances)
constexpr size_t kMixedPart = 3;    // of a kind: as many far ones, and it holds instances of both sorts
constexpr int64_t kFloorNs = 300;
constexpr int64_t kScaleNs = 3'000;  // ends of long collectives lie apart by a part of their length
constexpr int64_t kScalePart = 20;

// How an instance of at least two rows looks.
struct InstanceShape {
  int64_t shortest_ns = 0;  // duration of its shortest row
  int64_t gap_ns = 0;       // from that rank's row before to that row's start
  int64_t spread_ns = 0;    // of its ends, what the ranks always differ by taken out
  bool uneven = false;      // its ends lie where its data puts them: nothing follows from the spread
};

using Kind = std::pair<int, int>;

int Octave(int64_t ns) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(0, ns)))); }

Kind KindOf(const InstanceShape& shape) { return {Octave(shape.shortest_ns), Octave(shape.gap_ns)}; }

// In units of what is usual for its length; ns for short ones.
int64_t Scaled(const InstanceShape& shape) {
  const int64_t scale = std::max(kScaleNs, shape.shortest_ns / kScalePart);
  return shape.spread_ns / scale * kScaleNs + shape.spread_ns % scale * kScaleNs / scale;
}

// Per instance.
std::vector<bool> FindForeign(const std::vector<InstanceShape>& instances) {
  std::map<Kind, std::vector<int64_t>> spreads;
  size_t even = 0;
  for (const InstanceShape& shape : instances) {
    if (shape.uneven) continue;
    spreads[KindOf(shape)].push_back(Scaled(shape));
    ++even;
  }
  std::map<Kind, int64_t> usual;
  std::optional<int64_t> measure;
  for (const auto& [kind, of_kind] : spreads) {
    if (of_kind.size() < kCommon) continue;
    usual[kind] = UpperMedian(of_kind);
    if (of_kind.size() * kCommonPart >= even) measure = std::min(measure.value_or(INT64_MAX), usual[kind]);
  }
  std::vector<bool> out(instances.size(), false);
  if (!measure) return out;
  std::set<Kind> far;
  for (const auto& [kind, spread] : usual) {
    const double chance = 1 + kChance / std::sqrt(static_cast<double>(spreads[kind].size()));
    const auto most = kFarTimes * chance * static_cast<double>(std::max(kFloorNs, *measure));
    if (static_cast<double>(spread) > most) far.insert(kind);
  }
  if (far.empty()) return out;
  const auto limit = static_cast<int64_t>(kFarTimes * static_cast<double>(std::max(kFloorNs, *measure)));
  for (const auto& [kind, of_kind] : spreads) {
    const auto beyond = std::count_if(of_kind.begin(), of_kind.end(), [&](int64_t s) { return s > limit; });
    if (static_cast<size_t>(beyond) * kMixedPart > of_kind.size()) far.insert(kind);
  }
  for (size_t i = 0; i < instances.size(); ++i) {
    const Kind kind = KindOf(instances[i]);
    const bool doubtful = far.count(kind) > 0 || usual.count(kind) == 0 || Scaled(instances[i]) > limit;
    out[i] = !instances[i].uneven && doubtful;
  }
  return out;
}

class Shapes {
 public:
  Shapes(const JoinInput& input, const std::vector<JoinedInstance*>& instances) : input_(input) {
    std::map<int32_t, std::vector<int64_t>> distances;
    for (const JoinedInstance* j : instances) {
      std::vector<int64_t> ends;
      for (const MatchedMember& m : j->instance.members) ends.push_back(EndOf(m));
      const int64_t middle = UpperMedian(std::move(ends));
      for (const MatchedMember& m : j->instance.members) distances[m.rank_index].push_back(EndOf(m) - middle);
    }
    for (auto& [rank, of_rank] : distances) centre_[rank] = UpperMedian(std::move(of_rank));
  }

  [[nodiscard]] InstanceShape Of(const MatchedInstance& instance) const {
    InstanceShape shape{.shortest_ns = INT64_MAX};
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (const MatchedMember& m : instance.members) {
      const int64_t end = EndOf(m) - centre_.at(m.rank_index);
      first = std::min(first, end);
      last = std::max(last, end);
      shape.uneven = shape.uneven || MovesUnevenly(RowAt(input_, RefOf(input_, m)).op);
      if (m.end_ns - m.start_ns >= shape.shortest_ns) continue;
      shape.shortest_ns = m.end_ns - m.start_ns;
      shape.gap_ns = GapBefore(m);
    }
    shape.spread_ns = last - first;
    return shape;
  }

 private:
  [[nodiscard]] int64_t EndOf(const MatchedMember& m) const {
    return m.end_ns - input_.clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns;
  }

  [[nodiscard]] int64_t GapBefore(const MatchedMember& m) const {
    const RowRef ref = RefOf(input_, m);
    const std::vector<uint32_t>& rows = input_.plan.rows[ref.member];
    const auto at = std::lower_bound(rows.begin(), rows.end(), ref.row);
    return at == rows.begin() ? 0 : m.start_ns - RowAt(input_, {ref.member, *std::prev(at)}).end_ns;
  }

  const JoinInput& input_;
  std::map<int32_t, int64_t> centre_;  // by rank index
};

}  // namespace

void MarkForeign(const JoinInput& input, CommunicatorJoin& join) {
  std::vector<JoinedInstance*> matched;
  for (JoinedInstance& j : join.instances) {
    if (j.instance.matched()) matched.push_back(&j);
  }
  const Shapes shapes(input, matched);
  std::vector<InstanceShape> of_matched;
  for (const JoinedInstance* j : matched) of_matched.push_back(shapes.Of(j->instance));
  const std::vector<bool> foreign = FindForeign(of_matched);
  for (size_t i = 0; i < matched.size(); ++i) {
    if (!foreign[i]) continue;
    MatchedInstance& instance = matched[i]->instance;
    instance.kind = MatchKind::kAmbiguous;
    instance.confidence = std::min(instance.confidence, kAmbiguousConfidence);
  }
}

}  // namespace lockstep
