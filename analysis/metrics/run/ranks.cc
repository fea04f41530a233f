#include "analysis/metrics/run/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "analysis/base/natural_order.h"
#include "analysis/metrics/run/activity_window.h"
#include "analysis/metrics/run/host_domains.h"
#include "analysis/metrics/run/process_devices.h"
#include "analysis/metrics/run/rank_captures.h"
#include "analysis/metrics/run/rank_claims.h"
#include "analysis/metrics/run/rank_groups.h"
#include "analysis/metrics/run/trace_copies.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

// Without the copies of others.
std::vector<GroupCandidate> WithoutCopies(const RunData& run, const std::vector<GroupCandidate>& candidates,
                                          RankResolution& out) {
  std::vector<GroupCandidate> rest = candidates;
  const auto leave_out = [&](const std::vector<TraceCopy>& copies, std::string_view what) {
    std::set<size_t> sources;
    for (const TraceCopy& copy : copies) {
      sources.insert(copy.source);
      out.left_out.push_back(
          {copy.source, fmt::format("{} {}, which is analysed", what, run.sources[copy.original].context.path)});
    }
    std::erase_if(rest, [&](const GroupCandidate& c) { return sources.contains(c.source); });
  };
  leave_out(FindTraceCopies(run, rest), "it holds the same device records as");
  // Among what is left, so that no two are each other's copies.
  leave_out(FindCutCopies(run, rest), "it is a truncated copy of");
  return rest;
}

// A source without device rows is of a front end or a loader, unless it is the only one of a rank that it names.
std::vector<GroupCandidate> WithoutHostOnly(const RunData& run, const RankClaims& claims,
                                            const std::vector<GroupCandidate>& candidates, RankResolution& out) {
  std::set<int32_t> on_devices;
  int64_t most_calls = 0;
  bool any = false;
  for (const GroupCandidate& c : candidates) {
    if (!HasDeviceRows(run.sources[c.source].context)) continue;
    any = true;
    most_calls = std::max(most_calls, run.sources[c.source].context.api_rows);
    if (c.rank) on_devices.insert(*c.rank);
  }
  std::vector<GroupCandidate> rest;
  for (const GroupCandidate& c : candidates) {
    // Who calls the device as often as the ranks do is one of them, whose device rows were lost.
    const int64_t calls = run.sources[c.source].context.api_rows;
    // A number in its name alone, as loaders have, makes no rank of what never calls a device.
    const bool numbered = c.rank && (calls > 0 || claims.provenance(c.source) != RankSource::kFileName);
    const bool needed = numbered ? on_devices.count(*c.rank) == 0 : calls > 0 && 2 * calls >= most_calls;
    if (!any || needed || HasDeviceRows(run.sources[c.source].context)) {
      rest.push_back(c);
    } else {
      out.left_out.push_back({c.source, "it holds no device activity, and other files hold that of the ranks"});
    }
  }
  return rest;
}

struct Active {
  size_t source = 0;
  std::optional<int32_t> rank;
  int32_t capture = 0;
};

struct Selection {
  std::vector<Active> active;
  std::set<int32_t> taken;  // every rank that anybody claims, refused ones too
  bool repeated = false;    // the run has several captures
  bool replicated = false;  // every rank that is claimed is claimed equally often at one time
};

// What nobody numbered belongs to the capture that it overlaps in time, if several were made.
void LeaveOutOtherCaptures(const RunData& run, Selection& selection, RankResolution& out) {
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
  for (const Active& a : selection.active) {
    const ActivityWindow window = WindowOf(run.sources[a.source].context);
    if (!a.rank || !window.anchored) continue;
    start_ns = std::min(start_ns, window.start_ns);
    end_ns = std::max(end_ns, window.end_ns);
  }
  if (start_ns > end_ns) return;
  std::erase_if(selection.active, [&](const Active& a) {
    const ActivityWindow window = WindowOf(run.sources[a.source].context);
    const bool other = !a.rank && window.anchored && (window.start_ns > end_ns || window.end_ns < start_ns);
    if (other) out.left_out.push_back({a.source, "it belongs to another capture than the one that is analysed"});
    return other;
  });
}

