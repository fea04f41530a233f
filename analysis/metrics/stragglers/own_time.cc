#include "analysis/metrics/stragglers/own_time.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/metrics/stragglers/complete_units.h"
#include "analysis/metrics/stragglers/lost_rows.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr size_t kMostPlacedUnits = 1'024;  // so that what is kept of each of their places stays bounded

// Neighbours in a pipeline exchange what they have at the ends of different work.
bool IsOfPair(const MatchedInstance& instance) {
  return instance.members.size() == 2 && (instance.op == CollectiveOp::kSendRecv || IsPointToPoint(instance.op));
}

// Which communicator's segments tell a rank's own time best: that of most usable instances, collectives in which
// everybody waits for everybody first. By rank index; -1: it has none.
std::vector<int32_t> BusiestOfRanks(const MatchResult& match, const ArrivalGraph& graph) {
  std::vector<std::vector<int64_t>> weights(graph.ranks.size());
  constexpr int64_t kAllPairsFirst = int64_t{1} << 40;
  for (const uint32_t index : graph.order) {
    const MatchedInstance& instance = match.instances[index];
    for (const MatchedMember& member : instance.members) {
      std::vector<int64_t>& weight = weights[static_cast<size_t>(member.rank_index)];
      if (weight.size() <= instance.communicator) weight.resize(instance.communicator + 1);
      ++weight[instance.communicator];
      if (instance.all_pairs && !IsOfPair(instance)) weight[instance.communicator] |= kAllPairsFirst;
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

// The parts of a segment that are a rank's own.
constexpr size_t kOwnParts = 6;
constexpr std::array<LatenessPart, kOwnParts> kPartOf = {LatenessPart::kCompute,    LatenessPart::kCopy,
                                                         LatenessPart::kHost,       LatenessPart::kLaunch,
                                                         LatenessPart::kDependency, LatenessPart::kRest};
constexpr size_t kComputePart = 0;
static_assert(kPartOf[kComputePart] == LatenessPart::kCompute);
using SegmentParts = std::array<double, kOwnParts>;

SegmentParts SegmentPartsOf(const Segment& segment) {
  return {static_cast<double>(segment.compute_ns),    static_cast<double>(segment.copy_ns),
          static_cast<double>(segment.host_ns),       static_cast<double>(segment.launch_ns),
          static_cast<double>(segment.dependency_ns), static_cast<double>(segment.rest_ns)};
}

double SumOfSegmentParts(const SegmentParts& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace

// Through one chapter.
class OwnTimeSums::Meter {
 public:
  Meter(const Chapter& chapter, const ArrivalGraph& graph, UnitPlaces& places, std::vector<OfRank>& ranks)
      : chapter_(chapter), graph_(graph), lost_(chapter.match), places_(places), ranks_(ranks) {}

  void Run(UnitNumbers& numbers) {
    for (const uint32_t index : graph_.order) {
      const MatchedInstance& instance = chapter_.match.instances[index];
      if (!chapter_.Owns(instance)) continue;
      const int64_t unit = numbers.NumberOf(instance);
      if (unit < 0) continue;
      if (!instance.all_pairs && graph_.Ties(index)) AddLone(instance, static_cast<size_t>(unit));
      place_ = places_.Next(instance, static_cast<size_t>(unit));
      AddInstance(instance, static_cast<size_t>(unit));
    }
  }

 private:
  struct Own {
    size_t rank = 0;
    SegmentParts segment{};  // since the previous instance of the communicator
    SegmentParts parts{};    // since the last one in which everybody waited for everybody
    double sum = 0;          // of these
  };

  [[nodiscard]] const ArrivalNode* NodeOf(const MatchedMember& member) const {
    const auto& rows = graph_.ranks[static_cast<size_t>(member.rank_index)];
    if (member.row < 0 || static_cast<size_t>(member.row) >= rows.size()) return nullptr;
    const ArrivalNode& node = rows[static_cast<size_t>(member.row)];
    return node.segment.begin_ns == kNoTime || node.previous < 0 ? nullptr : &node;
  }

  // Since the previous instance of the communicator began. The segment holds what brought this one about, and leaves
  // out what was computed beside communication, the previous instance's too. All that is own work nevertheless: who
  // waited there longer is no faster, and who is behind at one of many transfers that nobody's work waits for is not
  // late anew at each of them. Borrows the rank's rows.
  [[nodiscard]] static SegmentParts OwnPartsOf(const std::vector<ArrivalNode>& rows, const ArrivalNode& node) {
    SegmentParts parts = SegmentPartsOf(node.segment);
    const int64_t work_ns = node.work.start_ns - rows[static_cast<size_t>(node.previous)].work.start_ns;
    parts[kComputePart] += std::max(0.0, static_cast<double>(work_ns) - SumOfSegmentParts(parts));
    return parts;
  }

  // What the rank did itself since an earlier instance of the communicator.
  struct OwnSince {
    int64_t instance = -1;  // -1: not told
    int64_t begin_ns = 0;   // aligned
    SegmentParts parts{};
  };
  struct MemberSince {
    int32_t rank_index = -1;
    const ArrivalNode* node = nullptr;
    SegmentParts segment{};  // since the previous instance of the communicator
    OwnSince since;
  };
  // Since the last one that ties the members to each other.
  [[nodiscard]] OwnSince SinceTied(const MatchedMember& member, const ArrivalNode& node) const {
    const SegmentParts own = OwnPartsOf(graph_.ranks[static_cast<size_t>(member.rank_index)], node);
    return Since(member, node, own, [&](int64_t instance) { return graph_.Ties(instance); });
  }

  // Since the last one in which everybody waited for everybody. Whether an instance with a root ties its members
  // depends on who comes last: to begin there would count only the stretches in which the root was the faster one.
  [[nodiscard]] OwnSince SinceCommon(const MatchedMember& member, const ArrivalNode& node,
                                     const SegmentParts& own) const {
    return Since(member, node, own,
                 [&](int64_t instance) { return chapter_.match.instances[static_cast<size_t>(instance)].all_pairs; });
  }

  // `own`: since the previous instance of the communicator.
  template <typename IsBegin>
  [[nodiscard]] OwnSince Since(const MatchedMember& member, const ArrivalNode& node, const SegmentParts& own,
                               const IsBegin& is_begin) const {
    constexpr int kMaxHops = 256;
    const std::vector<ArrivalNode>& rows = graph_.ranks[static_cast<size_t>(member.rank_index)];
    OwnSince out{-1, node.segment.begin_ns, own};
    const ArrivalNode* at = &node;
    for (int hop = 0; hop < kMaxHops; ++hop) {
      const ArrivalNode& before = rows[static_cast<size_t>(at->previous)];
      if (before.instance < 0) return out;
      if (is_begin(before.instance)) {
        out.instance = before.instance;
        return out;
      }
      if (before.previous < 0 || before.segment.begin_ns == kNoTime) return out;
      const SegmentParts more = OwnPartsOf(rows, before);
      for (size_t p = 0; p < kOwnParts; ++p) out.parts[p] += more[p];
      out.begin_ns = before.segment.begin_ns;
      at = &before;
    }
    return out;
  }

  // Who takes part in an instance, each with what it did since the last one in which everybody waited for everybody.
  void SetSince(const MatchedInstance& instance) {
    since_.clear();
    for (const MatchedMember& member : instance.members) {
      const ArrivalNode* node = NodeOf(member);
      if (node == nullptr) continue;
      const SegmentParts own = OwnPartsOf(graph_.ranks[static_cast<size_t>(member.rank_index)], *node);
      since_.push_back(
          {member.rank_index, node, own, instance.all_pairs ? SinceCommon(member, *node, own) : OwnSince{}});
    }
  }

  // The previous instance of most members: who lost that one has a longer segment and cannot be compared here.
  [[nodiscard]] int64_t CommonPrevious() const {
    int64_t candidate = -1;
    int64_t votes = 0;
    for (const MemberSince& member : since_) {
      if (votes == 0) candidate = member.since.instance;
      votes += member.since.instance == candidate ? 1 : -1;
    }
    return candidate;
  }

  void AddLone(const MatchedInstance& instance, size_t unit) {
    for (const MatchedMember& member : instance.members) {
      const auto rank = static_cast<size_t>(member.rank_index);
      const ArrivalNode* node = NodeOf(member);
      if (node == nullptr || ranks_[rank].result.communicator != static_cast<int32_t>(instance.communicator)) continue;
      const OwnSince since = SinceTied(member, *node);
      if (since.instance < 0) continue;
      for (size_t p = 0; p < kOwnParts; ++p) {
        const bool of_host = kPartOf[p] == LatenessPart::kHost || kPartOf[p] == LatenessPart::kLaunch;
        ranks_[rank].At(unit).lone_host_ns += of_host ? since.parts[p] : 0;
      }
    }
  }

  void AddInstance(const MatchedInstance& instance, size_t unit) {
    own_.clear();
    SetSince(instance);
    const int64_t previous = instance.all_pairs ? CommonPrevious() : -1;
    for (const auto& [rank_index, node, segment, since] : since_) {
      const auto rank = static_cast<size_t>(rank_index);
      if (ranks_[rank].result.communicator != static_cast<int32_t>(instance.communicator)) continue;
      if (instance.all_pairs && (previous < 0 || since.instance != previous)) continue;
      if (instance.all_pairs && lost_.EndsWithin(rank_index, since.begin_ns, node->start_ns)) continue;
      own_.push_back({rank, segment, since.parts, SumOfSegmentParts(since.parts)});
    }
    AddOwn(unit);
    if (instance.all_pairs && own_.size() >= 2) AddExcess(unit, IsOfPair(instance));
  }

  void AddOwn(size_t unit) {
    for (const Own& own : own_) {
      OfUnit& of = ranks_[own.rank].At(unit);
      ++of.instances;
      of.own_ns += SumOfSegmentParts(own.segment);
      AddParts(own.segment, ranks_[own.rank].result.own_parts);
    }
  }

  static void AddParts(const SegmentParts& parts, OwnParts& into) {
    for (size_t p = 0; p < kOwnParts; ++p) into[static_cast<size_t>(kPartOf[p])] += parts[p];
  }

  void AddExcess(size_t unit, bool of_pair) {
    SegmentParts total{};
    for (const Own& own : own_) {
      for (size_t p = 0; p < kOwnParts; ++p) total[p] += own.parts[p];
    }
    const double sum = SumOfSegmentParts(total);
    const auto others = static_cast<double>(own_.size() - 1);
    for (const Own& own : own_) {
      RankOwnTime& rank = ranks_[own.rank].result;
      rank.compared = true;
      OfUnit& of = ranks_[own.rank].At(unit);
      const double excess_ns = own.sum - (sum - own.sum) / others;
      of.excess_ns += excess_ns;
      ++of.compared;
      ranks_[own.rank].with_neighbour = of_pair;
      ranks_[own.rank].has_places = ranks_[own.rank].has_places && !of_pair && unit < kMostPlacedUnits;
      SegmentParts excess;
      for (size_t p = 0; p < kOwnParts; ++p) excess[p] = own.parts[p] - (total[p] - own.parts[p]) / others;
      AddParts(excess, rank.excess_parts);
      AddAtPlace(unit, excess_ns, excess, ranks_[own.rank]);
    }
  }

  void AddAtPlace(size_t unit, double excess_ns, const SegmentParts& excess, OfRank& rank) const {
    if (!rank.has_places) return;
    const size_t places = places_.count();
    if (rank.at_ns.size() < (unit + 1) * places) rank.at_ns.resize((unit + 1) * places);
    rank.at_ns[unit * places + place_] += static_cast<float>(excess_ns);
    rank.parts_at.resize(places);
    AddParts(excess, rank.parts_at[place_]);
  }

  const Chapter& chapter_;
  const ArrivalGraph& graph_;
  const LostRows lost_;
  UnitPlaces& places_;
  std::vector<OfRank>& ranks_;
  size_t place_ = 0;                // of the instance in hand
  std::vector<MemberSince> since_;  // the same
  std::vector<Own> own_;            // the same
};

void OwnTimeSums::Add(const Chapter& chapter, const ArrivalGraph& graph, UnitNumbers& numbers) {
  bool open = false;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    open = open || (ranks_[rank].result.communicator < 0 && !graph.ranks[rank].empty());
  }
  const std::vector<int32_t> busiest = open ? BusiestOfRanks(chapter.match, graph) : std::vector<int32_t>();
  for (size_t rank = 0; rank < busiest.size(); ++rank) {
    if (ranks_[rank].result.communicator < 0) ranks_[rank].result.communicator = busiest[rank];
  }
  places_.Open(chapter, graph, numbers);
  Meter(chapter, graph, places_, ranks_).Run(numbers);
}

// Members are compared place by place all or none.
std::set<int32_t> OwnTimeSums::WithoutPlaces() const {
  std::set<int32_t> communicators;
  for (const OfRank& of : ranks_) {
    if (of.result.compared && !of.has_places) communicators.insert(of.result.communicator);
  }
  return communicators;
}

void OwnTimeSums::PutPlaces(const std::vector<size_t>& order, OfRank& of, RankOwnTime& result) const {
  const size_t places = places_.count();
  result.excess_at_ns.assign(places, std::vector<float>(order.size()));
  for (size_t unit = 0; unit < order.size(); ++unit) {
    for (size_t place = 0; place < places && (order[unit] + 1) * places <= of.at_ns.size(); ++place) {
      result.excess_at_ns[place][unit] = of.at_ns[order[unit] * places + place];
    }
  }
  result.excess_parts_at = std::move(of.parts_at);
  of.at_ns = {};
}

std::vector<RankOwnTime> OwnTimeSums::Finish(const TestUnits& units, const std::vector<size_t>& order) {
  std::vector<RankOwnTime> out;
  std::vector<std::vector<int64_t>> counts(ranks_.size());    // [rank][unit] instances
  std::vector<std::vector<int64_t>> compared(ranks_.size());  // the same of those that are compared
  std::map<int32_t, UsualInstances> usual;                    // by communicator
  const std::set<int32_t> without_places = WithoutPlaces();
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    OfRank& of = ranks_[rank];
    for (const size_t number : order) {
      const OfUnit unit = number < of.units.size() ? of.units[number] : OfUnit{};
      counts[rank].push_back(unit.instances);
      compared[rank].push_back(unit.compared);
      of.result.instances += unit.instances;
      of.result.own_ns.push_back(unit.own_ns);
      of.result.excess_ns.push_back(unit.excess_ns);
      of.result.lone_host_ns.push_back(unit.lone_host_ns);
    }
    const bool has_places = units.are_steps && of.result.compared && !without_places.contains(of.result.communicator);
    if (has_places) PutPlaces(order, of, of.result);
    out.push_back(std::move(of.result));
    UsualInstances& its = usual[out[rank].communicator];
    its.count = std::max(its.count, UsualCount(counts[rank]));
    its.in_unit.resize(units.count);
    for (size_t unit = 0; unit < units.count; ++unit) {
      its.in_unit[unit] = std::max(its.in_unit[unit], counts[rank][unit]);
    }
  }
  for (size_t rank = 0; rank < out.size(); ++rank) {
    if (out[rank].communicator < 0) continue;
    const UsualInstances& its = usual.at(out[rank].communicator);
    CompleteUnits(counts[rank], its, units.are_steps, out[rank]);
    if (units.are_steps) DropIncompleteSteps(counts[rank], its.in_unit, out[rank]);
    if (units.are_steps && ranks_[rank].with_neighbour) DropUnitsThatLackPlaces(compared[rank], out[rank]);
  }
  return out;
}

}  // namespace lockstep
