#include "analysis/metrics/summary/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/base/saturating.h"
#include "analysis/metrics/match/caused_wait.h"

namespace lockstep {
namespace {

// A part of the culprit's time explains its lateness if it exceeds the others' by this share of what each of them
// waits.
constexpr double kExplainingShare = 0.3;

// Excess of one member over the mean of the others, of one part of its time.
template <typename Part>
double ExcessOf(const FleetMeasures& measures, size_t member, Part part) {
  double others = 0;
  for (size_t i = 0; i < measures.ranks.size(); ++i) {
    if (i != member) others += static_cast<double>(part(measures.ranks[i].common));
  }
  const double mean = others / static_cast<double>(measures.ranks.size() - 1);
  return static_cast<double>(part(measures.ranks[member].common)) - mean;
}

ImbalanceKind ComputeKind(const Imbalance& imbalance, size_t member) {
  for (const Quantity& quantity : imbalance.quantities) {
    if (quantity.name == "compute" && quantity.worst == member) return quantity.kind;
  }
  return ImbalanceKind::kUnknown;
}

// Which part of the culprit's own time is longer than that of the others, if it is long enough to explain the waiting.
std::string_view CauseOf(const FleetMeasures& measures, const Imbalance& imbalance, const Culprit& culprit) {
  if (measures.ranks.size() < 2) return "";
  const size_t member = culprit.member;
  const std::array<std::pair<double, std::string_view>, 3> parts = {{
      {ExcessOf(measures, member, [](const IntervalMeasure& m) { return m.compute_ns; }),
       ComputeKind(imbalance, member) == ImbalanceKind::kMoreWork ? "more_work" : "slow_compute"},
      {ExcessOf(measures, member, [](const IntervalMeasure& m) { return m.idle_host_ns + m.idle_launch_ns; }),
       "host_delay"},
      {ExcessOf(measures, member, [](const IntervalMeasure& m) { return m.copy_only_ns; }), "copies"},
  }};
  const auto largest =
      std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const double lateness = static_cast<double>(culprit.caused_wait_ns) / static_cast<double>(measures.ranks.size() - 1);
  return largest->first >= kExplainingShare * lateness ? largest->second : "";
}

void AddCaused(const CausedWait& it, int64_t origin_ns, std::map<int32_t, LateArrivals>& blame) {
  LateArrivals& late = blame[it.rank_index];
  late.last_ns += it.wait_ns;
  if (it.open) late.open_ns += it.wait_ns;
  if (!it.certain) return;
  late.caused_ns += it.wait_ns;
  if (it.in_pair) late.in_pairs_ns += it.wait_ns;
  const auto weight = static_cast<double>(it.wait_ns);
  const auto at = static_cast<double>(it.awaited_start_ns - origin_ns);
  late.time_sum += weight * at;
  late.square_sum += weight * at * at;
  if (it.wait_ns <= late.worst_ns) return;
  late.worst_ns = it.wait_ns;
  late.worst_start_ns = it.awaited_start_ns;
}

// Global ranks, at most kMostTied.
std::vector<int32_t> TiedRanks(const Fleet& fleet, const WaitBlame& blame) {
  constexpr size_t kMostTied = 4;
  constexpr double kLeastPart = 0.1;  // of the unassigned waiting
  std::vector<std::pair<int64_t, int32_t>> uncertain;
  for (size_t member = 0; member < blame.by_member.size(); ++member) {
    const int64_t ns = blame.by_member[member].last_ns - blame.by_member[member].caused_ns;
    if (Share(ns, blame.unassigned_ns) >= kLeastPart) uncertain.emplace_back(-ns, fleet.members[member].rank);
  }
  std::sort(uncertain.begin(), uncertain.end());
  if (uncertain.size() > kMostTied) uncertain.resize(kMostTied);
  std::vector<int32_t> out;
  for (const auto& [ns, rank] : uncertain) out.push_back(rank);
  return out;
}

std::optional<WaitBlame::LeftOut> WorstLeftOut(const Fleet& fleet, const std::map<int32_t, LateArrivals>& blame) {
  std::optional<WaitBlame::LeftOut> worst;
  for (const auto& [index, late] : blame) {
    const bool is_member =
        std::any_of(fleet.members.begin(), fleet.members.end(),
                    [wanted = index](const FleetRank& member) { return static_cast<int32_t>(member.index) == wanted; });
    if (is_member || late.caused_ns <= (worst ? worst->caused_ns : 0)) continue;
    worst = {fleet.ranks.ranks[static_cast<size_t>(index)].rank, late.caused_ns};
  }
  return worst;
}

// By the share of waiting, which lies between two limits: none of what is unresolved was waiting, or all of it was.
RunVerdict VerdictOfCommunication(const TimeShare& share) {
  constexpr double kMostlySkew = 0.6;
  constexpr double kMostlyTransfer = 0.3;
  constexpr double kNear = 0.1;  // a limit may lie so far on the other side
  const double told = share.exposed_wait + share.exposed_transfer;
  const double all = told + share.exposed_unresolved;
  if (told <= 0) return RunVerdict::kInconclusive;
  const double skew = share.exposed_wait / told;
  const double least = share.exposed_wait / all;
  const double most = (share.exposed_wait + share.exposed_unresolved) / all;
  if (skew > kMostlySkew && least > kMostlySkew - kNear) return RunVerdict::kSkew;
  if (skew < kMostlyTransfer && most < kMostlyTransfer + kNear) return RunVerdict::kTransfer;
  const bool between = skew >= kMostlyTransfer && skew <= kMostlySkew;
  if (between && least > kMostlyTransfer - kNear && most < kMostlySkew + kNear) return RunVerdict::kMixed;
  return RunVerdict::kInconclusive;
}

}  // namespace

std::string_view Name(RunVerdict verdict) {
  switch (verdict) {
    case RunVerdict::kTransfer:
      return "transfer";
    case RunVerdict::kSkew:
      return "skew";
    case RunVerdict::kMixed:
      return "mixed";
    case RunVerdict::kCompute:
      return "compute";
    case RunVerdict::kHost:
      return "host";
    case RunVerdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

double Share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::optional<TimeShare> ComputeTimeShare(const FleetMeasures& measures) {
  IntervalMeasure sum;
  Exposure exposure;
  for (const RankMeasures& rank : measures.ranks) {
    sum.Add(rank.common);
    exposure.Add(rank.common_exposure);
  }
  if (sum.span_ns <= 0) return std::nullopt;
  const auto share = [&](int64_t part) { return Share(part, sum.span_ns); };
  return TimeShare{share(sum.compute_ns),       share(exposure.wait_ns),
                   share(exposure.transfer_ns), share(exposure.unresolved_ns),
                   share(sum.copy_only_ns),     share(sum.opaque_only_ns),
                   share(sum.idle_ns()),        share(sum.idle_host_ns + sum.idle_launch_ns)};
}

TimeShare BusyShare(const TimeShare& share) {
  const double busy = 1 - share.idle;
  if (busy <= 0) return share;
  return TimeShare{share.compute / busy,
                   share.exposed_wait / busy,
                   share.exposed_transfer / busy,
                   share.exposed_unresolved / busy,
                   share.copy / busy,
                   share.opaque / busy,
                   0,
                   0};
}

void LateArrivalsSum::Add(const MatchedInstance& instance) {
  if (!instance.usable()) return;
  if (!origin_ns) origin_ns = instance.last_start_ns;
  ForEachCausedWait(instance, [&](const CausedWait& it) {
    wait_ns += it.wait_ns;
    if (it.in_pair) in_pairs_ns += it.wait_ns;
    AddCaused(it, *origin_ns, by_rank);
  });
  for (const MatchedMember& member : instance.members) {
    certain_wait_ns = AddStopping(certain_wait_ns, std::max<int64_t>(0, member.wait_ns - member.wait_uncertainty_ns));
    const auto later_ns = static_cast<double>(member.lateness_times_m_ns);
    LateArrivals& rank = by_rank[member.rank_index];
    rank.later_than_others_ns += later_ns;
    if (later_ns > 0) rank.late_square_sum += later_ns * later_ns;
    const auto others = static_cast<double>(instance.members.size() - 1);
    rank.latest_ns = std::max(rank.latest_ns, later_ns / std::max(1.0, others));
  }
}

std::optional<std::pair<int64_t, int64_t>> StretchOf(const LateArrivals& late, const WaitBlame& blame) {
  constexpr double kShortPart = 0.6;  // spread evenly over the run it would be 1.15 of it, over half of it 0.58
  if (late.caused_ns <= 0 || blame.span_ns <= 0) return std::nullopt;
  const auto weight = static_cast<double>(late.caused_ns);
  const double mean = late.time_sum / weight;
  const double reach = 2 * std::sqrt(std::max(0.0, late.square_sum / weight - mean * mean));
  if (2 * reach > kShortPart * static_cast<double>(blame.span_ns)) return std::nullopt;
  const auto span = static_cast<double>(blame.span_ns);
  return std::pair(blame.origin_ns + std::llround(std::max(0.0, mean - reach)),
                   blame.origin_ns + std::llround(std::min(span, mean + reach)));
}

WaitBlame ComputeWaitBlame(const Fleet& fleet, const FleetMeasures& measures, const Imbalance& imbalance,
                           const LateArrivalsSum& late) {
  const std::map<int32_t, LateArrivals>& blame = late.by_rank;
  WaitBlame result;
  result.wait_ns = late.wait_ns;
  result.certain_wait_ns = late.certain_wait_ns;
  result.in_pairs_ns = late.in_pairs_ns;
  result.origin_ns = late.origin_ns.value_or(0);
  result.span_ns = measures.RankTime() / std::max<int64_t>(1, static_cast<int64_t>(fleet.members.size()));
  result.unassigned_ns = result.wait_ns;
  for (const auto& [index, rank] : blame) result.unassigned_ns -= rank.caused_ns;
  result.left_out = WorstLeftOut(fleet, blame);
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    const auto found = blame.find(static_cast<int32_t>(fleet.members[member].index));
    result.by_member.push_back(found == blame.end() ? LateArrivals{} : found->second);
    const LateArrivals& rank = result.by_member.back();
    if (rank.caused_ns <= 0 || Share(rank.caused_ns, measures.RankTime()) < kMaterialShare) continue;
    Culprit culprit;
    culprit.member = member;
    culprit.caused_wait_ns = rank.caused_ns;
    culprit.share_of_wait = Share(rank.caused_ns, result.wait_ns);
    culprit.confidence = Share(rank.caused_ns, rank.last_ns);
    culprit.worst_start_ns = rank.worst_start_ns;
    culprit.stretch_ns = StretchOf(rank, result);
    culprit.cause = CauseOf(measures, imbalance, culprit);
    result.culprits.push_back(culprit);
  }
  result.tied_ranks = TiedRanks(fleet, result);
  std::stable_sort(result.culprits.begin(), result.culprits.end(),
                   [](const Culprit& a, const Culprit& b) { return a.caused_wait_ns > b.caused_wait_ns; });
  return result;
}

RunVerdict ComputeVerdict(const std::optional<TimeShare>& share) {
  if (!share) return RunVerdict::kInconclusive;
  const double work = share->compute + share->copy + share->opaque;
  const double communication = share->exposed_wait + share->exposed_transfer + share->exposed_unresolved;
  // What runs inside graphs whose kernels are not in the trace may be anything.
  if (share->opaque > 0.5 * (work + communication)) return RunVerdict::kInconclusive;
  if (work >= 0.9 || (work > 0.5 && work > 3 * std::max(communication, share->idle))) return RunVerdict::kCompute;
  if (share->idle > communication) {
    if (share->idle_host >= 0.5 * share->idle) return RunVerdict::kHost;
    return work > share->idle ? RunVerdict::kCompute : RunVerdict::kInconclusive;
  }
  return VerdictOfCommunication(*share);
}

std::vector<Gate> WorstProblems(const std::vector<Gate>& gates) {
  constexpr std::array<std::string_view, 16> kByWeight = {
      "kernels_present", "duplicate_rank", "files_whole",       "waiting_told",
      "matching",        "rank_identity",  "complete_ranks",    "clock",
      "common_window",   "graphs_visible", "dropped_records",   "host_identity",
      "decode_pure",     "steps_found",    "profiler_overhead", "capture_long_enough"};
  std::vector<Gate> failed;
  std::copy_if(gates.begin(), gates.end(), std::back_inserter(failed),
               [](const Gate& gate) { return gate.ok == false; });
  const auto weight = [&](const Gate& gate) {
    return std::find(kByWeight.begin(), kByWeight.end(), std::string_view(gate.name)) - kByWeight.begin();
  };
  std::stable_sort(failed.begin(), failed.end(), [&](const Gate& a, const Gate& b) { return weight(a) < weight(b); });
  if (failed.size() > kMaxProblems) failed.resize(kMaxProblems);
  return failed;
}

}  // namespace lockstep
