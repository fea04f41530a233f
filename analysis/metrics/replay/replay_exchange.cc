#include "analysis/metrics/replay/replay_exchange.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace lockstep {
namespace {

constexpr double kSurplusNoiseWidths = 4;
constexpr double kShortPlace = 0.05;         // of the longest place: shorter ones are noise
constexpr double kTransferShare = 0.25;      // whoever gets so much more work exchanges at least this share of it more
constexpr double kMoreThanElsewhere = 0.02;  // by how much exchanged work stands out beside all other work

// Where the surplus of a rank's places of the program begins to be high: half way from the least to the most, and
// everywhere if these are alike. Short places are noise.
class HighPlaces {
 public:
  explicit HighPlaces(const std::map<int32_t, Compared>& places) {
    for (const auto& [position, place] : places) longest_ns_ = std::max(longest_ns_, place.peers_ns);
    for (const auto& [position, place] : places) {
      if (!Tells(place)) continue;
      least_ = std::min(least_, place.surplus());
      most_ = std::max(most_, place.surplus());
    }
  }

  [[nodiscard]] bool Hold(const Compared& place) const {
    const bool all_alike = most_ - least_ < kMoreThanElsewhere;
    return Tells(place) && (all_alike || place.surplus() > (least_ + most_) / 2);
  }

 private:
  [[nodiscard]] bool Tells(const Compared& place) const { return place.peers_ns >= kShortPlace * longest_ns_; }

  double longest_ns_ = 0;
  double least_ = INFINITY;
  double most_ = -INFINITY;
};

}  // namespace

void Compared::Add(const Compared& more) {
  nodes.insert(nodes.end(), more.nodes.begin(), more.nodes.end());
  own_ns += more.own_ns;
  peers_ns += more.peers_ns;
  everybody_ns += more.everybody_ns;
}

ReplayExchanges::ReplayExchanges(const ReplayGraph& graph, const MatchResult& match, const std::vector<bool>& in_scope,
                                 std::function<bool(const ReplayNode&)> counts)
    : graph_(graph), match_(match), in_scope_(in_scope), counts_(std::move(counts)) {}

bool ReplayExchanges::IsExchange(const ReplayNode& node) const {
  if (node.instance < 0 || node.awaits != kEverybody) return false;
  const MatchedInstance& instance = match_.instances[static_cast<size_t>(node.instance)];
  return IsUnevenExchange(instance.op, instance.members.size());
}

bool ReplayExchanges::FollowsExchange(int32_t n) const {
  const ReplayNode& node = graph_.node(n);
  return IsExchange(node) && node.follows && node.serial == n - 1 && IsExchange(graph_.node(n - 1));
}

template <typename Visit>
void ReplayExchanges::ForMembers(const ReplayNode& node, const Visit& visit) const {
  const auto at = static_cast<size_t>(node.instance);
  for (size_t m = graph_.member_first[at]; m < graph_.member_first[at + 1]; ++m) visit(graph_.members[m]);
}

int64_t ReplayExchanges::LastStart(const ReplayNode& node) const {
  int64_t last_ns = INT64_MIN;
  ForMembers(node, [&](int32_t m) { last_ns = std::max(last_ns, graph_.node(m).start_ns); });
  return last_ns;
}

std::optional<ReplayExchanges::Parts> ReplayExchanges::PartsOf(const ReplayNode& node) const {
  const int64_t last_start_ns = LastStart(node);
  Parts out;
  out.own_ns = static_cast<double>(node.end_ns - last_start_ns);
  double sum = 0;
  ForMembers(node, [&](int32_t m) {
    const ReplayNode& member = graph_.node(m);
    if (in_scope_[static_cast<size_t>(member.rank)] || member.awaits != kEverybody) return;
    sum += static_cast<double>(member.end_ns - last_start_ns);
    ++out.peers;
  });
  if (out.peers == 0) return std::nullopt;
  out.peers_ns = sum / static_cast<double>(out.peers);
  return out;
}

LevelledTransfers ReplayExchanges::LevelTransfers(int32_t rank, ReplayLengths& lengths) const {
  LevelledTransfers out;
  double squares = 0;
  std::vector<std::pair<size_t, double>> own;  // node, its part of the exchange
  for (size_t n = graph_.first[static_cast<size_t>(rank)]; n < graph_.first[static_cast<size_t>(rank) + 1]; ++n) {
    const ReplayNode& node = graph_.nodes[n];
    if (!counts_(node) || !IsExchange(node)) continue;
    const std::optional<Parts> parts = PartsOf(node);
    if (!parts) continue;
    own.emplace_back(n, parts->own_ns);
    out.own_ns += parts->own_ns;
    out.peers_ns += parts->peers_ns;
    out.everybody_ns += (parts->own_ns + parts->peers_ns * parts->peers) / (parts->peers + 1);
    squares += (parts->own_ns - parts->peers_ns) * (parts->own_ns - parts->peers_ns);
  }
  const auto count = static_cast<double>(own.size());
  if (count < 2 || out.own_ns <= 0) return out;
  const double surplus = out.own_ns - out.peers_ns;
  const double variance = std::max(0.0, squares - surplus * surplus / count) / (count - 1);
  out.longer = surplus > kSurplusNoiseWidths * std::sqrt(variance * count);
  if (!out.longer) return out;
  for (const auto& [n, part] : own) {
    lengths.member_cut_ns[n] = std::llround(part * surplus / out.own_ns);
    out.nodes.push_back(static_cast<int32_t>(n));
  }
  return out;
}

void ReplayExchanges::ShareTransfers(const LevelledTransfers& transfers, ReplayLengths& lengths) const {
  if (transfers.own_ns <= 0 || transfers.peers_ns <= 0) return;
  const double own = 1 - transfers.everybody_ns / transfers.own_ns;
  const double peers = 1 - transfers.everybody_ns / transfers.peers_ns;  // below zero: theirs becomes longer
  for (const int32_t n : transfers.nodes) {
    const int64_t last_start_ns = LastStart(graph_.node(n));
    ForMembers(graph_.node(n), [&](int32_t m) {
      const ReplayNode& member = graph_.node(m);
      const bool is_own = m == n;
      if (member.awaits != kEverybody || (!is_own && in_scope_[static_cast<size_t>(member.rank)])) return;
      const auto part = static_cast<double>(member.end_ns - last_start_ns);
      int64_t& cut = lengths.member_cut_ns[static_cast<size_t>(m)];
      cut = std::llround(part * (is_own ? own : peers)) + (is_own ? 0 : cut);
    });
  }
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

// Own time from one exchange to the next one of the same communicator lies between the way there and the way back at
// some places of the program, and between layers at others: these have all of the surplus, those none.
ExchangedWork ReplayExchanges::WorkOf(int32_t rank, const LevelledTransfers& transfers) const {
  std::map<int32_t, Compared> places;
  Compared other;
  for (size_t n = graph_.first[static_cast<size_t>(rank)]; n < graph_.first[static_cast<size_t>(rank) + 1]; ++n) {
    const ReplayNode& node = graph_.nodes[n];
    if (!counts_(node) || node.instance < 0 || !node.follows) continue;
    Compare(node, static_cast<int32_t>(n), FollowsExchange(static_cast<int32_t>(n)) ? places[node.position] : other);
  }
  const HighPlaces high(places);
  ExchangedWork out;
  for (const auto& [position, place] : places) (high.Hold(place) ? out.work : other).Add(place);
  out.dealt_out = out.work.surplus() > 2 * std::max(0.0, other.surplus()) + kMoreThanElsewhere &&
                  transfers.surplus() > kTransferShare * out.work.surplus();
  return out;
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
