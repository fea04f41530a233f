#include "analysis/report/views/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "analysis/base/unit_text.h"
#include "analysis/metrics/match/group_contradictions.h"
#include "analysis/report/views/group_names.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

constexpr double kGigabytesPerByte = 1e-9;

std::optional<report::ClockFreeWaits> ClockFreeOf(const std::optional<ClockFreeWaits>& waits) {
  if (!waits) return std::nullopt;
  return report::ClockFreeWaits{.instances = waits->instances,
                                .wait_total_ns = waits->wait_total_ns,
                                .uncertainty_ns = waits->uncertainty_ns,
                                .aligned_wait_total_ns = waits->aligned_wait_total_ns,
                                .aligned_uncertainty_ns = waits->aligned_uncertainty_ns,
                                .end_sigma_ns = waits->end_sigma_ns,
                                .finer = waits->Finer(),
                                .agrees = waits->Agrees()};
}

report::CollectiveRow CollectiveRowOf(const RunMatch& match, const CollectiveRowResult& row) {
  const Communicator& communicator = match.communicators[row.communicator];
  report::CollectiveRow out;
  out.communicator = {communicator.id, TextIfAny(communicator.name), TextIfAny(communicator.desc)};
  out.members = communicator.members;
  out.op = TextIfAny(Name(row.op));
  out.dtype = TextIfAny(Name(row.dtype));
  out.bytes = KnownIf<report::Count>(row.bytes != kUnknownBytes, row.bytes);
  out.library = TextIfAny(Name(row.library));
  out.instances = row.instances;
  out.matched = row.matched;
  out.complete = row.complete;
  out.match = Name(row.kind);
  out.confidence = row.confidence;
  out.spread_ns = PercentilesOf(row.spread_ns);
  out.wait_ns = PercentilesOf(row.wait_ns);
  out.wait_total_ns = KnownIf<report::Count>(row.usable > 0, row.wait_total_ns);
  out.wait_uncertainty_ns = KnownIf<report::Count>(row.usable > 0, row.wait_uncertainty_ns);
  out.clock_free = ClockFreeOf(row.clock_free);
  out.transfer_ns = PercentilesOf(row.transfer_ns);
  out.transfer_baseline_ns = row.transfer_baseline_ns;
  out.transfer_excess_ratio = row.transfer_excess;
  out.end_spread_ns = PercentilesOf(row.end_spread_ns);
  out.bus_bandwidth_gbps = ScaledPercentiles(row.bus_bandwidth, kGigabytesPerByte);
  out.apparent_bus_bandwidth_gbps = ScaledPercentiles(row.apparent_bus_bandwidth, kGigabytesPerByte);
  out.skew_share_ratio = row.skew_share;
  if (const auto& interval = row.skew_share_interval) out.skew_share_interval = {interval->low, interval->high};
  out.verdict = Name(row.verdict);
  return out;
}

void NotifyOfJoins(const AnalysisContext& context, const std::vector<CollectiveRowResult>& rows) {
  bool ambiguous = false;
  bool apart = false;
  bool disagrees = false;
  for (const CollectiveRowResult& row : rows) {
    ambiguous = ambiguous || row.kind == MatchKind::kAmbiguous;
    disagrees = disagrees || (row.clock_free && !row.clock_free->Agrees());
    apart = apart || (row.matched > 0 && row.usable == 0 && row.kind != MatchKind::kAmbiguous);
  }
  if (ambiguous) {
    context.notices.push_back({"collectives",
                               "some collectives cannot be matched across ranks with confidence: their "
                               "rows are 'ambiguous' and count in no statistics"});
  }
  if (apart) {
    context.notices.push_back({"collectives",
                               "some groups span several clocks that could not be aligned: the arrivals of their "
                               "members cannot be compared"});
  }
  if (disagrees) {
    context.notices.push_back({"collectives",
                               "the waits of some rows, computed on the aligned clocks, differ from those computed "
                               "from durations alone by more than both uncertainties: see clock_free"});
  }
}

