#include "analysis/metrics/match/lanes/exchange_blocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/base/disjoint_sets.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kFewestMembers = 3;            // pairs are found by their links
constexpr int64_t kSlackNs = 100'000;           // how far clocks may be off before these rows align them,
constexpr int64_t kSlackOnOneClockNs = 15'000;  // and devices on one clock (certificate.h)
constexpr int64_t kTelling = 3;                 // steps that decide: fewer may hold damaged records
constexpr double kDamagedShare = 0.01;          // of the steps of a pair
constexpr size_t kMostCompared = 200'000'000;   // rows of all pairs: bounds the time

using RowsOfStep = std::vector<const BlockRow*>;

// Of every `one_in`-th step.
std::map<int64_t, RowsOfStep> ByStep(const BlockLane& lane, int64_t one_in) {
  std::map<int64_t, RowsOfStep> out;
  for (const BlockRow& row : lane.rows) {
    if (row.step % one_in == 0) out[row.step].push_back(&row);
  }
  return out;
}

int64_t UsualNs(const BlockLane& lane) {
  std::vector<int64_t> durations;
  for (const BlockRow& row : lane.rows) durations.push_back(row.end_ns - row.start_ns);
  const size_t quarter = durations.size() / 4;
  return durations.empty() ? 0 : OrderStatistic(std::move(durations), quarter);
}

enum class Relation : uint8_t { kOpen = 0, kTogether, kApart, kUnknown };

class Comparison {
 public:
  explicit Comparison(const std::vector<BlockLane>& lanes) {
    size_t rows = 0;
    for (const BlockLane& lane : lanes) rows = std::max(rows, lane.rows.size());
    const size_t all = rows * lanes.size() * lanes.size() / 2;
    for (const BlockLane& lane : lanes) {
      steps_.push_back(ByStep(lane, static_cast<int64_t>(1 + all / kMostCompared)));
      usual_ns_.push_back(UsualNs(lane));
      clock_.push_back(lane.clock);
    }
  }

  [[nodiscard]] Relation Of(size_t a, size_t b) const {
    Counts counts;
    for (const auto& [step, rows] : steps_[a]) {
      const auto other = steps_[b].find(step);
      if (other == steps_[b].end()) continue;
      // Where one of them lacks a row, who met whom is not known.
      if (other->second.size() != rows.size()) {
        ++counts.uneven;
        continue;
      }
      const OfStep of_step = Compare(rows, other->second, a, b);
      ++counts.steps;
      counts.apart += of_step.apart ? 1 : 0;
      counts.together += of_step.together && !of_step.apart ? 1 : 0;
    }
    if (counts.steps < kTelling) return Relation::kUnknown;
    if (counts.apart >= kTelling && static_cast<double>(counts.apart) > counts.Damaged()) return Relation::kApart;
    return counts.together >= kTelling ? Relation::kTogether : Relation::kOpen;
  }

 private:
  struct Counts {
    int64_t steps = 0;
    int64_t apart = 0;
    int64_t together = 0;
    int64_t uneven = 0;

    // Steps that contradict each other by damaged records, or because both lost as many, and not the same.
    [[nodiscard]] double Damaged() const {
      const auto even = static_cast<double>(steps);
      const double uneven_share = static_cast<double>(uneven) / (even + static_cast<double>(uneven));
      return even * (kDamagedShare + uneven_share * uneven_share);
    }
  };

  struct OfStep {
    bool apart = false;
    bool together = false;
  };

  [[nodiscard]] OfStep Compare(const RowsOfStep& of_a, const RowsOfStep& of_b, size_t a, size_t b) const {
    const int64_t slack_ns = clock_[a] == clock_[b] ? kSlackOnOneClockNs : kSlackNs;
    OfStep out;
    for (size_t n = 0; n < of_a.size(); ++n) {
      const bool a_first = of_a[n]->start_ns <= of_b[n]->start_ns;
      const BlockRow& early = a_first ? *of_a[n] : *of_b[n];
      const int64_t later_ns = (a_first ? *of_b[n] : *of_a[n]).start_ns - early.start_ns;
      out.apart = out.apart || later_ns > early.end_ns - early.start_ns + slack_ns;
      out.together = out.together || later_ns > usual_ns_[a_first ? a : b] + 2 * slack_ns;
    }
    return out;
  }

  std::vector<std::map<int64_t, RowsOfStep>> steps_;  // by lane
  std::vector<int64_t> usual_ns_;
  std::vector<int32_t> clock_;
};

