#include "analysis/metrics/arrivals/member_chains.h"

#include <algorithm>

#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int kMaxHops = 256;  // how far back a shared instance is looked for

int64_t& At(std::array<int64_t, kLatenessParts>& parts, LatenessPart part) { return parts[static_cast<size_t>(part)]; }

class Walker {
 public:
  Walker(const ArrivalGraph& graph, const MatchResult& match, int32_t rank_index)
      : nodes_(graph.ranks[static_cast<size_t>(rank_index)]),
        arrivals_(match.arrivals[static_cast<size_t>(rank_index)]),
        graph_(graph) {}

  [[nodiscard]] const ArrivalNode& Node(int64_t row) const { return nodes_[static_cast<size_t>(row)]; }
  [[nodiscard]] int64_t Previous(int64_t row) const { return Node(row).previous; }
  // Its members may go on only together. Nothing goes on from none.
  [[nodiscard]] bool Ties(int64_t instance) const { return instance < 0 || graph_.Ties(instance); }
  // The one before that ties the members to each other.
  [[nodiscard]] int64_t InstanceBefore(int64_t row) const {
    for (int hop = 0; hop < kMaxHops; ++hop) {
      row = Previous(row);
      if (row < 0) return -1;
      const int64_t instance = Node(row).instance;
      if (Ties(instance)) return instance;
    }
    return -1;
  }

  // Fills the chain from its `previous` to `row`; false where it is not told.
  bool Walk(int64_t row, MemberChain& chain) const {
    while (true) {
      const ArrivalNode& node = Node(row);
      if (node.segment.begin_ns == kNoTime || node.previous < 0) return false;
      Add(node.segment, chain);
      if (node.previous == chain.previous) {
        chain.begin_ns = node.segment.begin_ns;
        std::reverse(chain.tiles.begin(), chain.tiles.end());
        return true;
      }
      row = node.previous;
      AddTile(row, Node(row).start_ns, Node(row).end_ns, chain);
    }
  }

 private:
  static void AddOwn(const Segment& segment, MemberChain& chain) {
    At(chain.parts, LatenessPart::kCompute) += segment.compute_ns;
    At(chain.parts, LatenessPart::kCopy) += segment.copy_ns;
    At(chain.parts, LatenessPart::kHost) += segment.host_ns;
    At(chain.parts, LatenessPart::kLaunch) += segment.launch_ns;
    At(chain.parts, LatenessPart::kDependency) += segment.dependency_ns;
    At(chain.parts, LatenessPart::kRest) += segment.rest_ns;
  }

  void Add(const Segment& segment, MemberChain& chain) const {
    AddOwn(segment, chain);
    for (auto tile = segment.tiles.rbegin(); tile != segment.tiles.rend(); ++tile) {
      const int64_t from = segment.begin_ns + tile->offset_ns;
      AddTile(tile->instance, from, from + tile->length_ns, chain);
    }
  }

  void AddTile(int64_t row, int64_t from_ns, int64_t to_ns, MemberChain& chain) const {
    const ArrivalOfRow& arrival = arrivals_[static_cast<size_t>(row)];
    const int64_t split = arrival.usable ? std::clamp(arrival.arrival_ns, from_ns, to_ns) : from_ns;
    if (chain.tiles.empty() || chain.tiles.back().row != row) chain.tiles.push_back({row, 0, 0});
    chain.tiles.back().wait_ns += split - from_ns;
    chain.tiles.back().transfer_ns += to_ns - split;
    At(chain.parts, LatenessPart::kWait) += split - from_ns;
    At(chain.parts, LatenessPart::kTransfer) += to_ns - split;
  }

  const std::vector<ArrivalNode>& nodes_;
  const std::vector<ArrivalOfRow>& arrivals_;
  const ArrivalGraph& graph_;
};

// The walker of each member of an instance.
class Walkers {
 public:
  Walkers(const ArrivalGraph& graph, const MatchResult& match, const MatchedInstance& instance)
      : graph_(graph), match_(match), instance_(instance) {}

  [[nodiscard]] Walker operator[](size_t member) const {
    return {graph_, match_, instance_.members[member].rank_index};
  }
  [[nodiscard]] size_t size() const { return instance_.members.size(); }
  [[nodiscard]] int64_t InstanceBefore(size_t member) const {
    return (*this)[member].InstanceBefore(instance_.members[member].row);
  }

 private:
  const ArrivalGraph& graph_;
  const MatchResult& match_;
  const MatchedInstance& instance_;
};

// The instance before this one that most members have in common; ties: the later one.
int64_t CommonBefore(const Walkers& walkers) {
  size_t alike = 1;
  const int64_t first = walkers.InstanceBefore(0);
  while (alike < walkers.size() && walkers.InstanceBefore(alike) == first) ++alike;
  if (alike == walkers.size()) return first;
  std::vector<int64_t> before;
  before.reserve(walkers.size());
  for (size_t i = 0; i < walkers.size(); ++i) before.push_back(walkers.InstanceBefore(i));
  std::sort(before.begin(), before.end());
  int64_t best = -1;
  int64_t best_count = 0;
  for (size_t i = 0; i < before.size();) {
    size_t end = i;
    while (end < before.size() && before[end] == before[i]) ++end;
    const auto count = static_cast<int64_t>(end - i);
    if (before[i] >= 0 && count >= best_count) {
      best = before[i];
      best_count = count;
    }
    i = end;
  }
  return best_count >= 2 ? best : -1;
}

