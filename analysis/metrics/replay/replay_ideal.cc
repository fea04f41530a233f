#include "analysis/metrics/replay/replay_ideal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analysis/metrics/replay/replay_exchange.h"
#include "analysis/metrics/replay/replay_level.h"
#include "analysis/metrics/replay/replay_party.h"
#include "analysis/metrics/replay/replay_scale.h"
#include "analysis/metrics/replay/replay_step_noise.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

class Idealiser {
 public:
  Idealiser(const ReplayGraph& graph, const ArrivalGraph& source, const MatchResult& match, const ReplayPeers& peers,
            const Idealisation& ideal, ReplayLengths& lengths)
      : graph_(graph),
        source_(source),
        match_(match),
        peers_(peers),
        ideal_(ideal),
        in_scope_(source.ranks.size()),
        lengths_(lengths) {
    for (const int32_t r : ideal.rank_indices) {
      if (r >= 0 && static_cast<size_t>(r) < in_scope_.size()) in_scope_[static_cast<size_t>(r)] = true;
    }
  }

  // An exchange deals work out to several ranks, so that these come one after the other. All else touches the nodes of
  // one rank only.
  void Run(Executor* executor) {
    lengths_.transfers_zero = ideal_.all_transfers_zero;
    std::vector<OfRank> ranks;
    for (size_t r = 0; r < in_scope_.size(); ++r) {
      if (!in_scope_[r]) continue;
      ranks.push_back({.rank = static_cast<int32_t>(r)});
      if (Wants(LatenessPart::kCompute)) Exchanged(ranks.back());
    }
    const auto own = [&](size_t i) { Rank(ranks[i]); };
    if (executor != nullptr) {
      executor->ParallelFor(ranks.size(), own);
    } else {
      for (size_t i = 0; i < ranks.size(); ++i) own(i);
    }
    for (const OfRank& rank : ranks) {
      removed_.ns_per_step += rank.removed.ns_per_step;
      removed_.deviation_ns_per_step += rank.removed.deviation_ns_per_step;
    }
    Transfers();
  }

  [[nodiscard]] const RemovedWork& removed() const { return removed_; }

 private:
  // A rank of the scope.
  struct OfRank {
    int32_t rank = 0;
    std::set<int32_t> dealt_out = {};  // nodes whose compute an exchange dealt out
    RemovedWork removed = {};
  };

  [[nodiscard]] bool Wants(LatenessPart part) const { return !ideal_.part || *ideal_.part == part; }
  [[nodiscard]] bool InTime(const ReplayNode& node) const {
    return !ideal_.time_ns || (node.start_ns >= ideal_.time_ns->first && node.start_ns < ideal_.time_ns->second);
  }

  void Rank(OfRank& of) {
    ScaleWork(of);
    const bool rest = Wants(LatenessPart::kLaunch) || Wants(LatenessPart::kDependency) || Wants(LatenessPart::kRest);
    if (!rest && !Wants(LatenessPart::kHost)) return;
    const LevelsOfTimes levels = LevelTimes(static_cast<size_t>(of.rank));
    if (rest) ReplaceRest(of.rank, levels);
    if (Wants(LatenessPart::kHost)) Host(of.rank, levels);
  }

  // Work that an exchange dealt out is shared with the others; what is done here is not done again by Scale.
  void Exchanged(OfRank& of) {
    const ReplayExchanges exchanges(graph_, match_, in_scope_, [this](const ReplayNode& node) { return InTime(node); });
    const LevelledTransfers transfers = exchanges.LevelTransfers(of.rank, lengths_);
    if (!transfers.longer) return;
    const ExchangedWork work = exchanges.WorkOf(of.rank, transfers);
    if (!work.dealt_out) return;
    exchanges.ShareTransfers(transfers, lengths_);
    exchanges.ShareOut(work, lengths_);
    of.dealt_out.insert(work.work.nodes.begin(), work.work.nodes.end());
  }

  static int64_t ComputeOf(const ReplayNode& node) { return node.compute_ns; }
  static int64_t CopiesOf(const ReplayNode& node) { return node.copy_ns; }

  // Compute and copies, as far as the rank has any.
  void ScaleWork(OfRank& of) {
    const auto rank = static_cast<size_t>(of.rank);
    std::vector<ReplayPeers::WorkValue> values;
    if (Wants(LatenessPart::kCompute) && HasWork(rank, ComputeOf)) values.push_back(ComputeOf);
    if (Wants(LatenessPart::kCopy) && HasWork(rank, CopiesOf)) values.push_back(CopiesOf);
    if (values.empty()) return;
    const std::vector<ReplayPeers::LevelOfNodes> levels = peers_.LevelsOfWork(rank, in_scope_, values);
    const std::vector<StepNoise> noise = NoiseOfSteps(graph_, source_, peers_, rank, in_scope_, values);
    for (size_t v = 0; v < values.size(); ++v) Scale(of, values[v], levels[v], noise[v]);
  }

