#include "analysis/metrics/causes/blame.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analysis/metrics/arrivals/member_chains.h"
#include "analysis/metrics/causes/blame_ledger.h"
#include "analysis/metrics/causes/blame_weights.h"
#include "analysis/model/record_scatter.h"
#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

constexpr size_t kMaxOrigins = 32;

const MatchedMember* MemberOf(const MatchedInstance& instance, int32_t rank_index) {
  const auto at = std::lower_bound(instance.members.begin(), instance.members.end(), rank_index,
                                   [](const MatchedMember& m, int32_t r) { return m.rank_index < r; });
  return at != instance.members.end() && at->rank_index == rank_index ? &*at : nullptr;
}

int64_t Positive(int64_t value) { return std::max<int64_t>(0, value); }

// By how much one member's tiles exceed those of the others at the same place of the sequence, times their number;
// where the sequences differ, its tiles themselves.
std::vector<int64_t> TileExcess(const MemberChains& chains, size_t member, int64_t TilePart::*part) {
  const std::vector<TilePart>& own = chains.members[member].tiles;
  std::vector<int64_t> excess(own.size());
  const bool alike = std::all_of(chains.members.begin(), chains.members.end(), [&](const MemberChain& chain) {
    return !chain.told || chain.tiles.size() == own.size();
  });
  bool any = false;
  for (size_t i = 0; i < own.size() && alike; ++i) {
    int128 difference = static_cast<int128>(chains.told) * (own[i].*part);
    for (const MemberChain& chain : chains.members) {
      if (chain.told) difference -= chain.tiles[i].*part;
    }
    excess[i] = Positive(static_cast<int64_t>(std::min<int128>(difference, INT64_MAX)));
    any = any || excess[i] > 0;
  }
  if (any) return excess;
  for (size_t i = 0; i < own.size(); ++i) excess[i] = own[i].*part;
  return excess;
}

struct Charges {
  // What is charged to an origin, in units of 1 / kWeightOne ns.
  struct Charge {
    int128 wait = 0;
    int128 critical = 0;
  };
  struct Map {
    MapAxis axis;
    CausedWaitGrid grid;
  };
  absl::flat_hash_map<Origin, Charge> by_origin;
  std::optional<Map> map;
  int64_t total_wait_ns = 0;
  int64_t unassigned_ns = 0;
};

