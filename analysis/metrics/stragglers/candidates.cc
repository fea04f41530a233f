#include "analysis/metrics/stragglers/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

void KeepMeasured(const std::vector<double>& by_unit, Candidate& candidate) {
  for (size_t unit = 0; unit < by_unit.size(); ++unit) {
    if (!std::isnan(by_unit[unit])) candidate.Add(unit, by_unit[unit]);
  }
}

class OwnCandidates {
 public:
  explicit OwnCandidates(const CandidateInput& input) : input_(input), peers_(input.own.size()) { FindPeers(); }

  std::vector<Candidate> Build() {
    AddRanks();
    AddHosts();
    AddPlaces();
    AddStages();
    AddCommunicators();
    return std::move(out_);
  }

 private:
  // Ranks that do comparable work: of one stage, with finest communicators of one size.
  void FindPeers() {
    std::map<std::pair<int32_t, int32_t>, std::vector<size_t>> classes;
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      if (input_.own[rank].units >= 2) classes[{input_.positions.stage[rank], SizeOf(rank)}].push_back(rank);
    }
    for (const auto& [key, ranks] : classes) {
      for (const size_t rank : ranks) peers_[rank] = ranks;
    }
  }

  [[nodiscard]] int32_t SizeOf(size_t rank) const {
    const int32_t communicator = input_.own[rank].communicator;
    return communicator < 0 ? -1 : input_.match.communicators[static_cast<size_t>(communicator)].size;
  }

  Candidate Make(StragglerScope scope, std::string id, std::vector<int32_t> ranks, size_t family) const {
    Candidate candidate;
    candidate.scope = scope;
    candidate.id = std::move(id);
    candidate.rank_indices = std::move(ranks);
    candidate.floor_ns = kMinEffectRatio * static_cast<double>(input_.units.unit_ns);
    candidate.family = family;
    return candidate;
  }

  void Keep(Candidate candidate) {
    if (candidate.series.size() >= 2) out_.push_back(std::move(candidate));
  }

  // A rank against the members of its finest communicator; where that does not couple all with all, against the ranks
  // that do the same work.
  void AddRanks() {
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      const RankOwnTime& own = input_.own[rank];
      const std::vector<int32_t> self = {static_cast<int32_t>(rank)};
      Candidate candidate = Make(StragglerScope::kRank, fmt::format("{}", input_.ranks.ranks[rank].rank), self, kRanks);
      if (own.compared) {
        KeepMeasured(own.excess_ns, candidate);
        for (size_t p = 0; p < kLatenessParts; ++p) {
          candidate.parts[p] = own.excess_parts[p] / static_cast<double>(std::max<int64_t>(1, own.units));
        }
      } else {
        Compare(self, peers_[rank], candidate);
      }
      Keep(std::move(candidate));
    }
  }

  void AddHosts() {
    for (const HostRanks& host : input_.positions.hosts)
      AddGroup(StragglerScope::kHost, host.name, host.rank_indices, kHosts);
  }

  void AddPlaces() {
    std::map<int32_t, std::vector<int32_t>> places;
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      if (input_.positions.local_index[rank] >= 0) {
        places[input_.positions.local_index[rank]].push_back(static_cast<int32_t>(rank));
      }
    }
    for (const auto& [place, ranks] : places) {
      AddGroup(StragglerScope::kGpu, fmt::format("gpu {}", place), ranks, kPlaces);
    }
  }

  // Stages are compared with each other: their ranks' peers are all ranks of communicators of that size.
  void AddStages() {
    std::map<int32_t, std::vector<int32_t>> stages;
    std::vector<size_t> all;
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      if (input_.positions.stage[rank] < 0 || input_.own[rank].units < 2) continue;
      stages[input_.positions.stage[rank]].push_back(static_cast<int32_t>(rank));
      all.push_back(rank);
    }
    if (stages.size() < 2) return;
    for (const auto& [stage, ranks] : stages) {
      Candidate candidate = Make(StragglerScope::kStage, fmt::format("stage {}", stage), ranks, kStages);
      Compare(ranks, all, candidate);
      Keep(std::move(candidate));
    }
  }

  void AddCommunicators() {
    std::map<int32_t, std::vector<int32_t>> groups;
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      if (input_.own[rank].communicator >= 0)
        groups[input_.own[rank].communicator].push_back(static_cast<int32_t>(rank));
    }
    for (const auto& [communicator, ranks] : groups) {
      AddGroup(StragglerScope::kCommunicator, input_.match.communicators[static_cast<size_t>(communicator)].id, ranks,
               kCommunicators);
    }
  }

  // Not for single ranks, nor for the same ranks twice (a communicator that is a host).
  void AddGroup(StragglerScope scope, const std::string& id, const std::vector<int32_t>& ranks, size_t family) {
    if (ranks.size() < 2 || !groups_.insert(ranks).second) return;
    Candidate candidate = Make(scope, id, ranks, family);
    Compare(ranks, peers_[static_cast<size_t>(ranks.front())], candidate);
    Keep(std::move(candidate));
  }

  // Excess of the lower median of the members over the mean of the peers that are none, unit by unit.
  void Compare(const std::vector<int32_t>& members, const std::vector<size_t>& peers, Candidate& candidate) const {
    std::vector<size_t> inside;
    std::vector<size_t> outside;
    for (const size_t peer : peers) {
      const bool member = std::binary_search(members.begin(), members.end(), static_cast<int32_t>(peer));
      (member ? inside : outside).push_back(peer);
    }
    if (inside.empty() || outside.empty()) return;
    for (size_t unit = 0; unit < input_.units.count; ++unit) AddUnit(inside, outside, unit, candidate);
    const OwnParts in = MeanParts(inside);
    const OwnParts out = MeanParts(outside);
    for (size_t p = 0; p < kLatenessParts; ++p) candidate.parts[p] = in[p] - out[p];
  }

  void AddUnit(const std::vector<size_t>& inside, const std::vector<size_t>& outside, size_t unit,
               Candidate& candidate) const {
    double sum = 0;
    double count = 0;
    for (const size_t rank : outside) {
      const double own = input_.own[rank].own_ns[unit];
      if (std::isnan(own)) continue;
      sum += own;
      ++count;
    }
    std::vector<double> own_of_members;
    for (const size_t rank : inside) {
      const double own = input_.own[rank].own_ns[unit];
      if (!std::isnan(own)) own_of_members.push_back(own);
    }
    // Captures begin and end at different moments: the few that are there do not speak for the group.
    if (count == 0 || own_of_members.empty() || 2 * own_of_members.size() < inside.size()) return;
    candidate.Add(unit, LowerMedian(own_of_members) - sum / count);
  }

  [[nodiscard]] OwnParts MeanParts(const std::vector<size_t>& ranks) const {
    OwnParts mean{};
    for (const size_t rank : ranks) {
      const auto weight =
          static_cast<double>(std::max<int64_t>(1, input_.own[rank].units)) * static_cast<double>(ranks.size());
      for (size_t p = 0; p < kLatenessParts; ++p) mean[p] += input_.own[rank].own_parts[p] / weight;
    }
    return mean;
  }

  enum Family : size_t { kRanks, kHosts, kPlaces, kStages, kCommunicators };

  const CandidateInput& input_;
  std::vector<std::vector<size_t>> peers_;  // by rank index, itself included
  std::set<std::vector<int32_t>> groups_;
  std::vector<Candidate> out_;
};

}  // namespace

std::vector<Candidate> BuildCandidates(const CandidateInput& input) {
  std::vector<Candidate> candidates = OwnCandidates(input).Build();
  for (Candidate& transfer : TransferCandidates(input)) candidates.push_back(std::move(transfer));
  return candidates;
}

}  // namespace lockstep