  [[nodiscard]] bool HasWork(size_t rank, ReplayPeers::WorkValue value) const {
    for (size_t n = graph_.first[rank]; n < graph_.first[rank + 1]; ++n) {
      if (IsScaled(graph_.nodes[n], value)) return true;
    }
    return false;
  }
  [[nodiscard]] bool IsScaled(const ReplayNode& node, ReplayPeers::WorkValue value) const {
    return InTime(node) && node.follows && value(node) > 0;
  }

  void Scale(OfRank& of, ReplayPeers::WorkValue value, const ReplayPeers::LevelOfNodes& levels,
             const StepNoise& noise) {
    const int32_t rank = of.rank;
    const auto first = graph_.first[static_cast<size_t>(rank)];
    const auto end = graph_.first[static_cast<size_t>(rank) + 1];
    std::vector<ScaledWork> work;
    for (size_t n = first; n < end; ++n) {
      const ReplayNode& node = graph_.nodes[n];
      if (!IsScaled(node, value)) continue;
      if (value == &ComputeOf && of.dealt_out.contains(static_cast<int32_t>(n))) continue;
      ScaledWork item;
      item.node = static_cast<int32_t>(n);
      item.position = node.position;
      item.step = source_.ranks[static_cast<size_t>(rank)][n - first].step;
      item.own_ns = value(node);
      if (const std::optional<PeerLevel>& level = levels[n - first]) {
        item.peers_ns = level->mean_ns;
        item.largest_ns = level->largest_ns;
        item.peers = level->peers;
        item.stalled_rank = level->stalled_rank;
        item.elsewhere = level->elsewhere;
      }
      work.push_back(item);
    }
    double taken_ns = 0;
    double left_ns = 0;
    for (const ScaledResult& result : ScaleToPeers(work, noise.deviation, [&] { return RatioOfOthers(rank, value); })) {
      const int64_t removed_ns = value(graph_.node(result.node)) - result.length_ns;
      lengths_.device_ns[static_cast<size_t>(result.node)] -= removed_ns;
      taken_ns += static_cast<double>(removed_ns);
      left_ns += static_cast<double>(result.length_ns);
    }
    if (noise.steps == 0) return;
    const auto steps = static_cast<double>(noise.steps);
    const double of_scope = 1 / (steps * static_cast<double>(ideal_.rank_indices.size()));
    of.removed.ns_per_step += of_scope * taken_ns;
    of.removed.deviation_ns_per_step += of_scope * left_ns * noise.deviation / std::sqrt(steps);
  }

  // Work of a rank in a step. Steps cut off by the capture do not count.
  template <typename Value>
  [[nodiscard]] double WorkPerStep(size_t rank, const Value& value) const {
    std::map<int64_t, double> steps;
    const size_t first = graph_.first[rank];
    for (size_t n = first; n < graph_.first[rank + 1]; ++n) {
      const ReplayNode& node = graph_.nodes[n];
      if (!InTime(node) || !node.follows) continue;
      steps[source_.ranks[rank][n - first].step] += static_cast<double>(value(node));
    }
    constexpr size_t kCutOff = 2;
    if (steps.size() > kCutOff) {
      steps.erase(steps.begin());
      steps.erase(std::prev(steps.end()));
    }
    double sum = 0;
    for (const auto& [step, work] : steps) sum += work;
    return steps.empty() ? 0 : sum / static_cast<double>(steps.size());
  }

  // Work of the ranks outside the scope against this one's.
  template <typename Value>
  [[nodiscard]] double RatioOfOthers(int32_t rank, const Value& value) const {
    double others = 0;
    int64_t count = 0;
    for (size_t r = 0; r < in_scope_.size(); ++r) {
      if (in_scope_[r] || graph_.first[r] == graph_.first[r + 1]) continue;
      others += WorkPerStep(r, value);
      ++count;
    }
    const double own = WorkPerStep(static_cast<size_t>(rank), value);
    return own > 0 && count > 0 ? others / static_cast<double>(count) / own : 1;
  }

  // Times that are compared one by one, each at its own place.
  enum Time { kRest, kBlocked, kLaunched, kTimes };
  static int64_t RestOf(const ReplayNode& node) { return node.device_ns - node.compute_ns - node.copy_ns; }
  static int64_t BlockedOf(const ReplayNode& node) { return node.host_ns; }
  static int64_t LaunchedOf(const ReplayNode& node) { return node.host_step_ns; }
  static constexpr std::array<ReplayPeers::WorkValue, kTimes> kTimeOf = {&RestOf, &BlockedOf, &LaunchedOf};