BlameResult ResultOf(const Charges& charges) {
  BlameResult out;
  out.total_wait_ns = charges.total_wait_ns;
  out.unassigned_ns = charges.unassigned_ns;
  std::vector<std::pair<Origin, Charges::Charge>> by_origin(charges.by_origin.begin(), charges.by_origin.end());
  std::sort(by_origin.begin(), by_origin.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int128> waits;
  std::vector<int128> criticals;
  for (const auto& [origin, charge] : by_origin) {
    waits.push_back(charge.wait);
    criticals.push_back(charge.critical);
  }
  const std::vector<int64_t> wait_ns = RoundToSum(waits);
  const std::vector<int64_t> critical_ns = RoundToSum(criticals);
  size_t i = 0;
  for (const auto& [origin, charge] : by_origin) {
    const BlameShare share{origin.rank_index, origin.communicator, origin.part, wait_ns[i], critical_ns[i]};
    ++i;
    if (share.wait_ns != 0 || share.critical_ns != 0) out.shares.push_back(share);
  }
  std::stable_sort(out.shares.begin(), out.shares.end(),
                   [](const BlameShare& a, const BlameShare& b) { return a.wait_ns > b.wait_ns; });
  return out;
}

// Through one chapter.
class Propagation {
 public:
  Propagation(const ArrivalGraph& graph, const Chapter& chapter, Charges& charges)
      : graph_(graph),
        match_(chapter.match),
        chapter_(chapter),
        ledger_(chapter.match.instances.size()),
        charges_(charges) {}

  void Run() {
    for (const uint32_t instance : graph_.order) Take(instance);
  }

 private:
  // What was waited for one member.
  struct Waits {
    int32_t awaited = -1;
    int64_t sum = 0;
    int64_t least = INT64_MAX;
  };

  // By the awaited, ascending.
  void CollectWaits(const MatchedInstance& instance) {
    waits_.clear();
    for (const MatchedMember& m : instance.members) {
      if (m.wait_ns == 0) continue;
      if (waits_.empty() || waits_.back().awaited != m.awaits) waits_.push_back({m.awaits, 0, INT64_MAX});
      waits_.back().sum += m.wait_ns;
      waits_.back().least = std::min(waits_.back().least, m.wait_ns);
    }
    if (waits_.size() < 2) return;
    std::sort(waits_.begin(), waits_.end(), [](const Waits& a, const Waits& b) { return a.awaited < b.awaited; });
    size_t kept = 0;
    for (size_t i = 1; i < waits_.size(); ++i) {
      if (waits_[i].awaited != waits_[kept].awaited) {
        waits_[++kept] = waits_[i];
      } else {
        waits_[kept].sum += waits_[i].sum;
        waits_[kept].least = std::min(waits_[kept].least, waits_[i].least);
      }
    }
    waits_.resize(kept + 1);
  }

  void Take(uint32_t index) {
    const MatchedInstance& instance = match_.instances[index];
    CollectWaits(instance);
    if (waits_.empty()) return;
    const bool own = chapter_.Owns(instance);
    FillMemberChains(graph_, match_, index, chains_);
    std::optional<Decomposition> lateness;
    if (CanDecompose(chains_)) lateness.emplace(instance, chains_);
    for (const Waits& lost : waits_) {
      const Weights weights = lateness ? WeightsOf(instance, lost.awaited, *lateness) : Weights{};
      if (!weights.empty()) ledger_.Put(index, lost.awaited, weights);
      if (own) Charge(instance, lost, weights);
    }
  }

  void Charge(const MatchedInstance& instance, const Waits& lost, const Weights& weights) {
    charges_.total_wait_ns += lost.sum;
    if (weights.empty() || !instance.resolvable) {
      charges_.unassigned_ns += lost.sum;
      return;
    }
    for (const Weight& w : weights) {
      Charges::Charge& charge = charges_.by_origin[w.origin];
      charge.wait += int128{w.weight} * lost.sum;
      charge.critical += int128{w.weight} * lost.least;
    }
    if (charges_.map) ChargeMap(instance, lost, weights);
  }

  void ChargeMap(const MatchedInstance& instance, const Waits& lost, const Weights& weights) {
    const std::optional<int64_t> key = charges_.map->axis.KeyOf(instance);
    if (!key) return;
    for (const Weight& w : weights) {
      if (w.origin.rank_index < 0) continue;
      const double share = static_cast<double>(w.weight) / static_cast<double>(kWeightOne);
      const CausedWaitCell cell{static_cast<float>(share * static_cast<double>(lost.sum))};
      charges_.map->grid.At(*key, static_cast<size_t>(w.origin.rank_index)).Merge(cell);
    }
  }

  // Why `awaited` arrived when it did. Empty if it is not told.
  Weights WeightsOf(const MatchedInstance& instance, int32_t awaited, const Decomposition& decomposition) {
    const MatchedMember* member = MemberOf(instance, awaited);
    if (member == nullptr) return {};
    const auto at = static_cast<size_t>(member - instance.members.data());
    if (!chains_.members[at].told) return {};
    const MemberLateness lateness = decomposition.Of(at);
    WeightSum sum;
    for (size_t p = 0; p < kLatenessParts; ++p) {
      const int64_t excess = Positive(lateness.times_m_ns[p]);
      if (excess > 0) AddPart(instance, at, static_cast<LatenessPart>(p), excess, sum);
    }
    return sum.Take(kMaxOrigins);
  }

  // Its work went on beside the previous instance, and others waited for it there: it was behind already. The others
  // did earlier what it still has to do after that instance, so that its stretch cannot be compared with theirs.
  [[nodiscard]] bool WasBehind(int32_t rank, size_t at) const {
    const int64_t row = chains_.members[at].previous;
    const WorkAt& work = graph_.ranks[static_cast<size_t>(rank)][static_cast<size_t>(row)].work;
    const bool went_on = !work.joined && work.end_ns - work.start_ns > kRecordScatterNs;
    return went_on && ledger_.Has(chains_.previous_instance, rank);
  }

  static bool IsOfWork(LatenessPart part) {
    return part == LatenessPart::kCompute || part == LatenessPart::kCopy || part == LatenessPart::kWait ||
           part == LatenessPart::kTransfer;
  }

  void AddPart(const MatchedInstance& instance, size_t at, LatenessPart part, int64_t excess, WeightSum& sum) {
    const int32_t rank = instance.members[at].rank_index;
    if (IsOfWork(part) && WasBehind(rank, at)) {
      ledger_.AddShare(chains_.previous_instance, rank, excess, sum);
      return;
    }
    switch (part) {
      case LatenessPart::kCarryIn:
        AddCarryIn(instance, rank, excess, sum);
        return;
      case LatenessPart::kWait:
        AddTiles(rank, at, &TilePart::wait_ns, excess, sum);
        return;
      case LatenessPart::kTransfer:
        AddTiles(rank, at, &TilePart::transfer_ns, excess, sum);
        return;
      default:
        sum.Add({rank, -1, part}, excess);
    }
  }

  // Where all wait for all, ends differ by the transfer alone; otherwise the member may have ended late because of whom
  // it waited for.
  void AddCarryIn(const MatchedInstance& instance, int32_t rank, int64_t excess, WeightSum& sum) const {
    const MatchedInstance& previous = match_.instances[static_cast<size_t>(chains_.previous_instance)];
    const MatchedMember* member = MemberOf(previous, rank);
    if (!previous.all_pairs && member != nullptr && member->awaits >= 0) {
      ledger_.AddShare(chains_.previous_instance, member->awaits, excess, sum);
    } else {
      sum.Add({-1, static_cast<int32_t>(instance.communicator), LatenessPart::kCarryIn}, excess);
    }
  }

  void AddTiles(int32_t rank, size_t at, int64_t TilePart::*part, int64_t excess, WeightSum& sum) const {
    const std::vector<int64_t> shares = TileExcess(chains_, at, part);
    int128 total = 0;
    for (const int64_t share : shares) total += share;
    if (total == 0) return sum.Add(kNeverTold, excess);
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] == 0) continue;
      AddTile(rank, chains_.members[at].tiles[i].row, part, int128{excess} * shares[i] / total, sum);
    }
  }

  // Of what looks like its transfer in that instance, the part in which it may have waited as well; of kWeightOne.
  static int64_t OpenPart(const MatchedInstance& instance, const MatchedMember* member) {
    if (!instance.usable() || member == nullptr) return kWeightOne;
    const int64_t transfer_ns = member->end_ns - member->arrival_ns;
    const int64_t open_ns = std::min(member->latest_arrival_ns, member->end_ns) - member->arrival_ns;
    if (transfer_ns <= 0 || open_ns <= 0) return 0;
    return static_cast<int64_t>(int128{open_ns} * kWeightOne / transfer_ns);
  }

  void AddTile(int32_t rank, int64_t row, int64_t TilePart::*part, int128 share, WeightSum& sum) const {
    const int64_t at = graph_.ranks[static_cast<size_t>(rank)][static_cast<size_t>(row)].instance;
    if (at < 0) return sum.Add(kNeverTold, share);
    const MatchedInstance& instance = match_.instances[static_cast<size_t>(at)];
    const MatchedMember* member = MemberOf(instance, rank);
    if (part == &TilePart::transfer_ns) {
      const int128 open = share * OpenPart(instance, member) / kWeightOne;
      if (open > 0) sum.Add(kNeverTold, open);
      sum.Add({-1, static_cast<int32_t>(instance.communicator), LatenessPart::kTransfer}, share - open);
      return;
    }
    ledger_.AddShare(at, member == nullptr ? -1 : member->awaits, share, sum);
  }

  const ArrivalGraph& graph_;
  const MatchResult& match_;
  const Chapter& chapter_;
  BlameLedger ledger_;
  MemberChains chains_;       // of the instance in hand
  std::vector<Waits> waits_;  // likewise
  Charges& charges_;
};

}  // namespace