Selection SelectCaptures(const RunData& run, const std::vector<GroupCandidate>& candidates,
                         const AnalysisOptions& options, RankResolution& out) {
  Selection selection;
  std::map<int32_t, std::vector<size_t>> by_rank;
  for (const GroupCandidate& c : candidates) {
    if (c.rank) {
      by_rank[*c.rank].push_back(c.source);
      selection.taken.insert(*c.rank);
    } else {
      selection.active.push_back({c.source, std::nullopt, 0});
    }
  }
  ChosenCaptures choice = ChooseCaptures(run, by_rank, options);
  for (const ChosenCaptures::Kept& kept : choice.kept) {
    selection.active.push_back({kept.source, kept.rank, kept.capture});
  }
  out.refused.insert(out.refused.end(), choice.refused.begin(), choice.refused.end());
  out.left_out.insert(out.left_out.end(), choice.left_out.begin(), choice.left_out.end());
  out.captures = std::move(choice.captures);
  selection.repeated = out.captures.has_value();
  if (selection.repeated) LeaveOutOtherCaptures(run, selection, out);
  selection.replicated = choice.least_duplicates > 1 && choice.least_duplicates == choice.most_duplicates;
  return selection;
}

// The order in which people would number what nobody numbered.
bool AssumedBefore(const SourceContext& a, const SourceContext& b) {
  if (a.host != b.host) return NaturalPathLess(a.host, b.host);
  if (a.path != b.path) return NaturalPathLess(a.path, b.path);
  return std::tie(a.pid, a.device, a.source_id) < std::tie(b.pid, b.device, b.source_id);
}

void AssumeRanks(const RunData& run, Selection& selection, RankResolution& out) {
  std::vector<Active*> unclaimed;
  for (Active& a : selection.active) {
    if (!a.rank) unclaimed.push_back(&a);
  }
  std::sort(unclaimed.begin(), unclaimed.end(), [&](const Active* a, const Active* b) {
    return AssumedBefore(run.sources[a->source].context, run.sources[b->source].context);
  });
  int32_t next = 0;
  for (Active* a : unclaimed) {
    while (selection.taken.count(next) > 0) ++next;
    a->rank = next++;
  }
  out.assumed = static_cast<int32_t>(unclaimed.size());
}

// As stated; else as many as the numbers of the ranks show.
int32_t ExpectedRanks(const AnalysisOptions& options, const Selection& selection, const RankResolution& out) {
  if (out.world_size) return *out.world_size;
  if (options.expected_ranks >= 0) return std::min(options.expected_ranks, kMaxWorldSize);
  return selection.taken.empty() ? 0 : *selection.taken.rbegin() + 1;
}

void FillMissing(const AnalysisOptions& options, const Selection& selection, RankResolution& out) {
  const int32_t expected = ExpectedRanks(options, selection, out);
  size_t at = 0;
  for (int32_t rank = 0; rank < expected; ++rank) {
    while (at < out.ranks.size() && out.ranks[at].rank < rank) ++at;
    if (at == out.ranks.size() || out.ranks[at].rank != rank) out.missing_ranks.push_back(rank);
  }
  // Ranks that some trace is of, but none that is analysed.
  std::set<int32_t> missing(out.missing_ranks.begin(), out.missing_ranks.end());
  missing.insert(selection.taken.begin(), selection.taken.end());
  for (const ResolvedRank& rank : out.ranks) missing.erase(rank.rank);
  out.missing_ranks.assign(missing.begin(), missing.end());
}