  // Of the peers of each node of a rank, from its first one on.
  using LevelsOfTimes = std::vector<std::optional<std::array<PeerLevel, kTimes>>>;
  [[nodiscard]] LevelsOfTimes LevelTimes(size_t rank) const {
    LevelsOfTimes levels(graph_.first[rank + 1] - graph_.first[rank]);
    for (size_t k = 0; k < levels.size(); ++k) {
      const auto n = static_cast<int32_t>(graph_.first[rank] + k);
      if (graph_.node(n).follows) levels[k] = peers_.Levels(n, in_scope_, RestOf, BlockedOf, LaunchedOf);
    }
    return levels;
  }

  struct Levelled {
    std::vector<ScaledResult> results;  // as the peers have them
    std::vector<LoneLength> alone;      // lengths that nobody is a peer of
  };

  // In the order of `nodes`.
  [[nodiscard]] Levelled Level(const std::vector<int32_t>& nodes, const LevelsOfTimes& levels, Time time) const {
    Levelled out;
    std::vector<ComparedLength> lengths;
    for (const int32_t n : nodes) {
      const ReplayNode& node = graph_.node(n);
      if (!node.follows) continue;
      const auto& at = levels[static_cast<size_t>(n) - graph_.first[static_cast<size_t>(node.rank)]];
      if (!at && node.instance >= 0) out.alone.push_back({n, node.position, kTimeOf[time](node)});
      if (!at || !InTime(node)) continue;
      const PeerLevel& level = (*at)[time];
      lengths.push_back({.node = n,
                         .position = node.position,
                         .own_ns = kTimeOf[time](node),
                         .peers_ns = level.mean_ns,
                         .variance_ns2 = level.variance_ns2,
                         .largest_ns = level.largest_ns,
                         .peers = level.peers,
                         .stalled_rank = level.stalled_rank});
    }
    out.results = LevelToPeers(lengths);
    return out;
  }

  // Of the host, which also stalls where nobody is a peer: such a length becomes what is usual at its place.
  [[nodiscard]] std::vector<ScaledResult> LevelHost(const std::vector<int32_t>& nodes, const LevelsOfTimes& levels,
                                                    Time time) const {
    Levelled levelled = Level(nodes, levels, time);
    for (const ScaledResult& result : LevelToUsual(levelled.alone)) {
      if (InTime(graph_.node(result.node))) levelled.results.push_back(result);
    }
    return std::move(levelled.results);
  }

  void ReplaceRest(int32_t rank, const LevelsOfTimes& levels) {
    std::vector<int32_t> nodes(levels.size());
    std::iota(nodes.begin(), nodes.end(), static_cast<int32_t>(graph_.first[static_cast<size_t>(rank)]));
    for (const ScaledResult& result : Level(nodes, levels, kRest).results) {
      lengths_.device_ns[static_cast<size_t>(result.node)] += result.length_ns - RestOf(graph_.node(result.node));
    }
  }

  void Host(int32_t rank, const LevelsOfTimes& levels) {
    std::vector<int32_t> blocked;
    std::vector<int32_t> launches;
    for (const int32_t n : graph_.launched[static_cast<size_t>(rank)]) {
      (graph_.node(n).is_anchor(n) ? blocked : launches).push_back(n);
    }
    for (const ScaledResult& result : LevelHost(blocked, levels, kBlocked)) {
      lengths_.host_ns[static_cast<size_t>(result.node)] = result.length_ns;
    }
    for (const ScaledResult& result : LevelHost(launches, levels, kLaunched)) {
      lengths_.earlier_ns[static_cast<size_t>(result.node)] = LaunchedOf(graph_.node(result.node)) - result.length_ns;
    }
    int64_t earlier = 0;
    for (const int32_t n : graph_.launched[static_cast<size_t>(rank)]) {
      int64_t& own = lengths_.earlier_ns[static_cast<size_t>(n)];
      const ReplayNode& node = graph_.node(n);
      earlier = node.is_anchor(n) ? 0 : node.begins_launching ? own : earlier + own;
      own = earlier;
      if (InTime(graph_.node(n))) Uncover(n);
    }
    HostAtFirst(rank);
  }

  // A rank whose first row comes later than those of others at the same place of their programs, who begin there out of
  // nothing too, was held up by its host.
  void HostAtFirst(int32_t rank) {
    const size_t first = graph_.first[static_cast<size_t>(rank)];
    if (first == graph_.first[static_cast<size_t>(rank) + 1]) return;
    const ReplayNode& node = graph_.nodes[first];
    if (node.instance < 0 || !InTime(node)) return;
    int64_t latest_other = INT64_MIN;
    for (const int32_t like : peers_.InstancesLike(node.instance)) {
      latest_other = std::max(latest_other, LatestFirst(static_cast<size_t>(like), rank));
    }
    if (latest_other != INT64_MIN) lengths_.earlier_ns[first] = std::max<int64_t>(0, node.start_ns - latest_other);
  }