std::string_view Name(CauseKind kind) {
  switch (kind) {
    case CauseKind::kUnknown:
      return "";
    case CauseKind::kSlowDevice:
      return "slow_device";
    case CauseKind::kSlowKernel:
      return "slow_kernel";
    case CauseKind::kMoreWork:
      return "more_work";
    case CauseKind::kHostDelay:
      return "host_delay";
    case CauseKind::kHostPause:
      return "host_pause";
    case CauseKind::kCopies:
      return "copies";
    case CauseKind::kTransfer:
      return "transfer";
    case CauseKind::kDependency:
      return "dependency";
  }
  return "";
}

struct BlameSums::Sums {
  Charges charges;
};

BlameSums::BlameSums() : sums_(std::make_unique<Sums>()) {}
BlameSums::BlameSums(const MapAxis& axis) : BlameSums() {
  sums_->charges.map.emplace(Charges::Map{axis, axis.Grid<CausedWaitCell>()});
}
BlameSums::BlameSums(const BlameSums& other) : sums_(std::make_unique<Sums>(*other.sums_)) {}
BlameSums::~BlameSums() = default;

void BlameSums::Add(const Chapter& chapter, const ArrivalGraph& graph) {
  Propagation(graph, chapter, sums_->charges).Run();
}

BlameResult BlameSums::Finish() const { return ResultOf(sums_->charges); }

