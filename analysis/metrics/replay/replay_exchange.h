// What a member of uneven exchanges (all-to-all) does itself beyond its own time: a rank with more work sends and
// fetches more, and a rank whose experts are favoured gets tokens that the others then lack. Pure. Units: ns.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/metrics/replay/replay_run.h"

namespace lockstep {

// Compute of one rank at some of its nodes, beside that of the other members of the same instances.
struct Compared {
  std::vector<int32_t> nodes;
  double own_ns = 0;
  double peers_ns = 0;      // mean of the members outside the scope, summed
  double everybody_ns = 0;  // mean of all members, summed

  [[nodiscard]] double surplus() const { return peers_ns > 0 ? own_ns / peers_ns - 1 : 0; }
  void Add(const Compared& more);
};

// One rank's own parts of its exchanges, beside those of the other members; summed.
struct LevelledTransfers {
  std::vector<int32_t> nodes;
  bool longer = false;  // than the others', beyond their noise
  double own_ns = 0;
  double peers_ns = 0;      // mean of the members outside the scope
  double everybody_ns = 0;  // mean of these and the rank itself

  [[nodiscard]] double surplus() const { return peers_ns > 0 ? own_ns / peers_ns - 1 : 0; }
};

// What one rank does between the way there and the way back.
struct ExchangedWork {
  Compared work;
  bool dealt_out = false;  // the exchange gave this rank more than the others: its level is everybody's mean
};

class ReplayExchanges {
 public:
  // Borrows all. `in_scope`: by rank. `counts`: whether a node is to be idealised at all.
  ReplayExchanges(const ReplayGraph& graph, const MatchResult& match, const std::vector<bool>& in_scope,
                  std::function<bool(const ReplayNode&)> counts);

  // Cuts what the rank's own part of the exchanges takes longer than that of the members outside the scope, if that is
  // beyond their noise.
  LevelledTransfers LevelTransfers(int32_t rank, ReplayLengths& lengths) const;

  // Needs the transfers to be longer: who computes more though it did not exchange more is merely slow.
  [[nodiscard]] ExchangedWork WorkOf(int32_t rank, const LevelledTransfers& transfers) const;
  // Gives everybody the same share of the transfers, in place of the cuts of LevelTransfers.
  void ShareTransfers(const LevelledTransfers& transfers, ReplayLengths& lengths) const;
  // Gives everybody the same share of that work.
  void ShareOut(const ExchangedWork& work, ReplayLengths& lengths) const;

 private:
  struct Parts {
    double own_ns = 0;
    double peers_ns = 0;
    int32_t peers = 0;
  };

  [[nodiscard]] int64_t LastStart(const ReplayNode& node) const;
  // From the last start of the instance to the ends; nothing where no member outside the scope waited for it.
  [[nodiscard]] std::optional<Parts> PartsOf(const ReplayNode& node) const;
  [[nodiscard]] bool IsExchange(const ReplayNode& node) const;
  // Its own time begins at the end of the exchange before it.
  [[nodiscard]] bool FollowsExchange(int32_t n) const;
  void Compare(const ReplayNode& node, int32_t n, Compared& to) const;
  template <typename Visit>
  void ForMembers(const ReplayNode& node, const Visit& visit) const;

  const ReplayGraph& graph_;
  const MatchResult& match_;
  const std::vector<bool>& in_scope_;
  std::function<bool(const ReplayNode&)> counts_;
};

}  // namespace lockstep