  // Start of the last of the members outside the scope that begin with this instance. Ranks that this one never waits
  // for begin when they like.
  [[nodiscard]] int64_t LatestFirst(size_t instance, int32_t rank) const {
    int64_t latest = INT64_MIN;
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      const ReplayNode& member = graph_.node(graph_.members[m]);
      const bool together = graph_.party[static_cast<size_t>(member.rank)] == graph_.party[static_cast<size_t>(rank)];
      if (!member.follows && together && !in_scope_[static_cast<size_t>(member.rank)]) {
        latest = std::max(latest, member.start_ns);
      }
    }
    return latest;
  }

  // What the host hid, as far as it now comes sooner: the device's work would not have been done before the peers'.
  void Uncover(int32_t n) {
    const ReplayNode& node = graph_.node(n);
    const auto at = static_cast<size_t>(n);
    const int64_t sooner = node.is_anchor(n) ? node.host_ns - lengths_.host_ns[at] : lengths_.earlier_ns[at];
    const int64_t hidden = std::min(node.host_ns, sooner);
    if (hidden <= 0 || !node.follows) return;
    const auto level = peers_.Level(n, in_scope_, [](const ReplayNode& peer) { return peer.device_ns; });
    if (!level) return;
    int64_t& device = lengths_.device_ns[at];
    device = std::max(device, std::min<int64_t>(std::llround(level->mean_ns), node.device_ns + hidden));
  }

  [[nodiscard]] int64_t TransferOf(const MatchedInstance& instance) const {
    int64_t last_start = INT64_MIN;
    int64_t first_end = INT64_MAX;
    for (const MatchedMember& m : instance.members) {
      last_start = std::max(last_start, m.start_ns);
      first_end = std::min(first_end, m.end_ns);
    }
    return std::max<int64_t>(0, first_end - last_start);
  }

  void Transfers() {
    const std::set<uint32_t> chosen(ideal_.communicators.begin(), ideal_.communicators.end());
    if (chosen.empty()) return;
    for (size_t i = 0; i < match_.instances.size(); ++i) {
      const MatchedInstance& instance = match_.instances[i];
      if (!instance.usable() || !chosen.contains(instance.communicator)) continue;
      const ReplayNode& any = graph_.node(graph_.members[graph_.member_first[i]]);
      if (!InTime(any)) continue;
      std::vector<int64_t> others;
      for (const int32_t like : peers_.InstancesLike(static_cast<int32_t>(i))) {
        const MatchedInstance& other = match_.instances[static_cast<size_t>(like)];
        if (other.usable() && !chosen.contains(other.communicator)) others.push_back(TransferOf(other));
      }
      if (others.empty()) continue;
      lengths_.transfer_cut_ns[i] = TransferOf(instance) - UpperMedian(std::move(others));
    }
  }

  const ReplayGraph& graph_;
  const ArrivalGraph& source_;
  const MatchResult& match_;
  const ReplayPeers& peers_;
  const Idealisation& ideal_;
  std::vector<bool> in_scope_;
  ReplayLengths& lengths_;
  RemovedWork removed_;
};

}  // namespace

std::vector<size_t> GroupsOf(const ReplayGraph& graph, const MatchResult& match, const Idealisation& ideal) {
  std::set<size_t> groups;
  for (size_t g = 0; g < graph.groups.size() && ideal.all_transfers_zero; ++g) groups.insert(g);
  for (const int32_t r : ideal.rank_indices) {
    if (r >= 0 && static_cast<size_t>(r) < graph.group_of_rank.size()) {
      groups.insert(graph.group_of_rank[static_cast<size_t>(r)]);
    }
  }
  const std::set<uint32_t> chosen(ideal.communicators.begin(), ideal.communicators.end());
  for (size_t i = 0; i < match.instances.size() && !chosen.empty(); ++i) {
    if (!chosen.contains(match.instances[i].communicator)) continue;
    for (const MatchedMember& m : match.instances[i].members) {
      groups.insert(graph.group_of_rank[static_cast<size_t>(m.rank_index)]);
    }
  }
  return {groups.begin(), groups.end()};
}

RemovedWork Idealise(const ReplayGraph& graph, const ArrivalGraph& source, const MatchResult& match,
                     const ReplayPeers& peers, const Idealisation& ideal, ReplayLengths& lengths, Executor* executor) {
  Idealiser idealiser(graph, source, match, peers, ideal, lengths);
  idealiser.Run(executor);
  return idealiser.removed();
}

}  // namespace lockstep
