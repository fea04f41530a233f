#include "analysis/metrics/fleet/fleet.h"

#include <algorithm>
#include <limits>
#include <set>

#include "analysis/base/check.h"
#include "analysis/condense/selection.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// Far beyond any time of a trace, and small enough for sums of two.
int64_t Sane(int64_t time_ns) { return std::clamp(time_ns, -2 * kMaxAbsTimeNs, 2 * kMaxAbsTimeNs - 1); }

int64_t Align(const ClockModel& clock, size_t rank_index, int64_t local_ns) {
  const LocalTime local{Sane(local_ns)};
  return Sane(SaturatingAdd(local.ns, -clock.Correction(static_cast<int32_t>(rank_index), local).ns));
}

}  // namespace

int64_t Fleet::ToAligned(const FleetRank& member, int64_t local_ns) const {
  return Align(match.clock, member.index, local_ns);
}

int64_t Fleet::ToLocal(const FleetRank& member, int64_t aligned_ns) const {
  return match.clock.ToLocal(static_cast<int32_t>(member.index), AlignedTime{Sane(aligned_ns)}).ns;
}

int64_t Fleet::SinceStart(const FleetRank& member, int64_t local_ns) const {
  return ToAligned(member, local_ns) - run_start_ns;
}

std::optional<std::pair<int64_t, int64_t>> Fleet::TimeWindow() const {
  if (!options.time_ns) return std::nullopt;
  return std::pair(SaturatingAdd(run_start_ns, options.time_ns->first),
                   SaturatingAdd(run_start_ns, options.time_ns->second));
}

std::optional<std::pair<int64_t, int64_t>> Fleet::TimeWindowOf(const FleetRank& member) const {
  const auto window = TimeWindow();
  if (!window) return std::nullopt;
  return std::pair(ToLocal(member, window->first), ToLocal(member, window->second));
}

bool Fleet::SelectsStep(const StepRow& row) const {
  if (row.step == kNoStep) return !SelectsSteps();
  if (options.steps && (row.step < options.steps->first || row.step > options.steps->second)) return false;
  return options.nvtx.empty() || (row.name < ranges.names.size() && ranges.names[row.name]);
}

bool Fleet::TablesSelected() const {
  return Restricted() && std::all_of(members.begin(), members.end(), [](const FleetRank& member) {
           return member.source->context.options.contains(std::string(kSelectedTables));
         });
}

size_t Fleet::Domains() const {
  std::set<int32_t> domains;
  for (const FleetRank& member : members) domains.insert(member.domain);
  return domains.size();
}

size_t Fleet::Components() const {
  std::set<int32_t> components;
  for (const FleetRank& member : members)
    components.insert(match.clock.ComponentOf(static_cast<int32_t>(member.index)));
  return components.size();
}

std::vector<bool> SelectedRanks(const RankResolution& ranks, const AnalysisOptions& options) {
  std::vector<bool> selected(ranks.ranks.size(), true);
  if (options.ranks.empty()) return selected;
  for (size_t i = 0; i < selected.size(); ++i) {
    const int32_t rank = ranks.ranks[i].rank;
    selected[i] = std::find(options.ranks.begin(), options.ranks.end(), rank) != options.ranks.end();
  }
  return selected;
}

RunSpan SpanOf(const RunData& run, const RankResolution& ranks, const ClockModel& clock) {
  std::optional<RunSpan> span;
  for (size_t i = 0; i < ranks.ranks.size(); ++i) {
    const SourceContext& context = run.sources[ranks.ranks[i].source].context;
    if (!HasActivity(context)) continue;
    const RunSpan own{Align(clock, i, context.first_start_ns), Align(clock, i, context.last_end_ns)};
    if (!span) span = own;
    span->start_ns = std::min(span->start_ns, own.start_ns);
    span->end_ns = std::max(span->end_ns, own.end_ns);
  }
  return span.value_or(RunSpan{});
}

Fleet MakeFleet(const RunData& run, const RankResolution& ranks, const RunMatch& match,
                const AnalysisOptions& options) {
  Fleet fleet{
      run, ranks, match, options, SpanOf(run, ranks, match.clock).start_ns, {}, FindAskedRanges(run, options.nvtx)};
  const std::vector<bool> selected = SelectedRanks(ranks, options);
  for (size_t i = 0; i < ranks.ranks.size(); ++i) {
    const ResolvedRank& rank = ranks.ranks[i];
    if (!selected[i]) continue;
    const int32_t domain = match.clock.DomainOf(static_cast<int32_t>(i)).value;
    fleet.members.push_back({i, rank.rank, rank.host, domain, &run.sources[rank.source]});
  }
  return fleet;
}

bool HasActivity(const SourceContext& context) {
  return context.kernels + context.memcpys + context.memsets + context.graph_spans > 0 &&
         context.last_end_ns >= context.first_start_ns;
}

int64_t FloorIndex(int64_t time_ns, int64_t width_ns) {
  LOCKSTEP_CHECK(width_ns > 0);
  const int64_t quotient = time_ns / width_ns;
  return time_ns % width_ns < 0 ? quotient - 1 : quotient;
}

int64_t GridTime(int64_t index, int64_t width_ns) {
  LOCKSTEP_CHECK(width_ns > 0);
  const int64_t most = 2 * kMaxAbsTimeNs / width_ns - 1;
  return std::clamp(index, -most, most) * width_ns;
}

const std::string& NameOf(const RunData& run, uint32_t name) {
  static const std::string kNone;
  return name < run.names.size() ? run.names[name] : kNone;
}

}  // namespace lockstep
