#include "analysis/metrics/replay/replay_exchange.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace lockstep {
namespace {

constexpr double kNoiseWidths = 3;
constexpr double kMoreThanElsewhere = 0.02;  // by how much exchanged work stands out beside all other work

}  // namespace

ReplayExchanges::ReplayExchanges(const ReplayGraph& graph, const MatchResult& match, const std::vector<bool>& in_scope,
                                 std::function<bool(const ReplayNode&)> counts)
    : graph_(graph), match_(match), in_scope_(in_scope), counts_(std::move(counts)) {}

bool ReplayExchanges::IsExchange(const ReplayNode& node) const {
  if (node.instance < 0 || node.awaits != kEverybody) return false;
  const MatchedInstance& instance = match_.instances[static_cast<size_t>(node.instance)];
  const bool many = instance.members.size() > 2;
  return instance.op == CollectiveOp::kAllToAllV || (many && instance.op == CollectiveOp::kSendRecv);
}

bool ReplayExchanges::FollowsExchange(const ReplayNode& node) const {
  if (!IsExchange(node) || node.predecessor < 0 || node.predecessor != node.serial) return false;
  return IsExchange(graph_.node(node.predecessor));
}

template <typename Visit>
void ReplayExchanges::ForMembers(const ReplayNode& node, const Visit& visit) const {
  const auto at = static_cast<size_t>(node.instance);
  for (size_t m = graph_.member_first[at]; m < graph_.member_first[at + 1]; ++m) visit(graph_.members[m]);
}

bool ReplayExchanges::LevelTransfers(int32_t rank, ReplayLengths& lengths) const {
  std::vector<std::pair<size_t, double>> own;  // node, its part of the exchange
  double sum = 0;
  double surplus = 0;
  double squares = 0;
  for (size_t n = graph_.first[static_cast<size_t>(rank)]; n < graph_.first[static_cast<size_t>(rank) + 1]; ++n) {
    const ReplayNode& node = graph_.nodes[n];
    if (!counts_(node) || !IsExchange(node)) continue;
    int64_t last_start_ns = INT64_MIN;
    double peers = 0;
    double count = 0;
    ForMembers(node, [&](int32_t m) { last_start_ns = std::max(last_start_ns, graph_.node(m).start_ns); });
    ForMembers(node, [&](int32_t m) {
      const ReplayNode& member = graph_.node(m);
      if (in_scope_[static_cast<size_t>(member.rank)] || member.awaits != kEverybody) return;
      peers += static_cast<double>(member.end_ns - last_start_ns);
      ++count;
    });
    if (count == 0) continue;
    const auto part = static_cast<double>(node.end_ns - last_start_ns);
    const double more = part - peers / count;
    own.emplace_back(n, part);
    sum += part;
    surplus += more;
    squares += more * more;
  }
  const auto count = static_cast<double>(own.size());
  if (count < 2 || sum <= 0) return false;
  const double variance = std::max(0.0, squares - surplus * surplus / count) / (count - 1);
  if (surplus <= kNoiseWidths * std::sqrt(variance * count)) return false;
  for (const auto& [n, part] : own) lengths.member_cut_ns[n] = std::llround(part * surplus / sum);
  return true;
}

void ReplayExchanges::Compare(const ReplayNode& node, int32_t n, Compared& to) const {
  double peers = 0;
  double all = 0;
  double peer_count = 0;
  double count = 0;
  ForMembers(node, [&](int32_t m) {
    const ReplayNode& member = graph_.node(m);
    const auto compute = static_cast<double>(member.compute_ns);
    all += compute;
    ++count;
    if (in_scope_[static_cast<size_t>(member.rank)]) return;
    peers += compute;
    ++peer_count;
  });
  if (peer_count == 0) return;
  to.nodes.push_back(n);
  to.own_ns += static_cast<double>(node.compute_ns);
  to.peers_ns += peers / peer_count;
  to.everybody_ns += all / count;
}

ExchangedWork ReplayExchanges::WorkOf(int32_t rank) const {
  Compared exchanged[2];  // before every other exchange of a step: the work between the ways there and back, and other
  Compared other;
  for (size_t n = graph_.first[static_cast<size_t>(rank)]; n < graph_.first[static_cast<size_t>(rank) + 1]; ++n) {
    const ReplayNode& node = graph_.nodes[n];
    if (!counts_(node) || node.instance < 0 || node.predecessor < 0) continue;
    const int32_t ordinal = graph_.positions[static_cast<size_t>(node.position)].ordinal;
    Compare(node, static_cast<int32_t>(n), FollowsExchange(node) ? exchanged[ordinal % 2] : other);
  }
  if (exchanged[0].surplus() > exchanged[1].surplus()) std::swap(exchanged[0], exchanged[1]);
  other.own_ns += exchanged[0].own_ns;
  other.peers_ns += exchanged[0].peers_ns;
  const bool dealt_out = exchanged[1].surplus() > 2 * std::max(0.0, other.surplus()) + kMoreThanElsewhere;
  return {std::move(exchanged[1]), dealt_out};
}

void ReplayExchanges::ShareOut(const ExchangedWork& exchanged, ReplayLengths& lengths) const {
  const Compared& work = exchanged.work;
  const double own = work.own_ns > 0 ? work.everybody_ns / work.own_ns : 1;
  const double peers = work.peers_ns > 0 ? work.everybody_ns / work.peers_ns : 1;
  for (const int32_t n : work.nodes) {
    ForMembers(graph_.node(n), [&](int32_t m) {
      const ReplayNode& member = graph_.node(m);
      const bool is_own = m == n;
      if (!is_own && in_scope_[static_cast<size_t>(member.rank)]) return;
      const auto compute = static_cast<double>(member.compute_ns);
      lengths.device_ns[static_cast<size_t>(m)] += std::llround(compute * ((is_own ? own : peers) - 1));
    });
  }
}

}  // namespace lockstep
