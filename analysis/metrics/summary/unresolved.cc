// What of the communication cannot be told, and why: it comes first where it could change who is named.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analysis/metrics/summary/summary.h"

namespace lockstep {
namespace {

constexpr double kLeastRatio = 0.03;  // of the fleet's time; less does not change what an engineer does next

Unresolved MainReason(const JoinedTotals& joined) {
  const auto largest = std::max_element(joined.unresolved_ns.begin(), joined.unresolved_ns.end());
  if (*largest <= 0) return Unresolved::kUnmatched;
  return static_cast<Unresolved>(largest - joined.unresolved_ns.begin());
}

// What the worst of the named ones certainly cost, as a share of the fleet's time.
double CertainlyCaused(const FleetMeasures& measures, const std::vector<Culprit>& culprits) {
  double most = 0;
  for (const Culprit& culprit : culprits) {
    if (!culprit.open) most = std::max(most, Share(culprit.caused_wait_ns, measures.RankTime()));
  }
  return most;
}

bool AreAllInferred(const std::vector<Communicator>& groups) {
  return std::all_of(groups.begin(), groups.end(), [](const Communicator& group) { return group.inferred; });
}

// Hardly any communication is known. If all that are here wait for a rank that is not, they wait equally long: in a
// kernel that nobody classified that looks like computing.
bool IsLittle(const TimeShare& share) {
  return share.exposed_wait + share.exposed_transfer + share.exposed_unresolved < kLeastRatio;
}

}  // namespace

std::string_view Name(Unresolved reason) {
  switch (reason) {
    case Unresolved::kMissingRecord:
      return "missing_record";
    case Unresolved::kUnknownRole:
      return "unknown_role";
    case Unresolved::kUnmatched:
      return "unmatched";
    case Unresolved::kClocks:
      return "clocks";
    case Unresolved::kUnknownKernel:
      return "unknown_kernel";
  }
  return "";
}

std::vector<int32_t> RanksWithoutTrace(const Fleet& fleet) {
  std::set<int32_t> present;
  for (const ResolvedRank& rank : fleet.ranks.ranks) present.insert(rank.rank);
  std::set<int32_t> missing(fleet.ranks.missing_ranks.begin(), fleet.ranks.missing_ranks.end());
  for (const Communicator& communicator : fleet.match.communicators) {
    for (const int32_t member : communicator.members) {
      if (!present.contains(member)) missing.insert(member);
    }
  }
  return {missing.begin(), missing.end()};
}

std::optional<UnresolvedTime> ComputeUnresolved(const Fleet& fleet, const FleetMeasures& measures,
                                                const std::optional<TimeShare>& share,
                                                const std::vector<Culprit>& culprits,
                                                std::optional<WaitingKernel> kernel) {
  if (!share) return std::nullopt;
  const double in_kernel = kernel ? Share(kernel->excess_ns, measures.RankTime()) : 0;
  UnresolvedTime out;
  out.ratio = std::max(share->exposed_unresolved, in_kernel);
  if (in_kernel <= 0 && culprits.empty() && IsLittle(*share)) {
    if (std::vector<int32_t> missing = RanksWithoutTrace(fleet); !missing.empty()) {
      out.reason = Unresolved::kMissingRecord;
      out.missing_ranks = std::move(missing);
      out.leads = out.little_known = true;
      return out;
    }
  }
  if (out.ratio <= 0) return std::nullopt;
  out.leads = out.ratio >= kLeastRatio && out.ratio > CertainlyCaused(measures, culprits);
  out.reason = MainReason(measures.joined);
  if (in_kernel > share->exposed_unresolved) {
    // Its time counts as computing: whoever waits in it looks late elsewhere.
    out.leads = kernel->worst_ratio >= kLeastRatio;
    out.kernel = std::move(kernel);
    out.reason = Unresolved::kUnknownKernel;
    return out;
  }
  if (out.reason != Unresolved::kMissingRecord) return out;
  out.groups_inferred = AreAllInferred(fleet.match.communicators);
  out.missing_ranks = RanksWithoutTrace(fleet);
  if (!out.missing_ranks.empty()) return out;
  if (!fleet.ranks.silent_ranks.empty()) {
    out.lacking_rank = fleet.ranks.silent_ranks.front();
  } else if (!fleet.match.lost.empty()) {
    out.lacking_rank = fleet.ranks.ranks[static_cast<size_t>(fleet.match.lost.front().rank_index)].rank;
  }
  return out;
}

bool AssumesAllRanks(const Fleet& fleet) {
  if (fleet.members.size() < 2 || fleet.ranks.world_size || fleet.options.expected_ranks >= 0) return false;
  return AreAllInferred(fleet.match.communicators);
}

}  // namespace lockstep
