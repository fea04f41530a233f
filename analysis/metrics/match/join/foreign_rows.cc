#include "analysis/metrics/match/join/foreign_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"
#include "analysis/metrics/match/join/timed_join.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kCommon = 12;               // instances of a kind that tell how its ends lie
constexpr size_t kCommonPart = 10;           // ... and of all instances, to be the measure of the others
constexpr double kFarTimes = 2.5;            // the measure ...
constexpr double kFarChance = 2;             // ... and what few instances show by chance, times 1 / sqrt(instances)
constexpr size_t kMixedPart = 3;             // of a kind: as many far ones, and it holds instances of both sorts
constexpr int64_t kCloserThanNeighbour = 4;  // times
constexpr int64_t kSpreadFloorNs = 300;      // of ends that usually lie kEndScaleNs apart

// How an instance of at least two rows looks.
struct InstanceShape {
  int64_t shortest_ns = 0;  // duration of its shortest row
  int64_t gap_ns = 0;       // from that rank's row before to that row's start
  int64_t spread_ns = 0;    // of its ends, what the ranks always differ by taken out
  int64_t jitter_ns = 0;    // the same, what they differ by in instances of its kind taken out
  bool uneven = false;      // its ends lie where its data puts them: nothing follows from the spread
};

using Kind = std::pair<int, int>;

int Octave(int64_t ns) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(0, ns)))); }

Kind ShapeKindOf(const InstanceShape& shape) { return {Octave(shape.shortest_ns), Octave(shape.gap_ns)}; }

// What is usual among the instances of one kind.
struct KindUsual {
  size_t instances = 0;
  int64_t shortest_ns = 0;
  int64_t gap_ns = 0;
  int64_t spread_ns = 0;
  int64_t jitter_ns = 0;
};

using Shapes = std::vector<const InstanceShape*>;

KindUsual UsualOf(const Shapes& shapes) {
  const auto middle = [&](int64_t InstanceShape::*value) {
    std::vector<int64_t> values;
    values.reserve(shapes.size());
    for (const InstanceShape* shape : shapes) values.push_back(shape->*value);
    return UpperMedian(std::move(values));
  };
  return {shapes.size(), middle(&InstanceShape::shortest_ns), middle(&InstanceShape::gap_ns),
          middle(&InstanceShape::spread_ns), middle(&InstanceShape::jitter_ns)};
}

// How far apart ends may lie by what the common kinds show, the closest of them. What the course of a transfer adds
// grows with its length. What is left without that, the jitter of the kernels' ends, is no less in a short one than in
// a long one: but that says something only of lengths that are common, not of a few short rows between long ones.
class Measure {
 public:
  explicit Measure(const std::map<Kind, Shapes>& by_kind) {
    for (const auto& [kind, shapes] : by_kind) {
      for (const InstanceShape* shape : shapes) lengths_.push_back(shape->shortest_ns);
    }
  }

  void Take(const KindUsual& usual) {
    if (usual.instances * kCommonPart >= lengths_.size()) common_.push_back(usual);
  }
  [[nodiscard]] bool empty() const { return common_.empty(); }
  // How far apart the ends of an instance lie by their jitter alone, whatever its length.
  [[nodiscard]] double Jitter() const {
    int64_t least = INT64_MAX;
    for (const KindUsual& usual : common_) least = std::min(least, usual.jitter_ns);
    return static_cast<double>(std::max(kSpreadFloorNs, least));
  }

  // Whether many instances are about as long.
  [[nodiscard]] bool IsCommonLength(int64_t shortest_ns) const {
    size_t about = 0;
    for (const int64_t length : lengths_) about += length >= shortest_ns / 2 && length <= 2 * shortest_ns ? 1 : 0;
    return about * kCommonPart >= lengths_.size();
  }

  [[nodiscard]] double Of(int64_t shortest_ns, bool common_length) const {
    const auto scale = static_cast<double>(EndScaleOf(shortest_ns));
    double least = std::numeric_limits<double>::max();
    for (const KindUsual& usual : common_) {
      const double part = scale / static_cast<double>(EndScaleOf(usual.shortest_ns));
      const auto spread = static_cast<double>(usual.spread_ns);
      const bool shorter = part < 1 && common_length;
      const double with_jitter = std::min(spread, static_cast<double>(usual.jitter_ns) + part * spread);
      least = std::min(least, shorter ? with_jitter : part * spread);
    }
    return std::max(static_cast<double>(kSpreadFloorNs) * scale / static_cast<double>(kEndScaleNs), least);
  }

