#include "aggregator/store/memory/run_assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/base/natural_order.h"
#include "analysis/model/instance_row.h"

namespace lockstep {
namespace {

auto KeyOf(const KernelRow& r) {
  return std::make_tuple(r.name, r.mangled, r.has_shape, r.shape, r.from_graph, r.phase, r.is_rest, r.kind.category,
                         r.kind.family, r.kind.library, r.kind.op, r.kind.dtype);
}
auto KeyOf(const MemoryRow& r) { return std::make_tuple(r.is_memset, r.kind, r.source, r.target, r.on_device); }
auto KeyOf(const ApiRow& r) { return std::make_tuple(r.name, r.kind); }
auto KeyOf(const RangeRow& r) { return std::make_tuple(r.name, r.domain, r.style); }
auto KeyOf(const LaunchRow& r) { return std::make_tuple(r.api, r.kernel, r.tid); }

void MergeSlices(std::vector<std::pair<int64_t, Sketch>>& into, const std::vector<std::pair<int64_t, Sketch>>& from) {
  for (const auto& [index, sketch] : from) {
    const auto place = std::lower_bound(into.begin(), into.end(), index,
                                        [](const auto& slice, int64_t value) { return slice.first < value; });
    if (place != into.end() && place->first == index) {
      place->second.Merge(sketch);
    } else {
      into.emplace(place, index, sketch);
    }
  }
}

void MergeInto(KernelRow& into, const KernelRow& from) {
  MergeSlices(into.slices, from.slices);
  MergePlaces(from.places, into.places);
  if (into.range != from.range) into.range = kNoId;
  into.longest.insert(into.longest.end(), from.longest.begin(), from.longest.end());
  std::stable_sort(into.longest.begin(), into.longest.end(), [](const Exemplar& a, const Exemplar& b) {
    return std::make_tuple(-a.duration_ns, a.start_ns, a.step) < std::make_tuple(-b.duration_ns, b.start_ns, b.step);
  });
  if (into.longest.size() > kMaxExemplars) into.longest.resize(kMaxExemplars);
}
void MergeInto(MemoryRow& into, const MemoryRow& from) {
  into.blocking += from.blocking;
  into.duration.Merge(from.duration);
  into.bytes.Merge(from.bytes);
  into.bandwidth_bytes_per_s.Merge(from.bandwidth_bytes_per_s);
}
void MergeInto(ApiRow& into, const ApiRow& from) {
  into.duration.Merge(from.duration);
  into.launch_delay.Merge(from.launch_delay);
}
void MergeInto(RangeRow& into, const RangeRow& from) {
  into.duration.Merge(from.duration);
  into.projected.Merge(from.projected);
}
// A source tells each of them once; of what a stream says again the first counts.
void MergeInto(LaunchRow& /*into*/, const LaunchRow& /*from*/) {}

template <typename Row>
std::vector<Row> MergeEqual(std::vector<Row> rows) {
  std::map<decltype(KeyOf(std::declval<Row>())), size_t> places;
  std::vector<Row> merged;
  merged.reserve(rows.size());
  for (Row& row : rows) {
    const auto [place, is_new] = places.emplace(KeyOf(row), merged.size());
    if (is_new) {
      merged.push_back(std::move(row));
    } else {
      MergeInto(merged[place->second], row);
    }
  }
  return merged;
}

template <typename Row>
void MoveBefore(std::vector<Row>& earlier, std::vector<Row>& rest) {
  std::move(rest.begin(), rest.end(), std::back_inserter(earlier));
  rest = std::exchange(earlier, {});
}

template <typename Row>
int64_t BytesOf(const std::vector<Row>& rows) {
  return static_cast<int64_t>(rows.capacity() * sizeof(Row));
}

// False: there is no such name.
bool Translate(std::span<const uint32_t> ids, uint32_t* name) {
  if (*name >= ids.size()) return false;
  *name = ids[*name];
  return true;
}

bool TranslateOptional(std::span<const uint32_t> ids, uint32_t* name) { return *name == kNoId || Translate(ids, name); }

absl::Status AllKnown(bool known) {
  return known ? absl::OkStatus() : absl::DataLossError("a row refers to a name that is not there");
}

RankSource BestClaim(const SourceContext& context) {
  RankSource best = RankSource::kAssumed;
  for (const RankClaim& claim : context.claims) best = std::min(best, claim.source);
  return best;
}

}  // namespace

std::vector<KernelRow> MergeKernels(std::vector<KernelRow> rows) {
  std::vector<KernelRow> merged = MergeEqual(std::move(rows));
  std::stable_sort(merged.begin(), merged.end(),
                   [](const KernelRow& a, const KernelRow& b) { return a.name < b.name; });
  return merged;
}

void MergeSummaries(SourceData* source) {
  source->memory = MergeEqual(std::move(source->memory));
  source->apis = MergeEqual(std::move(source->apis));
  source->ranges = MergeEqual(std::move(source->ranges));
  source->launches = MergeEqual(std::move(source->launches));
}

void JoinTables(SourceData& earlier, SourceData* rest) {
  MoveBefore(earlier.steps, rest->steps);
  MoveBefore(earlier.buckets, rest->buckets);
  MoveBefore(earlier.step_kernels, rest->step_kernels);
  if (rest->kernels.empty()) rest->kernels = std::move(earlier.kernels);
  MoveBefore(earlier.memory, rest->memory);
  MoveBefore(earlier.apis, rest->apis);
  MoveBefore(earlier.ranges, rest->ranges);
  MoveBefore(earlier.launches, rest->launches);
  MergeSummaries(rest);
}

void DropTables(SourceData* source) {
  source->buckets = {};
  source->kernels = {};
  source->step_kernels = {};
  source->memory = {};
  source->apis = {};
  source->ranges = {};
  source->launches = {};
}

int64_t BytesOfTables(const SourceData& source) {
  int64_t bytes = BytesOf(source.steps) + BytesOf(source.buckets) + BytesOf(source.step_kernels) +
                  BytesOf(source.kernels) + BytesOf(source.memory) + BytesOf(source.apis) + BytesOf(source.ranges) +
                  BytesOf(source.launches);
  for (const KernelRow& row : source.kernels) bytes += BytesOf(row.slices) + BytesOf(row.longest) + BytesOf(row.places);
  return bytes;
}

Sketch WholeDistribution(const KernelRow& row) {
  Sketch whole;
  for (const auto& [index, sketch] : row.slices) whole.Merge(sketch);
  return whole;
}

uint32_t RunDictionary::Intern(const Hash128& hash, const std::string& text) {
  const auto [place, is_new] = ids_.emplace(hash, static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return place->second;
}

absl::Status TranslateNames(std::span<const uint32_t> ids, SourceData* source) {
  bool known = true;
  for (StepRow& row : source->steps) known = TranslateOptional(ids, &row.name) && known;
  for (KernelRow& row : source->kernels) {
    known = Translate(ids, &row.name) && TranslateOptional(ids, &row.mangled) && TranslateOptional(ids, &row.range) &&
            known;
  }
  for (StepKernelRow& row : source->step_kernels) known = Translate(ids, &row.name) && known;
  for (ApiRow& row : source->apis) known = Translate(ids, &row.name) && known;
  for (RangeRow& row : source->ranges) {
    known = Translate(ids, &row.name) && TranslateOptional(ids, &row.domain) && known;
  }
  for (LaunchRow& row : source->launches) {
    known = Translate(ids, &row.api) && Translate(ids, &row.kernel) && known;
  }
  return AllKnown(known);
}

absl::Status TranslateNames(std::span<const uint32_t> ids, std::vector<InstanceRow>* rows) {
  bool known = true;
  for (InstanceRow& row : *rows) known = Translate(ids, &row.name) && known;
  return AllKnown(known);
}

SourcePresence PresenceOf(const SourceContext& context, bool complete) {
  SourcePresence presence;
  if (!context.claims.empty()) presence.rank = context.claims.front().rank;
  presence.world_size = context.world_size;
  presence.complete = complete;
  return presence;
}

RunState StateOf(const RunFacts& facts, std::span<const SourcePresence> sources) {
  std::set<int32_t> claimed;
  int64_t unclaimed = 0;
  int64_t expected = -1;
  bool complete = true;
  for (const SourcePresence& source : sources) {
    if (source.rank.has_value()) {
      claimed.insert(*source.rank);
    } else {
      ++unclaimed;
    }
    expected = std::max<int64_t>(expected, source.world_size.value_or(-1));
    complete = complete && source.complete;
  }
  if (facts.expected_ranks >= 0) expected = facts.expected_ranks;
  // Where nobody says how many there are, those that came are all that is expected.
  const bool present = !sources.empty() && static_cast<int64_t>(claimed.size()) + unclaimed >= expected;
  if (!facts.finished_by_hand && !(complete && present)) return RunState::kOpen;
  return facts.analysed ? RunState::kAnalysed : RunState::kComplete;
}

bool IsPlainlyOpen(const RunFacts& facts, const RunGlance& glance) {
  if (facts.finished_by_hand) return false;
  const int64_t expected = facts.expected_ranks >= 0 ? facts.expected_ranks : glance.world_size;
  // No source is more than one rank.
  return !glance.all_complete || glance.sources == 0 || glance.sources < expected;
}

absl::Status CheckExpectedRanks(const std::string& run, const RunInfo& stored, int32_t expected_ranks) {
  if (!stored.finished_by_hand || expected_ranks < 0 || expected_ranks == stored.expected_ranks) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      fmt::format("run '{}' was finished by hand and expects {} ranks, not {}: use --replace to start it again, or "
                  "another --run name",
                  run, stored.expected_ranks, expected_ranks));
}

bool MustReplace(const SourceContext& stored, const SourceContext& offered) {
  if (stored.path == offered.path && stored.host == offered.host) return stored.claims != offered.claims;
  const RankSource ours = BestClaim(stored);
  const RankSource theirs = BestClaim(offered);
  if (ours != theirs) return theirs < ours;
  if (stored.path != offered.path) return NaturalPathLess(offered.path, stored.path);
  return NaturalPathLess(offered.host, stored.host);
}

absl::Status NoSuchRun(const std::string& run) {
  return absl::NotFoundError(
      fmt::format("there is no run '{}'; `lockstep runs` lists the runs of a store or an aggregator", run));
}

absl::Status NoSuchSource(const std::string& run, const Hash128& source) {
  return absl::NotFoundError(
      fmt::format("run '{}' has no source {}: announce it before its batches", run, source.Hex()));
}

absl::Status SequenceHole(const Hash128& source, int64_t sequence, int64_t expected) {
  return absl::OutOfRangeError(
      fmt::format("source {}: batch {} offered, but {} is the next one", source.Hex(), sequence, expected));
}

absl::Status ConflictingBatch(const Hash128& source, int64_t sequence, const Hash128& stored, const Hash128& offered) {
  return absl::FailedPreconditionError(
      fmt::format("conflicting_batch: source {}, batch {} is stored with hash {}, offered with {}; two versions of the "
                  "agent read one file: use --replace to start the run again",
                  source.Hex(), sequence, stored.Hex(), offered.Hex()));
}

}  // namespace lockstep