// The relations of all pairs of lanes.
class Relations {
 public:
  explicit Relations(const std::vector<BlockLane>& lanes) : of_(lanes.size(), std::vector<Relation>(lanes.size())) {
    const Comparison comparison(lanes);
    for (size_t a = 0; a < lanes.size(); ++a) {
      for (size_t b = a + 1; b < lanes.size(); ++b) of_[a][b] = of_[b][a] = comparison.Of(a, b);
    }
  }

  [[nodiscard]] bool MayBeOne(const std::vector<size_t>& set) const {
    return std::all_of(set.begin(), set.end(), [&](size_t a) {
      return std::all_of(set.begin(), set.end(), [&](size_t b) {
        return a == b || of_[a][b] == Relation::kOpen || of_[a][b] == Relation::kTogether;
      });
    });
  }
  [[nodiscard]] bool IsApartFromOthers(const std::vector<size_t>& set) const {
    return std::all_of(set.begin(), set.end(), [&](size_t a) {
      for (size_t b = 0; b < of_.size(); ++b) {
        if (of_[a][b] != Relation::kApart && !std::binary_search(set.begin(), set.end(), b)) return false;
      }
      return true;
    });
  }
  // Sets that hang together, ascending; lanes that nothing ties to another one are in none.
  [[nodiscard]] std::vector<std::vector<size_t>> Together() const {
    DisjointSets shown(of_.size());
    for (size_t a = 0; a < of_.size(); ++a) {
      for (size_t b = a + 1; b < of_.size(); ++b) {
        if (of_[a][b] == Relation::kTogether) shown.Join(a, b);
      }
    }
    std::map<size_t, std::vector<size_t>> sets;
    for (size_t a = 0; a < of_.size(); ++a) sets[shown.Find(a)].push_back(a);
    std::vector<std::vector<size_t>> out;
    for (auto& [first, set] : sets) {
      if (set.size() > 1) out.push_back(std::move(set));
    }
    return out;
  }

 private:
  std::vector<std::vector<Relation>> of_;
};

// Every `stride`-th rank, `size` of them, then the same from the next rank on.
struct Shape {
  int32_t stride = 0;
  int32_t size = 0;

  [[nodiscard]] int32_t GroupOf(int32_t rank) const { return rank / (stride * size) * stride + rank % stride; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

std::optional<Shape> ShapeOf(const std::vector<size_t>& set, const std::vector<BlockLane>& lanes) {
  const Shape shape{lanes[set[1]].rank - lanes[set[0]].rank, static_cast<int32_t>(set.size())};
  for (size_t i = 1; i < set.size(); ++i) {
    const BlockLane& lane = lanes[set[i]];
    const bool regular = lane.rank - lanes[set[i - 1]].rank == shape.stride;
    if (!regular || shape.GroupOf(lane.rank) != shape.GroupOf(lanes[set[0]].rank)) return std::nullopt;
  }
  return shape;
}

// Of the groups that are shown; nothing where they do not have one.
std::optional<Shape> CommonShape(const std::vector<BlockLane>& lanes, const Relations& relations) {
  std::optional<Shape> common;
  for (const std::vector<size_t>& set : relations.Together()) {
    // Part of a group that no other lane is apart from is not all of it.
    if (set.size() < kFewestMembers || !relations.MayBeOne(set) || !relations.IsApartFromOthers(set)) continue;
    const std::optional<Shape> shape = ShapeOf(set, lanes);
    if (!shape || (common && *common != *shape)) return std::nullopt;
    common = shape;
  }
  return common;
}

}  // namespace

std::vector<std::vector<size_t>> FindExchangeBlocks(const std::vector<BlockLane>& lanes) {
  if (lanes.size() < 2 * kFewestMembers) return {};
  const Relations relations(lanes);
  const std::optional<Shape> shape = CommonShape(lanes, relations);
  if (!shape) return {};
  std::map<int32_t, std::vector<size_t>> groups;
  for (size_t l = 0; l < lanes.size(); ++l) groups[shape->GroupOf(lanes[l].rank)].push_back(l);
  std::vector<std::vector<size_t>> out;
  for (auto& [number, group] : groups) {
    if (std::cmp_not_equal(group.size(), shape->size) || !relations.MayBeOne(group)) return {};
    out.push_back(std::move(group));
  }
  return out.size() > 1 ? out : std::vector<std::vector<size_t>>{};
}

}  // namespace lockstep