 private:
  std::vector<int64_t> lengths_;  // of all instances
  std::vector<KindUsual> common_;
};

// The shapes of one kind against the measure.
class KindVerdict {
 public:
  KindVerdict(const Measure& measure, const KindUsual& usual)
      : measure_(measure), usual_(usual), common_length_(measure.IsCommonLength(usual_.shortest_ns)) {}

  [[nodiscard]] bool IsRare() const { return usual_.instances < kCommon; }
  [[nodiscard]] bool LiesFar(const InstanceShape& shape) const {
    const double most = kFarTimes * measure_.Of(shape.shortest_ns, common_length_);
    return static_cast<double>(shape.spread_ns) > most && !IsSteady(shape.gap_ns, shape.spread_ns, shape.jitter_ns);
  }
  // As a whole, and more than by chance.
  [[nodiscard]] bool IsFar() const {
    const double chance = 1 + kFarChance / std::sqrt(static_cast<double>(usual_.instances));
    const double most = kFarTimes * chance * measure_.Of(usual_.shortest_ns, common_length_);
    const bool far = static_cast<double>(usual_.spread_ns) > most;
    return !IsRare() && far && !IsSteady(usual_.gap_ns, usual_.spread_ns, usual_.jitter_ns);
  }
  [[nodiscard]] bool IsMixed(const Shapes& shapes) const {
    const auto beyond = std::count_if(shapes.begin(), shapes.end(), [&](const auto* s) { return LiesFar(*s); });
    return static_cast<size_t>(beyond) * kMixedPart > shapes.size();
  }

 private:
  // Its ends lie as they always do in its kind, by the jitter of any kind, and no neighbour is as close. The members of
  // a ring end a long transfer one after the other, and the short operation after it at once.
  [[nodiscard]] bool IsSteady(int64_t gap_ns, int64_t spread_ns, int64_t jitter_ns) const {
    const int64_t to_neighbour_ns = gap_ns + usual_.shortest_ns;
    return !IsRare() && static_cast<double>(jitter_ns) <= kFarTimes * measure_.Jitter() &&
           spread_ns * kCloserThanNeighbour <= to_neighbour_ns;
  }

  const Measure& measure_;
  KindUsual usual_;
  bool common_length_;
};

// Per instance.
std::vector<bool> FindForeign(const std::vector<InstanceShape>& instances) {
  std::map<Kind, Shapes> by_kind;
  for (const InstanceShape& shape : instances) {
    if (!shape.uneven) by_kind[ShapeKindOf(shape)].push_back(&shape);
  }
  Measure measure(by_kind);
  std::map<Kind, KindUsual> usual;
  for (const auto& [kind, shapes] : by_kind) {
    const KindUsual& of_kind = usual.emplace(kind, UsualOf(shapes)).first->second;
    if (shapes.size() >= kCommon) measure.Take(of_kind);
  }
  std::vector<bool> out(instances.size(), false);
  if (measure.empty()) return out;
  std::map<Kind, KindVerdict> verdicts;
  for (const auto& [kind, of_kind] : usual) verdicts.emplace(kind, KindVerdict(measure, of_kind));
  if (std::none_of(verdicts.begin(), verdicts.end(), [](const auto& v) { return v.second.IsFar(); })) return out;
  std::set<Kind> doubtful;
  for (const auto& [kind, verdict] : verdicts) {
    if (verdict.IsRare() || verdict.IsFar() || verdict.IsMixed(by_kind[kind])) doubtful.insert(kind);
  }
  for (size_t i = 0; i < instances.size(); ++i) {
    if (instances[i].uneven) continue;
    const Kind kind = ShapeKindOf(instances[i]);
    out[i] = doubtful.count(kind) > 0 || verdicts.at(kind).LiesFar(instances[i]);
  }
  return out;
}

// How far the aligned end of every member lies from the middle of its instance.
class EndDistances {
 public:
  EndDistances(const JoinInput& input, const std::vector<JoinedInstance*>& instances) {
    first_.reserve(instances.size() + 1);
    std::vector<int64_t> ends;
    for (const JoinedInstance* j : instances) {
      first_.push_back(members_.size());
      ends.clear();
      for (const MatchedMember& m : j->instance.members) {
        ends.push_back(m.end_ns - input.clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns);
      }
      const size_t from = members_.size();
      for (size_t i = 0; i < ends.size(); ++i)
        members_.push_back({RefOf(input, j->instance.members[i]).member, ends[i]});
      const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
      std::nth_element(ends.begin(), middle, ends.end());
      for (size_t i = from; i < members_.size(); ++i) members_[i].distance_ns -= *middle;
    }
    first_.push_back(members_.size());
  }

