#include "analysis/metrics/run/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/base/natural_order.h"
#include "analysis/metrics/run/host_domains.h"
#include "analysis/metrics/run/process_devices.h"
#include "analysis/metrics/run/rank_captures.h"
#include "analysis/metrics/run/rank_groups.h"

namespace lockstep {
namespace {

std::optional<RankClaim> BestClaim(const SourceContext& c) {
  std::optional<RankClaim> best;
  for (const RankClaim& claim : c.claims) {
    const bool usable = claim.rank >= 0 && claim.rank < kMaxWorldSize;
    if (usable && (!best || claim.source < best->source)) best = claim;
  }
  return best;
}

void NoteContradictions(const SourceContext& c, const RankClaim& best, RankResolution& out) {
  for (const RankClaim& claim : c.claims) {
    if (claim.rank == best.rank || claim.source <= best.source) continue;
    out.notes.push_back(fmt::format("{}: {} says rank {}, {} says rank {}; the former counts", c.path,
                                    Name(best.source), best.rank, Name(claim.source), claim.rank));
  }
}

// The claim of every source that takes part; strays are refused here.
class Claims {
 public:
  Claims(const RunData& run, RankResolution& out) : run_(run) {
    const std::vector<DevicePlace> places = PlaceDevices(run);
    for (size_t s = 0; s < run.sources.size(); ++s) Take(s, places[s], out);
  }

  [[nodiscard]] const std::vector<GroupCandidate>& candidates() const { return candidates_; }
  [[nodiscard]] RankSource provenance(size_t source) const { return provenance_.at(source); }

 private:
  void Take(size_t s, const DevicePlace& place, RankResolution& out) {
    const SourceContext& c = run_.sources[s].context;
    if (place.role == DeviceRole::kStray) {
      RefuseStray(s, place, out);
      return;
    }
    std::optional<RankClaim> claim = BestClaim(c);
    if (place.role == DeviceRole::kSecond) {
      const std::optional<RankClaim> main = BestClaim(run_.sources[place.main_source].context);
      if (claim && main && claim->rank == main->rank) claim.reset();
    }
    if (claim) NoteContradictions(c, *claim, out);
    provenance_[s] = claim ? claim->source : RankSource::kAssumed;
    candidates_.push_back({s, claim ? std::optional(claim->rank) : std::nullopt});
  }

  void RefuseStray(size_t s, const DevicePlace& place, RankResolution& out) const {
    const SourceContext& c = run_.sources[s].context;
    const SourceContext& main = run_.sources[place.main_source].context;
    const double total = static_cast<double>(std::max<int64_t>(1, place.process_kernel_time_ns));
    const std::optional<RankClaim> claim = BestClaim(main);
    out.refused.push_back(
        {s, claim ? claim->rank : -1, DropReason::kStrayDevice,
         fmt::format(
             "stray_device: device {} has {:.2f} % of the kernel time of process {} in {}, whose main device is "
             "{}; its {} activities are not analysed",
             c.device, 100.0 * static_cast<double>(c.kernel_time_ns) / total, c.pid, c.path, main.device,
             c.kernels + c.memcpys + c.memsets + c.graph_spans)});
  }

  const RunData& run_;
  std::vector<GroupCandidate> candidates_;
  std::map<size_t, RankSource> provenance_;
};

struct Active {
  size_t source = 0;
  std::optional<int32_t> rank;
  int32_t capture = 0;
};

struct Selection {
  std::vector<Active> active;
  std::set<int32_t> taken;  // every rank that anybody claims, refused ones too
  bool repeated = false;
};

Selection SelectCaptures(const RunData& run, const std::vector<GroupCandidate>& candidates,
                         const AnalysisOptions& options, RankResolution& out) {
  Selection selection;
  std::map<int32_t, std::vector<size_t>> by_rank;
  for (const GroupCandidate& c : candidates) {
    if (c.rank) {
      by_rank[*c.rank].push_back(c.source);
    } else {
      selection.active.push_back({c.source, std::nullopt, 0});
    }
  }
  for (const auto& [rank, sources] : by_rank) {
    CaptureChoice choice = ChooseCapture(run, rank, sources, options);
    selection.taken.insert(rank);
    selection.repeated = selection.repeated || choice.repeated;
    for (const auto& [source, capture] : choice.kept) selection.active.push_back({source, rank, capture});
    out.refused.insert(out.refused.end(), choice.refused.begin(), choice.refused.end());
  }
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

void FillMissing(const AnalysisOptions& options, RankResolution& out) {
  const int32_t expected = out.world_size ? *out.world_size : std::min(options.expected_ranks, kMaxWorldSize);
  size_t at = 0;
  for (int32_t rank = 0; rank < expected; ++rank) {
    while (at < out.ranks.size() && out.ranks[at].rank < rank) ++at;
    if (at == out.ranks.size() || out.ranks[at].rank != rank) out.missing_ranks.push_back(rank);
  }
}

void FillRanks(const RunData& run, const Selection& selection, const Claims& claims, RankResolution& out) {
  for (const Active& a : selection.active) {
    const SourceContext& c = run.sources[a.source].context;
    ResolvedRank r;
    r.source = a.source;
    r.rank = *a.rank;
    r.rank_source = claims.provenance(a.source);
    r.host = c.host;
    r.host_source = c.host.empty() ? HostSource::kUnknown : c.host_source;
    r.capture = a.capture;
    out.ranks.push_back(std::move(r));
  }
  std::sort(out.ranks.begin(), out.ranks.end(),
            [](const ResolvedRank& a, const ResolvedRank& b) { return a.rank < b.rank; });
  const DomainPlan plan = PlanDomains(run, out.ranks);
  for (size_t i = 0; i < out.ranks.size(); ++i) out.ranks[i].domain = plan.domain[i];
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

RankResolution ResolveRanks(const RunData& run, const AnalysisOptions& options) {
  RankResolution out;
  const Claims claims(run, out);
  const std::vector<GroupCandidate>& candidates = claims.candidates();
  if (SplitIntoRuns(run, candidates, WorldSizeContradiction(run, candidates), out)) return out;
  const std::vector<int32_t> worlds = ClaimedWorldSizes(run, candidates);
  if (worlds.size() == 1) out.world_size = worlds.front();
  Selection selection = SelectCaptures(run, candidates, options, out);
  std::vector<GroupCandidate> active;
  for (const Active& a : selection.active) active.push_back({a.source, a.rank});
  if (!selection.repeated && SplitIntoRuns(run, active, NoCommonTime(run, active), out)) return out;
  AssumeRanks(run, selection, out);
  FillRanks(run, selection, claims, out);
  FillMissing(options, out);
  return out;
}

}  // namespace lockstep
