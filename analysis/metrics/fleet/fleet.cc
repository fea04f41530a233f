#include "analysis/metrics/fleet.h"

#include <algorithm>
#include <limits>
#include <set>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace

std::optional<std::pair<int64_t, int64_t>> Fleet::TimeWindow() const {
  if (!options.time_ns) return std::nullopt;
  return std::pair(SaturatingAdd(run_start_ns, options.time_ns->first),
                   SaturatingAdd(run_start_ns, options.time_ns->second));
}

bool Fleet::SelectsStep(const StepRow& row) const {
  if (row.step == kNoStep) return !SelectsSteps();
  if (options.steps && (row.step < options.steps->first || row.step > options.steps->second)) return false;
  return options.nvtx.empty() || NameOf(run, row.name) == options.nvtx;
}

size_t Fleet::Domains() const {
  std::set<int32_t> domains;
  for (const FleetRank& member : members) domains.insert(member.domain);
  return domains.size();
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

RunSpan SpanOf(const RunData& run, const RankResolution& ranks) {
  std::optional<RunSpan> span;
  for (const ResolvedRank& rank : ranks.ranks) {
    const SourceContext& context = run.sources[rank.source].context;
    if (!HasActivity(context)) continue;
    if (!span) span = RunSpan{context.first_start_ns, context.last_end_ns};
    span->start_ns = std::min(span->start_ns, context.first_start_ns);
    span->end_ns = std::max(span->end_ns, context.last_end_ns);
  }
  return span.value_or(RunSpan{});
}

Fleet MakeFleet(const RunData& run, const RankResolution& ranks, const MatchResult& match,
                const AnalysisOptions& options) {
  Fleet fleet{run, ranks, match, options, SpanOf(run, ranks).start_ns, {}};
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

const std::string& NameOf(const RunData& run, uint32_t name) {
  static const std::string kNone;
  return name < run.names.size() ? run.names[name] : kNone;
}

}  // namespace lockstep