// The last instance that both members of a pair took part in and that ties them.
int64_t PairBefore(const Walkers& pair, const MatchedInstance& instance) {
  const Walker walkers[2] = {pair[0], pair[1]};
  int64_t row[2] = {walkers[0].Previous(instance.members[0].row), walkers[1].Previous(instance.members[1].row)};
  for (int hop = 0; hop < 2 * kMaxHops && row[0] >= 0 && row[1] >= 0; ++hop) {
    const int64_t a = walkers[0].Node(row[0]).instance;
    const int64_t b = walkers[1].Node(row[1]).instance;
    if (a == b && walkers[0].Ties(a)) return a;
    if (a >= b) row[0] = walkers[0].Previous(row[0]);
    if (b >= a) row[1] = walkers[1].Previous(row[1]);
  }
  return -1;
}

// The row of that instance among a member's earlier ones; -1: it lacks it.
int64_t RowOf(const Walker& walker, int64_t row, int64_t instance) {
  for (int hop = 0; hop < kMaxHops; ++hop) {
    row = walker.Previous(row);
    if (row < 0) return -1;
    if (walker.Node(row).instance == instance) return row;
  }
  return -1;
}

void Clear(MemberChain& chain) {
  chain.told = false;
  chain.previous = -1;
  chain.begin_ns = 0;
  chain.parts.fill(0);
  chain.tiles.clear();
}

// Means of the told members, rounded down; begins relative to `origin`. It stands for the others: where there are none
// it is not made.
MemberChain MeanOf(const MemberChains& chains, int64_t origin) {
  MemberChain mean;
  if (chains.told == chains.members.size()) return mean;
  int128 begin = 0;
  std::array<int128, kLatenessParts> sums{};
  for (const MemberChain& chain : chains.members) {
    if (!chain.told) continue;
    begin += chain.begin_ns - origin;
    for (size_t p = 0; p < kLatenessParts; ++p) sums[p] += chain.parts[p];
  }
  const auto count = static_cast<int128>(chains.told);
  mean.begin_ns = origin + static_cast<int64_t>(begin / count);
  for (size_t p = 0; p < kLatenessParts; ++p) mean.parts[p] = static_cast<int64_t>(sums[p] / count);
  return mean;
}

int64_t Narrow(int128 value) {
  return static_cast<int64_t>(std::clamp<int128>(value, -int128{INT64_MAX}, int128{INT64_MAX}));
}

}  // namespace

void FillMemberChains(const ArrivalGraph& graph, const MatchResult& match, uint32_t instance, MemberChains& out) {
  const MatchedInstance& matched = match.instances[instance];
  out.members.resize(matched.members.size());
  out.told = 0;
  out.previous_instance = -1;
  for (MemberChain& chain : out.members) Clear(chain);
  if (!matched.usable()) return;
  const Walkers walkers(graph, match, matched);
  const bool pair = matched.members.size() == 2;
  out.previous_instance = pair ? PairBefore(walkers, matched) : CommonBefore(walkers);
  if (out.previous_instance < 0) return;
  for (size_t i = 0; i < out.members.size(); ++i) {
    MemberChain& chain = out.members[i];
    const Walker walker = walkers[i];
    chain.previous = RowOf(walker, matched.members[i].row, out.previous_instance);
    chain.told = chain.previous >= 0 && walker.Walk(matched.members[i].row, chain);
    if (chain.told) ++out.told;
  }
}

bool CanDecompose(const MemberChains& chains) { return chains.told >= 2 && 2 * chains.told >= chains.members.size(); }

Decomposition::Decomposition(const MatchedInstance& instance, const MemberChains& chains)
    : instance_(instance), chains_(chains), mean_(MeanOf(chains, instance.members.front().start_ns)) {
  for (size_t i = 0; i < chains_.members.size(); ++i) {
    const std::array<int64_t, kLatenessParts> terms = TermsOf(i);
    for (size_t p = 0; p < kLatenessParts; ++p) sums_[p] += terms[p];
  }
}

// Begin relative to that of the first member in place of the carry-in, then the parts; they sum to its start.
std::array<int64_t, kLatenessParts> Decomposition::TermsOf(size_t member) const {
  const MemberChain& chain = chains_.members[member].told ? chains_.members[member] : mean_;
  const int64_t origin = instance_.members.front().start_ns;
  std::array<int64_t, kLatenessParts> terms = chain.parts;
  At(terms, LatenessPart::kCarryIn) = chain.begin_ns - origin;
  if (!chains_.members[member].told) {
    int64_t sum = 0;
    for (const int64_t term : terms) sum += term;
    At(terms, LatenessPart::kRest) += instance_.members[member].start_ns - origin - sum;
  }
  return terms;
}

MemberLateness Decomposition::Of(size_t member) const {
  const auto count = static_cast<int128>(instance_.members.size());
  const std::array<int64_t, kLatenessParts> terms = TermsOf(member);
  MemberLateness out;
  out.rank_index = instance_.members[member].rank_index;
  out.row = instance_.members[member].row;
  out.told = chains_.members[member].told;
  out.lateness_times_m_ns = instance_.members[member].lateness_times_m_ns;
  for (size_t p = 0; p < kLatenessParts; ++p) out.times_m_ns[p] = Narrow(count * terms[p] - sums_[p]);
  return out;
}

}  // namespace lockstep
