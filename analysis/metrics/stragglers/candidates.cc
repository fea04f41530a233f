#include "analysis/metrics/stragglers/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/metrics/stragglers/excess_besides.h"
#include "analysis/metrics/stragglers/late_alike.h"
#include "analysis/metrics/stragglers/one_of_two.h"
#include "analysis/metrics/stragglers/stalls.h"
#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

class OwnCandidates {
 public:
  explicit OwnCandidates(const CandidateInput& input)
      : input_(input), besides_(input.late.ranks, input.own), class_of_(input.own.size(), -1) {
    FindClasses();
    FindMixed();
  }

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
  void FindClasses() {
    std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      if (input_.own[rank].units < 2) continue;
      const auto [at, added] =
          numbers.try_emplace({input_.positions.stage[rank], SizeOf(rank)}, static_cast<int32_t>(classes_.size()));
      if (added) classes_.emplace_back();
      class_of_[rank] = at->second;
      classes_[static_cast<size_t>(at->second)].push_back(rank);
    }
  }

  // Communicators whose members are of several stages, so that they do different work.
  void FindMixed() {
    std::map<int32_t, int32_t> stage_of;
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      const int32_t communicator = input_.own[rank].communicator;
      const auto [at, added] = stage_of.try_emplace(communicator, input_.positions.stage[rank]);
      if (at->second != input_.positions.stage[rank]) mixed_.insert(communicator);
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

  // A rank against the members of its finest communicator; where that does not couple all with all, joins ranks of
  // several stages, or has no other member that is on time, against the ranks that do the same work. Who holds up even
  // late members at some places of a unit is compared with these.
  void AddRanks() {
    for (size_t rank = 0; rank < input_.own.size(); ++rank) {
      const RankOwnTime& own = input_.own[rank];
      const std::vector<int32_t> self = {static_cast<int32_t>(rank)};
      Candidate candidate = Make(StragglerScope::kRank, fmt::format("{}", input_.ranks.ranks[rank].rank), self, kRanks);
      const bool coupled = own.compared && !mixed_.contains(own.communicator);
      const bool hidden = coupled && IsHidden(rank) && HasOthersOfItsClass(rank);
      if (!coupled || (hidden && !IsLateAtSomePlaces(rank))) Compare(self, candidate);
      candidate.with_members = coupled && candidate.series.empty();
      if (candidate.with_members) {
        CompareWithMembers(rank, candidate);
      } else if (candidate.series.empty()) {
        CompareWithItself(rank, candidate);
      }
      Keep(std::move(candidate));
    }
    for (Candidate& candidate : out_) {
      if (candidate.with_itself) candidate.quiet = quiet_;
    }
  }

  [[nodiscard]] bool IsHidden(size_t rank) const {
    return std::binary_search(input_.late.hidden.begin(), input_.late.hidden.end(), static_cast<int32_t>(rank));
  }

  // In other communicators.
  [[nodiscard]] bool HasOthersOfItsClass(size_t rank) const {
    if (class_of_[rank] < 0) return false;
    const std::vector<size_t>& alike = classes_[static_cast<size_t>(class_of_[rank])];
    return std::any_of(alike.begin(), alike.end(),
                       [&](size_t other) { return input_.own[other].communicator != input_.own[rank].communicator; });
  }

  void AddExcess(size_t rank, Candidate& candidate) const {
    const RankOwnTime& own = input_.own[rank];
    for (size_t unit = 0; unit < own.excess_ns.size(); ++unit) {
      if (!std::isnan(own.excess_ns[unit])) candidate.Add(unit, besides_.Of(rank, unit));
    }
    candidate.parts = besides_.PartsOf(rank);
  }

  void CompareWithMembers(size_t rank, Candidate& candidate) const {
    const RankOwnTime& own = input_.own[rank];
    AddExcess(rank, candidate);
    LeaveOutEarlyPlaces(rank, candidate);
    for (double& part : candidate.parts) part /= static_cast<double>(std::max<int64_t>(1, own.units));
    if (SizeOf(rank) == 2) LeaveOutTheOther(candidate);
  }

  [[nodiscard]] bool IsLateAtSomePlaces(size_t rank) const {
    Candidate candidate = Make(StragglerScope::kRank, "", {}, kRanks);
    AddExcess(rank, candidate);
    return LeaveOutEarlyPlaces(rank, candidate);
  }

  // Leaves out the places at which the rank is early if it is late in the rest of the unit nevertheless. False: it is
  // not, and all stays as it is.
  bool LeaveOutEarlyPlaces(size_t rank, Candidate& candidate) const {
    const std::vector<size_t> places = besides_.EarlyPlaces(rank);
    std::vector<double> rest = candidate.series;
    OwnParts parts = candidate.parts;
    for (const size_t place : places) {
      for (size_t i = 0; i < rest.size(); ++i) rest[i] -= besides_.At(rank, place, candidate.units[i]);
      const OwnParts of_place = besides_.PartsAt(rank, place);
      for (size_t p = 0; p < kLatenessParts; ++p) parts[p] -= of_place[p];
    }
    const double sum = std::accumulate(rest.begin(), rest.end(), 0.0);
    if (places.empty() || sum <= candidate.floor_ns * static_cast<double>(rest.size())) return false;
    candidate.series = std::move(rest);
    candidate.parts = parts;
    return true;
  }

  // Where nobody does the same work: its host against what is usual for it. Only stalls show there, and who has none is
  // not tested.
  void CompareWithItself(size_t rank, Candidate& candidate) {
    const RankOwnTime& own = input_.own[rank];
    if (own.units < 2) return;
    candidate.with_itself = true;
    std::vector<double> host = own.lone_host_ns;
    host.erase(std::remove_if(host.begin(), host.end(), [](double value) { return std::isnan(value); }), host.end());
    const double usual = LowLevelOf(host).level;  // it may stall in most of them
    for (size_t unit = 0; unit < own.lone_host_ns.size(); ++unit) {
      if (std::isnan(own.lone_host_ns[unit])) continue;
      candidate.Add(unit, own.lone_host_ns[unit] - usual);
      candidate.parts[static_cast<size_t>(LatenessPart::kHost)] +=
          candidate.series.back() / static_cast<double>(own.units);
    }
    if (Stalls(candidate)) return;
    ++quiet_.ranks;
    quiet_.far_units += CountFarUnits(candidate);
    candidate.series.clear();
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
      if (IsOfOneThatStalls(ranks)) continue;
      Candidate candidate = Make(StragglerScope::kStage, fmt::format("stage {}", stage), ranks, kStages);
      CompareWith(SidesOf(ranks, all), candidate);
      Keep(std::move(candidate));
    }
  }

  // The only rank of a stage is told against its own other steps if it stalls. Against other stages, which do other
  // work, it would be late by what these differ by.
  [[nodiscard]] bool IsOfOneThatStalls(const std::vector<int32_t>& ranks) const {
    return ranks.size() == 1 && std::any_of(out_.begin(), out_.end(), [&ranks](const Candidate& it) {
             return it.with_itself && it.rank_indices == ranks;
           });
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
    Compare(ranks, candidate);
    Keep(std::move(candidate));
  }

  // Members of a group, and ranks that do the same work and are none.
  struct Sides {
    std::vector<size_t> inside;
    std::vector<size_t> outside;
  };

  [[nodiscard]] Sides SidesOf(const std::vector<int32_t>& members, const std::vector<size_t>& peers) const {
    Sides sides;
    std::vector<size_t> late;
    for (const size_t peer : peers) {
      const auto rank = static_cast<int32_t>(peer);
      if (std::binary_search(members.begin(), members.end(), rank)) {
        sides.inside.push_back(peer);
      } else {
        (std::binary_search(input_.late.ranks.begin(), input_.late.ranks.end(), rank) ? late : sides.outside)
            .push_back(peer);
      }
    }
    if (sides.outside.empty()) sides.outside = std::move(late);
    return sides;
  }

  // Each member against those that do the same work as it does. Where nobody outside the group does what one of them
  // does, the group is not compared.
  void Compare(const std::vector<int32_t>& members, Candidate& candidate) const {
    std::set<int32_t> classes;
    for (const int32_t rank : members) classes.insert(class_of_[static_cast<size_t>(rank)]);
    classes.erase(-1);
    std::vector<Sides> sides;
    for (const int32_t number : classes) {
      sides.push_back(SidesOf(members, classes_[static_cast<size_t>(number)]));
      if (sides.back().outside.empty()) return;
    }
    CompareAll(sides, candidate);
  }

  void CompareWith(const Sides& sides, Candidate& candidate) const {
    if (!sides.inside.empty() && !sides.outside.empty()) CompareAll({sides}, candidate);
  }

  void CompareAll(const std::vector<Sides>& sides, Candidate& candidate) const {
    if (sides.empty()) return;
    std::vector<std::vector<double>> excess;  // [unit][member]
    for (size_t unit = 0; unit < input_.units.count; ++unit) excess.push_back(ExcessOfMembers(sides, unit));
    const bool alike = AreLateAlike(excess);
    for (size_t unit = 0; unit < excess.size(); ++unit) AddUnit(excess[unit], alike, unit, candidate);
    if (candidate.rank_indices.size() > 1 && !alike && AreLateApart(excess, candidate.series, candidate.floor_ns)) {
      candidate.series.clear();
      return;
    }
    size_t count = 0;
    for (const Sides& of : sides) count += of.inside.size();
    for (const Sides& of : sides) {
      const OwnParts in = MeanParts(of.inside);
      const OwnParts out = MeanParts(of.outside);
      const double weight = static_cast<double>(of.inside.size()) / static_cast<double>(count);
      for (size_t p = 0; p < kLatenessParts; ++p) candidate.parts[p] += weight * (in[p] - out[p]);
    }
  }

  // Each member's own time over the mean of its peers outside; NaN where it, or all of those, have none.
  [[nodiscard]] std::vector<double> ExcessOfMembers(const std::vector<Sides>& sides, size_t unit) const {
    std::vector<double> excess;
    for (const Sides& of : sides) {
      double sum = 0;
      double count = 0;
      for (const size_t rank : of.outside) {
        const double own = input_.own[rank].own_ns[unit];
        if (std::isnan(own)) continue;
        sum += own;
        ++count;
      }
      for (const size_t rank : of.inside) excess.push_back(input_.own[rank].own_ns[unit] - sum / count);
    }
    return excess;
  }

  // Excess of the group in a unit: the mean of members that are late alike. Else the lower median, which one late
  // member does not raise.
  static void AddUnit(std::vector<double> excess, bool alike, size_t unit, Candidate& candidate) {
    const size_t members = excess.size();
    excess.erase(std::remove_if(excess.begin(), excess.end(), [](double own) { return std::isnan(own); }),
                 excess.end());
    // Captures begin and end at different moments: the few that are there do not speak for the group.
    if (excess.empty() || 2 * excess.size() < members) return;
    const double sum = std::accumulate(excess.begin(), excess.end(), 0.0);
    candidate.Add(unit, alike ? sum / static_cast<double>(excess.size()) : LowerMedian(excess));
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
  ExcessBesides besides_;
  std::vector<std::vector<size_t>> classes_;  // of ranks that do comparable work, ascending
  std::vector<int32_t> class_of_;             // by rank index; -1: it was not measured
  std::set<int32_t> mixed_;                   // communicators
  std::set<std::vector<int32_t>> groups_;
  QuietRanks quiet_;
  std::vector<Candidate> out_;
};

}  // namespace

std::vector<Candidate> BuildCandidates(const CandidateInput& input) {
  std::vector<Candidate> candidates = OwnCandidates(input).Build();
  for (Candidate& transfer : TransferCandidates(input)) candidates.push_back(std::move(transfer));
  return candidates;
}

}  // namespace lockstep
