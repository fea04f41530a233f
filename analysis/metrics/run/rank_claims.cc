#include "analysis/metrics/run/rank_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "analysis/metrics/run/activity_window.h"

namespace lockstep {
namespace {

// Such a number counts within the world that the trace states. A file name and the person count otherwise.
bool CountsInItsWorld(RankSource source) {
  return source == RankSource::kMetadata || source == RankSource::kNcclInit || source == RankSource::kEnvironment;
}

std::string_view InWords(RankSource source) {
  switch (source) {
    case RankSource::kRankMap:
      return "the rank map";
    case RankSource::kMetadata:
      return "its metadata";
    case RankSource::kMpi:
      return "MPI";
    case RankSource::kNcclInit:
      return "the initialisation of NCCL";
    case RankSource::kEnvironment:
      return "the environment";
    case RankSource::kFileName:
      return "the file name";
    case RankSource::kAssumed:
      break;
  }
  return "the order of the files";
}

void NoteContradictions(const SourceContext& c, const RankClaim& best, RankResolution& out) {
  for (const RankClaim& claim : c.claims) {
    if (claim.rank == best.rank || claim.source <= best.source) continue;
    out.notes.push_back(fmt::format("{0}: {1} says rank {2}, but {3} says rank {4}; rank {2} is used", c.path,
                                    InWords(best.source), best.rank, InWords(claim.source), claim.rank));
  }
}

}  // namespace

RankClaims::RankClaims(const RunData& run, const AnalysisOptions& options, RankResolution& out) : run_(run) {
  FindTold(options);
  const std::vector<DevicePlace> places = PlaceDevices(run, options);
  FindFirstDevices(places);
  for (size_t s = 0; s < run.sources.size(); ++s) Take(s, places[s], out);
  if (NamesTellNothing()) ForgetNames(out);
}

// --rank-map and --expect-ranks win over what the traces state. Processes that were started by hand all state that they
// are rank 0 of a world of one.
void RankClaims::FindTold(const AnalysisOptions& options) {
  constexpr int32_t kLeastOfOneRun = 2;
  told_ranks_ = std::min(options.expected_ranks, kMaxWorldSize);
  if (options.one_run) told_ranks_ = std::max(told_ranks_, kLeastOfOneRun);
  for (const SourceData& source : run_.sources) {
    for (const RankClaim& claim : source.context.claims) {
      if (claim.source != RankSource::kRankMap || claim.rank >= kMaxWorldSize) continue;
      told_ranks_ = std::max(told_ranks_, claim.rank + 1);
    }
  }
}

std::optional<int32_t> RankClaims::WorldOf(size_t source) const {
  const SourceContext& c = run_.sources[source].context;
  const bool usable = c.world_size && *c.world_size > 0 && *c.world_size <= kMaxWorldSize;
  return usable && *c.world_size >= told_ranks_ ? c.world_size : std::nullopt;
}

std::optional<RankClaim> RankClaims::BestClaim(const SourceContext& c) const {
  const bool says_alone = c.world_size && *c.world_size == 1 && told_ranks_ > 1;
  std::optional<RankClaim> best;
  for (const RankClaim& claim : c.claims) {
    if (claim.rank < 0 || claim.rank >= kMaxWorldSize) continue;
    if (says_alone && CountsInItsWorld(claim.source)) continue;
    if (!best || claim.source < best->source) best = claim;
  }
  return best;
}

// Of the devices of a process that are ranks the first one has the claim of the process.
void RankClaims::FindFirstDevices(const std::vector<DevicePlace>& places) {
  for (size_t s = 0; s < places.size(); ++s) {
    if (places[s].role == DeviceRole::kStray) continue;
    const auto [at, is_new] = first_device_.try_emplace(places[s].main_source, s);
    if (!is_new && run_.sources[s].context.device < run_.sources[at->second].context.device) at->second = s;
  }
}

void RankClaims::Take(size_t s, const DevicePlace& place, RankResolution& out) {
  const SourceContext& c = run_.sources[s].context;
  if (place.role == DeviceRole::kStray) {
    RefuseStray(s, place, out);
    return;
  }
  std::optional<RankClaim> claim = BestClaim(c);
  const size_t first = first_device_.at(place.main_source);
  if (s != first) {
    const std::optional<RankClaim> of_first = BestClaim(run_.sources[first].context);
    if (claim && of_first && claim->rank == of_first->rank) claim.reset();
  }
  if (claim) NoteContradictions(c, *claim, out);
  provenance_[s] = claim ? claim->source : RankSource::kAssumed;
  candidates_.push_back({s, claim ? std::optional(claim->rank) : std::nullopt, WorldOf(s)});
}

// One number is in the names of all files, which are of one time and of different processes or devices: it is
// that of something else, such as "lora_rank16_gpu3".
bool RankClaims::NamesTellNothing() const {
  constexpr size_t kSeveral = 3;
  std::set<std::tuple<std::string, int64_t, int32_t>> places;
  ActivityWindow common{INT64_MIN, INT64_MAX};
  for (const GroupCandidate& c : candidates_) {
    const SourceContext& context = run_.sources[c.source].context;
    const ActivityWindow window = WindowOf(context);
    if (!window.active) continue;
    if (provenance_.at(c.source) != RankSource::kFileName || c.rank != candidates_.front().rank) return false;
    if (!places.emplace(context.host, context.pid, context.device).second) return false;
    common.start_ns = std::max(common.start_ns, window.start_ns);
    common.end_ns = std::min(common.end_ns, window.end_ns);
  }
  return places.size() >= kSeveral && common.start_ns < common.end_ns;
}

void RankClaims::ForgetNames(RankResolution& out) {
  out.notes.push_back(fmt::format("the names of all files say rank {}, so that number is not used as a rank",
                                  candidates_.front().rank.value_or(0)));
  for (GroupCandidate& c : candidates_) {
    c.rank.reset();
    provenance_[c.source] = RankSource::kAssumed;
  }
}

void RankClaims::RefuseStray(size_t s, const DevicePlace& place, RankResolution& out) const {
  const SourceContext& c = run_.sources[s].context;
  const SourceContext& main = run_.sources[place.main_source].context;
  const std::optional<RankClaim> claim = BestClaim(main);
  out.refused.push_back(
      {s, claim ? claim->rank : -1, DropReason::kStrayDevice,
       fmt::format(
           "the {} activities of device {} of process {} in {} are not analysed: it has {} of {} collectives and "
           "{:.2f} % of the kernel time of its process, whose main device is {} (--expect-ranks N or --rank-map say "
           "which devices are ranks)",
           c.kernels + c.memcpys + c.memsets + c.graph_spans, c.device, c.pid, c.path, c.collectives,
           place.process_collectives,
           100.0 * static_cast<double>(c.kernel_time_ns) /
               static_cast<double>(std::max<int64_t>(1, place.process_kernel_time_ns)),
           main.device)});
}

}  // namespace lockstep