  struct OfMember {
    size_t member = 0;  // position in CommunicatorPlan::ranks
    int64_t distance_ns = 0;
  };
  [[nodiscard]] std::span<const OfMember> Of(size_t instance) const {
    return std::span(members_).subspan(first_[instance], first_[instance + 1] - first_[instance]);
  }

 private:
  std::vector<size_t> first_;  // per instance, and the end
  std::vector<OfMember> members_;
};

// What the ranks' ends usually differ by.
class Centres {
 public:
  explicit Centres(size_t members) : distances_(members), centre_(members, 0) {}

  void Add(std::span<const EndDistances::OfMember> instance) {
    for (const EndDistances::OfMember& m : instance) distances_[m.member].push_back(m.distance_ns);
  }
  void Settle() {
    for (size_t m = 0; m < centre_.size(); ++m) centre_[m] = UpperMedian(std::move(distances_[m]));
  }

  // Of the ends of one of the instances.
  [[nodiscard]] int64_t SpreadOf(std::span<const EndDistances::OfMember> instance) const {
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (const EndDistances::OfMember& m : instance) {
      const int64_t end = m.distance_ns - centre_[m.member];
      first = std::min(first, end);
      last = std::max(last, end);
    }
    return last - first;
  }

 private:
  std::vector<std::vector<int64_t>> distances_;  // per member
  std::vector<int64_t> centre_;
};

int64_t GapBefore(const JoinInput& input, const MatchedMember& m) {
  const RowRef ref = RefOf(input, m);
  const std::vector<uint32_t>& rows = input.plan.rows[ref.member];
  const auto at = std::lower_bound(rows.begin(), rows.end(), ref.row);
  return at == rows.begin() ? 0 : m.start_ns - RowAt(input, {ref.member, *std::prev(at)}).end_ns;
}

// Without what is said of the ends.
InstanceShape OutlineOf(const JoinInput& input, const MatchedInstance& instance) {
  InstanceShape shape{.shortest_ns = INT64_MAX};
  const MatchedMember* shortest = nullptr;
  for (const MatchedMember& m : instance.members) {
    const RankRows& rows = input.rows[static_cast<size_t>(m.rank_index)];
    shape.uneven = shape.uneven || !EndsTogether(rows.rows[static_cast<size_t>(m.row)].op, instance.members.size());
    if (m.end_ns - m.start_ns >= shape.shortest_ns) continue;
    shape.shortest_ns = m.end_ns - m.start_ns;
    shortest = &m;
  }
  if (shortest != nullptr) shape.gap_ns = GapBefore(input, *shortest);
  return shape;
}

std::vector<InstanceShape> ShapesOf(const JoinInput& input, const std::vector<JoinedInstance*>& instances) {
  std::vector<InstanceShape> out;
  out.reserve(instances.size());
  const EndDistances distances(input, instances);
  const size_t members = input.plan.ranks.size();
  Centres all(members);
  std::map<Kind, Centres> by_kind;
  std::vector<const Centres*> of_kind;
  of_kind.reserve(instances.size());
  for (size_t i = 0; i < instances.size(); ++i) {
    out.push_back(OutlineOf(input, instances[i]->instance));
    all.Add(distances.Of(i));
    Centres& kind = by_kind.try_emplace(ShapeKindOf(out.back()), members).first->second;
    kind.Add(distances.Of(i));
    of_kind.push_back(&kind);
  }
  all.Settle();
  for (auto& [kind, centres] : by_kind) centres.Settle();
  for (size_t i = 0; i < instances.size(); ++i) {
    out[i].spread_ns = all.SpreadOf(distances.Of(i));
    out[i].jitter_ns = of_kind[i]->SpreadOf(distances.Of(i));
  }
  return out;
}

}  // namespace

void MarkForeign(const JoinInput& input, CommunicatorJoin& join) {
  std::vector<JoinedInstance*> matched;
  for (JoinedInstance& j : join.instances) {
    if (j.instance.matched()) matched.push_back(&j);
  }
  const std::vector<bool> foreign = FindForeign(ShapesOf(input, matched));
  for (size_t i = 0; i < matched.size(); ++i) {
    if (!foreign[i]) continue;
    MatchedInstance& instance = matched[i]->instance;
    instance.kind = MatchKind::kAmbiguous;
    instance.confidence = std::min(instance.confidence, kAmbiguousConfidence);
  }
}

}  // namespace lockstep