void FillRanks(const RunData& run, const Selection& selection, const RankClaims& claims, RankResolution& out) {
  for (const Active& a : selection.active) {
    const SourceContext& c = run.sources[a.source].context;
    ResolvedRank r;
    r.source = a.source;
    r.rank = *a.rank;
    r.rank_source = claims.provenance(a.source);
    r.host = c.host;
    r.host_source = c.host.empty() ? HostSource::kUnknown : c.host_source;
    r.capture = a.capture;
    out.some_without_device_rows = out.some_without_device_rows || !HasDeviceRows(c);
    out.ranks.push_back(std::move(r));
  }
  std::sort(out.ranks.begin(), out.ranks.end(),
            [](const ResolvedRank& a, const ResolvedRank& b) { return a.rank < b.rank; });
  const DomainPlan plan = PlanDomains(run, out.ranks);
  for (size_t i = 0; i < out.ranks.size(); ++i) out.ranks[i].domain = plan.domain[i];
}

void FillSilent(const RunData& run, RankResolution& out) {
  constexpr int64_t kMany = 20;             // collectives
  constexpr int64_t kLeastOfKernels = 100;  // at least this part of the kernels of the others: it worked with them
  std::vector<int64_t> kernels;
  for (const ResolvedRank& rank : out.ranks) {
    const SourceContext& c = run.sources[rank.source].context;
    if (c.collectives >= kMany) kernels.push_back(c.kernels);
  }
  if (kernels.empty()) return;
  const int64_t usual = UpperMedian(std::move(kernels));
  for (const ResolvedRank& rank : out.ranks) {
    const SourceContext& c = run.sources[rank.source].context;
    const bool in_graphs = c.graph_spans > 0 || c.opaque_graph_launches > 0;  // its kernels are not in the trace
    const bool works = in_graphs || (c.kernels > 0 && c.kernels * kLeastOfKernels >= usual);
    if (c.collectives == 0 && works) out.silent_ranks.push_back(rank.rank);
  }
}

// Several runs: the groups and why. False if the candidates can be one run after all.
bool SplitIntoRuns(const RunData& run, const std::vector<GroupCandidate>& candidates, std::string reason,
                   RankResolution& out) {
  if (reason.empty()) return false;
  std::vector<std::vector<size_t>> groups = GroupSources(run, candidates);
  if (groups.size() < 2) return false;
  out.groups = std::move(groups);
  out.groups_reason = std::move(reason);
  return true;
}

}  // namespace

int32_t LeastWorldSize(const RankResolution& ranks) {
  if (ranks.world_size) return *ranks.world_size;
  const int32_t present = ranks.ranks.empty() ? 0 : ranks.ranks.back().rank + 1;
  return std::max(present, ranks.missing_ranks.empty() ? 0 : ranks.missing_ranks.back() + 1);
}

RankResolution ResolveRanks(const RunData& run, const AnalysisOptions& options) {
  RankResolution out;
  const RankClaims claims(run, options, out);
  const std::vector<GroupCandidate> candidates =
      WithoutHostOnly(run, claims, WithoutCopies(run, claims.candidates(), out), out);
  if (SplitIntoRuns(run, candidates, WorldSizeContradiction(run, candidates), out)) return out;
  const std::vector<int32_t> worlds = ClaimedWorldSizes(candidates);
  if (worlds.size() == 1) out.world_size = worlds.front();
  Selection selection = SelectCaptures(run, candidates, options, out);
  if (selection.replicated && SplitIntoRuns(run, candidates, EveryRankRepeats(candidates), out)) return out;
  std::vector<GroupCandidate> active;
  for (const Active& a : selection.active) active.push_back({a.source, a.rank, claims.WorldOf(a.source)});
  if (const std::string apart = NoCommonTime(run, active); !selection.repeated && !apart.empty()) {
    if (!ComplementEachOther(run, active, options)) {
      if (SplitIntoRuns(run, active, apart, out)) return out;
    } else {
      out.clocks_apart_ns = LargestGapNs(run, active);
    }
  }
  AssumeRanks(run, selection, out);
  FillRanks(run, selection, claims, out);
  FillSilent(run, out);
  FillMissing(options, selection, out);
  return out;
}

}  // namespace lockstep