std::string SinceStart(const AnalysisContext& context, int64_t at_ns) {
  return fmt::format("{} after the run's start", TimeText(at_ns - context.run_start_ns));
}

// Ranks without records that others of their groups have: those that lack many, else the worst alone.
void NotifyOfLosses(const AnalysisContext& context) {
  constexpr size_t kMost = 3;
  const std::vector<LostCollectives>& losses = context.match.lost;
  for (size_t i = 0; i < losses.size() && i < kMost && (i == 0 || losses[i].IsMuch()); ++i) {
    const LostCollectives& it = losses[i];
    const int32_t rank = context.ranks.ranks[static_cast<size_t>(it.rank_index)].rank;
    const std::string others = i == 0 && losses.size() > 1 ? fmt::format(" ({} ranks lack some)", losses.size()) : "";
    context.notices.push_back(
        {"collectives",
         fmt::format("rank {} lacks {} of {} collectives that other members of its groups recorded{}, the first {}: "
                     "the records were lost or not matched, so what the rank did there is unknown",
                     rank, it.lost, it.expected, others, SinceStart(context, it.first_ns))});
  }
}

// Where sequences broke for long; the largest.
void NotifyOfBreaks(const AnalysisContext& context) {
  constexpr size_t kMost = 3;
  constexpr int64_t kLong = 5;
  std::vector<SequenceBreak> breaks;
  for (const SequenceBreak& it : context.match.breaks) {
    if (!it.at_edge && std::abs(it.missing) >= kLong) breaks.push_back(it);
  }
  std::stable_sort(breaks.begin(), breaks.end(), [](const SequenceBreak& a, const SequenceBreak& b) {
    return std::abs(a.missing) > std::abs(b.missing);
  });
  for (size_t i = 0; i < breaks.size() && i < kMost; ++i) {
    const SequenceBreak& it = breaks[i];
    context.notices.push_back(
        {"collectives",
         fmt::format("the sequence of rank {} in group {} breaks {}: {} {}",
                     context.ranks.ranks[static_cast<size_t>(it.rank_index)].rank,
                     NameOrId(context.match.communicators[it.communicator]), SinceStart(context, it.at_ns),
                     std::abs(it.missing), it.missing > 0 ? "collectives are missing" : "collectives are too many")});
  }
}

std::string InWords(const GroupContradiction& it) {
  const std::string group = it.group.empty() ? "a group" : fmt::format("group \"{}\"", it.group);
  const std::string_view right =
      it.equal_votes ? "which is right is unknown" : "its collectives there are not matched with theirs";
  if (it.said_size == it.others_size) {
    return fmt::format("rank {} lists other members of {} than {} of its ranks do: {}", it.rank, group, it.others,
                       right);
  }
  return fmt::format("rank {} says that {} has {} members, {} of its ranks say {}: {}", it.rank, group, it.said_size,
                     it.others, it.others_size, right);
}

// Ranks that contradict others about the members of a group; the first few.
void NotifyOfContradictions(const AnalysisContext& context) {
  constexpr size_t kMost = 3;
  const std::vector<GroupContradiction> found = FindGroupContradictions(context.run, context.ranks);
  for (size_t i = 0; i < found.size() && i < kMost; ++i) {
    const std::string more = i == 0 && found.size() > 1 ? fmt::format(" ({} such contradictions)", found.size()) : "";
    context.notices.push_back({"collectives", InWords(found[i]) + more});
  }
}

}  // namespace

std::vector<report::CollectiveRow> CollectivesView(const AnalysisContext& context,
                                                   const std::vector<CollectiveRowResult>& results) {
  std::vector<report::CollectiveRow> rows;
  rows.reserve(results.size());
  for (const CollectiveRowResult& result : results) rows.push_back(CollectiveRowOf(context.match, result));
  NotifyOfJoins(context, results);
  NotifyOfLosses(context);
  NotifyOfBreaks(context);
  NotifyOfContradictions(context);
  return rows;
}

}  // namespace lockstep