CausedWaitGrid* BlameSums::grid() { return sums_->charges.map ? &sums_->charges.map->grid : nullptr; }

BlameResult PropagateBlame(const ArrivalGraph& graph, const MatchResult& match) {
  BlameSums sums;
  sums.Add(Chapter{match}, graph);
  return sums.Finish();
}

BlameSum BlameOn(const BlameResult& blame, const std::vector<int32_t>& rank_indices,
                 const std::vector<uint32_t>& communicators) {
  BlameSum sum;
  for (const BlameShare& share : blame.shares) {
    const bool transfer = share.rank_index < 0 && share.communicator >= 0;
    const bool theirs =
        communicators.empty()
            ? share.rank_index >= 0 && std::binary_search(rank_indices.begin(), rank_indices.end(), share.rank_index)
            : transfer && std::find(communicators.begin(), communicators.end(),
                                    static_cast<uint32_t>(share.communicator)) != communicators.end();
    if (!theirs) continue;
    sum.wait_ns += share.wait_ns;
    sum.critical_ns += share.critical_ns;
  }
  return sum;
}

std::vector<RankBlame> BlameByRank(const BlameResult& blame) {
  std::map<int32_t, RankBlame> by_rank;
  for (const BlameShare& share : blame.shares) {
    if (share.rank_index < 0) continue;
    RankBlame& sum = by_rank[share.rank_index];
    if (sum.rank_index < 0) {  // shares are ordered: the first is its largest
      sum.rank_index = share.rank_index;
      sum.main_part = share.part;
    }
    sum.wait_ns += share.wait_ns;
    sum.critical_ns += share.critical_ns;
  }
  std::vector<RankBlame> out;
  for (const auto& [rank, sum] : by_rank) out.push_back(sum);
  std::stable_sort(out.begin(), out.end(),
                   [](const RankBlame& a, const RankBlame& b) { return a.wait_ns > b.wait_ns; });
  return out;
}

}  // namespace lockstep
