#include "cli/timeline/run_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/skew/skew.h"
#include "analysis/report/analysis_steps.h"
#include "analysis/report/empty_selection.h"
#include "analysis/report/run_chapters.h"
#include "analysis/report/views/group_names.h"

namespace lockstep {
namespace {

using perfetto::CollectiveEvent;
using perfetto::SampleEvent;
using perfetto::StepEvent;

int64_t Minus(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? INT64_MIN : INT64_MAX;
}

// What an event needs of the row of a member.
struct RowFacts {
  int32_t stream = -1;
  uint32_t name = 0;  // of the run
};

class RunEventCollector {
 public:
  RunEventCollector(const LoadedRun& run, const TimelineOptions& asked, const RunEventsOptions& options,
                    NameTable& names, Executor& executor, const std::stop_token& stop)
      : run_(run), data_(run.data), asked_(asked), options_(options), names_(names), executor_(executor), stop_(stop) {}

  absl::StatusOr<RunEvents> Collect() {
    AnalysisOptions analysis;
    analysis.ranks = asked_.ranks;
    analysis.expected_ranks = options_.expected_ranks;
    events_.ranks = ResolveRanks(data_, analysis);
    LOCKSTEP_RETURN_IF_ERROR(CheckRanks(data_, events_.ranks, analysis));
    ChoosePlaces(SelectedRanks(events_.ranks, analysis));
    const int64_t share = options_.memory_bytes / 4;
    events_.steps = std::make_unique<EventSorter<StepEvent>>(options_.tmp_dir, share);
    events_.samples = std::make_unique<EventSorter<SampleEvent>>(options_.tmp_dir, share);
    events_.collectives = std::make_unique<EventSorter<CollectiveEvent>>(options_.tmp_dir, 2 * share);
    LOCKSTEP_RETURN_IF_ERROR(TakeChapters());
    LOCKSTEP_RETURN_IF_ERROR(CheckSelected(std::move(analysis)));
    FindSpan();
    LOCKSTEP_RETURN_IF_ERROR(AddSteps());
    LOCKSTEP_RETURN_IF_ERROR(AddSamples());
    return std::move(events_);
  }

 private:
  absl::Status CheckSelected(AnalysisOptions analysis) const {
    analysis.steps = asked_.steps;
    analysis.time_ns = asked_.time_ns;
    const Fleet fleet = MakeFleet(data_, events_.ranks, events_.match, analysis);
    LOCKSTEP_RETURN_IF_ERROR(CheckSelection(fleet));
    return CheckTimeAndNames(fleet);
  }

  const SourceData& SourceOf(size_t rank_index) const { return data_.sources[events_.ranks.ranks[rank_index].source]; }

  void ChoosePlaces(const std::vector<bool>& selected) {
    uint32_t next = 0;
    for (const bool is : selected) events_.places.push_back(is ? next++ : kNoId);
  }

  // Times are since 1970 or near 0; both are far from what a sum can hold.
  void FindSpan() {
    const RunSpan span = SpanOf(data_, events_.ranks, events_.match.clock);
    events_.start_ns = span.start_ns;
    events_.end_ns = std::max(span.start_ns, span.end_ns);
  }

  absl::Status TakeChapters() {
    RunChapters chapters(data_, *run_.instances, events_.ranks, {}, executor_);
    LOCKSTEP_RETURN_IF_ERROR(chapters.Open());
    events_.match = chapters.match();
    FindSpan();
    while (true) {
      if (stop_.stop_requested()) return absl::CancelledError("stopped before all collectives were matched");
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, chapters.Next());
      if (!more) break;
      for (const RunChapters::Current& current : chapters.current()) {
        LOCKSTEP_RETURN_IF_ERROR(AddChapter(current.chapter, current.rows));
      }
      chapters.Count();
    }
    events_.match = chapters.match();
    return absl::OkStatus();
  }

  absl::Status AddChapter(const Chapter& chapter, InstanceSource& rows) {
    LOCKSTEP_RETURN_IF_ERROR(ReadRows(rows));
    match_ = &chapter.match;
    for (const MatchedInstance& instance : chapter.match.instances) {
      if (chapter.Owns(instance)) LOCKSTEP_RETURN_IF_ERROR(AddInstance(instance));
    }
    return absl::OkStatus();
  }

  absl::Status ReadRows(InstanceSource& rows) {
    facts_.resize(events_.ranks.ranks.size());
    for (size_t i = 0; i < facts_.size(); ++i) {
      facts_[i].clear();
      if (events_.places[i] == kNoId) continue;
      LOCKSTEP_ASSIGN_OR_RETURN(const auto stream, rows.Open(events_.ranks.ranks[i].source));
      while (true) {
        LOCKSTEP_ASSIGN_OR_RETURN(const auto block, stream->Next());
        if (block.empty()) break;
        for (const InstanceRow& row : block) facts_[i].push_back({row.stream, row.name});
      }
    }
    return absl::OkStatus();
  }

  bool IsExported(const MatchedMember& member) const {
    const auto index = static_cast<size_t>(member.rank_index);
    return events_.places[index] != kNoId && member.row >= 0 && static_cast<size_t>(member.row) < facts_[index].size();
  }

  bool SelectsInstance(const MatchedInstance& instance) const {
    return std::any_of(instance.members.begin(), instance.members.end(), [&](const MatchedMember& member) {
      return IsExported(member) && events_.Selects(asked_, member.start_ns, member.end_ns, instance.step);
    });
  }

  absl::Status AddInstance(const MatchedInstance& instance) {
    if (!SelectsInstance(instance)) return absl::OkStatus();
    ++instances_;
    const CollectiveEvent shared = SharedFacts(instance);
    members_.clear();
    for (const MatchedMember& member : instance.members) {
      if (IsExported(member)) members_.push_back(MemberEvent(instance, member, shared));
    }
    DrawArrows(instance);
    for (const CollectiveEvent& event : members_) {
      ++events_.sizes.collectives;
      if (event.waits()) ++events_.sizes.waits;
      LOCKSTEP_RETURN_IF_ERROR(events_.collectives->Add(event));
    }
    events_.sizes.by_wait.Add(shared.instance_wait_ns, static_cast<int64_t>(members_.size()));
    return absl::OkStatus();
  }

  int32_t RankAt(int32_t rank_index) const {
    return rank_index < 0 ? -1 : events_.ranks.ranks[static_cast<size_t>(rank_index)].rank;
  }

  CollectiveEvent SharedFacts(const MatchedInstance& instance) {
    CollectiveEvent event;
    const bool compared = instance.matched() && instance.comparable;
    event.comparable = compared;
    event.instance = instances_;
    event.bytes = instance.bytes;
    event.seq = instance.seq;
    event.step = instance.step;
    event.members = static_cast<uint32_t>(instance.members.size());
    event.transfer_ns = instance.transfer_ns;
    if (compared) {
      event.spread_ns = instance.spread_ns;
      event.uncertainty_ns = instance.uncertainty_ns;
      event.last_rank = RankAt(instance.last_rank_index);
      event.last_certain = instance.last_certain;
      event.last_start_ns = instance.last_start_ns;
      for (const MatchedMember& member : instance.members) event.instance_wait_ns += member.wait_ns;
    }
    event.group = GroupName(instance.communicator);
    event.name = InstanceName(instance);
    return event;
  }

  uint32_t GroupName(uint32_t communicator) {
    const auto [found, is_new] = group_names_.try_emplace(communicator, 0);
    if (is_new) found->second = names_.Id(NameOrId(match_->communicators[communicator]));
    return found->second;
  }

  // The operation and its group, where the traces tell; else the kernel, which is the first member's.
  uint32_t InstanceName(const MatchedInstance& instance) {
    if (instance.op == CollectiveOp::kUnknown) {
      for (const MatchedMember& member : instance.members) {
        if (IsExported(member)) return KernelName(FactsOf(member).name);
      }
    }
    const auto [found, is_new] = instance_names_.try_emplace({instance.communicator, instance.op}, 0);
    if (is_new) {
      const std::optional<std::string> group = NameOfGroup(match_->communicators[instance.communicator]);
      const std::string_view op = Name(instance.op);
      found->second = names_.Id(group ? fmt::format("{} · {}", op, *group) : std::string(op));
    }
    return found->second;
  }

  uint32_t KernelName(uint32_t name) {
    const auto [found, is_new] = kernel_names_.try_emplace(name, 0);
    if (is_new) found->second = names_.Id(NameOf(data_, name));
    return found->second;
  }

  const RowFacts& FactsOf(const MatchedMember& member) const {
    return facts_[static_cast<size_t>(member.rank_index)][static_cast<size_t>(member.row)];
  }

  CollectiveEvent MemberEvent(const MatchedInstance& instance, const MatchedMember& member,
                              const CollectiveEvent& shared) {
    CollectiveEvent event = shared;
    const RowFacts& facts = FactsOf(member);
    event.start_ns = member.start_ns;
    event.duration_ns = std::max<int64_t>(0, Minus(member.end_ns, member.start_ns));
    event.arrival_ns = member.start_ns;
    event.rank = events_.places[static_cast<size_t>(member.rank_index)];
    event.stream = facts.stream;
    event.kernel = KernelName(facts.name);
    if (!shared.comparable) return event;
    event.wait_ns = member.wait_ns;
    event.wait_uncertainty_ns = member.wait_uncertainty_ns;
    event.lateness_ns = LatenessNs(instance, member);
    event.arrival_ns = member.wait_ns > 0 ? member.arrival_ns : member.start_ns;
    event.awaited_rank = RankAt(member.awaits);
    return event;
  }

  // From those who were waited for to those who waited, an arrow each. The ids of one rank's arrows follow each other.
  void DrawArrows(const MatchedInstance& instance) {
    std::vector<std::pair<uint32_t, uint32_t>> arrows;  // (from, to), places in members_
    for (uint32_t to = 0; to < members_.size(); ++to) {
      const CollectiveEvent& event = members_[to];
      if (!event.waits() || event.awaited_rank < 0 || event.arrival_ns >= event.start_ns + event.duration_ns) continue;
      const auto from =
          std::lower_bound(members_.begin(), members_.end(), event.awaited_rank,
                           [&](const CollectiveEvent& other, int32_t rank) { return RankOfPlace(other.rank) < rank; });
      if (from == members_.end() || RankOfPlace(from->rank) != event.awaited_rank) continue;
      if (from->start_ns > event.arrival_ns) continue;
      arrows.emplace_back(static_cast<uint32_t>(from - members_.begin()), to);
    }
    if (instance.members.size() > kMostArrows && arrows.size() > 1) {
      arrows = {*std::max_element(arrows.begin(), arrows.end(), [&](const auto& a, const auto& b) {
        return members_[a.second].wait_ns < members_[b.second].wait_ns;
      })};
    }
    std::sort(arrows.begin(), arrows.end());
    for (const auto& [from, to] : arrows) {
      members_[to].flow_to_here = ++flows_;
      if (members_[from].flows++ == 0) members_[from].first_flow = flows_;
    }
  }

  int32_t RankOfPlace(uint32_t place) {
    if (rank_of_place_.empty()) {
      for (size_t i = 0; i < events_.places.size(); ++i) {
        if (events_.places[i] != kNoId) rank_of_place_.push_back(events_.ranks.ranks[i].rank);
      }
    }
    return rank_of_place_[place];
  }

  std::string StepName(const StepRow& row) const {
    const std::string& name = NameOf(data_, row.name);
    if (name.empty() || name.starts_with("ProfilerStep")) return fmt::format("step {}", row.step);
    return fmt::format("{} (step {})", name, row.step);
  }

  absl::Status AddSteps() {
    for (size_t i = 0; i < events_.places.size(); ++i) {
      if (events_.places[i] == kNoId) continue;
      for (const StepRow& row : SourceOf(i).steps) {
        if (row.step == kNoStep || row.window_end_ns <= row.window_start_ns) continue;
        LOCKSTEP_RETURN_IF_ERROR(AddStep(i, row));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddStep(size_t rank_index, const StepRow& row) {
    StepEvent event;
    event.start_ns = events_.Aligned(rank_index, row.window_start_ns);
    const int64_t end_ns = events_.Aligned(rank_index, row.window_end_ns);
    event.duration_ns = std::max<int64_t>(0, Minus(end_ns, event.start_ns));
    if (!events_.Selects(asked_, event.start_ns, end_ns, row.step)) return absl::OkStatus();
    event.step = row.step;
    event.compute_ns = row.tile.compute_ns;
    event.comm_ns = row.tile.comm_ns;
    event.exposed_comm_ns = Minus(row.tile.comm_ns, row.tile.overlap_ns);
    event.idle_host_ns = row.tile.idle_host_ns;
    event.idle_launch_ns = row.tile.idle_launch_ns;
    event.idle_dependency_ns = row.tile.idle_dependency_ns;
    event.idle_other_ns = row.tile.idle_other_ns;
    event.rank = events_.places[rank_index];
    event.name = names_.Id(StepName(row));
    ++events_.sizes.steps;
    return events_.steps->Add(event);
  }

  // Buckets know no steps: with --steps the counter would say something of other ones, too.
  absl::Status AddSamples() {
    if (asked_.steps) return absl::OkStatus();
    for (size_t i = 0; i < events_.places.size(); ++i) {
      if (events_.places[i] == kNoId) continue;
      const int64_t width_ns = SourceOf(i).context.bucket_ns;
      for (const BucketRow& row : SourceOf(i).buckets) {
        if (width_ns <= 0 || row.measure.span_ns <= 0) continue;
        const int64_t start_ns = events_.Aligned(i, GridTime(row.index, width_ns));
        const int64_t end_ns = start_ns + std::min(width_ns, kMaxAbsTimeNs);
        if (!events_.Selects(asked_, start_ns, end_ns, kNoStep)) continue;
        const double part = static_cast<double>(row.measure.idle_ns()) / static_cast<double>(row.measure.span_ns);
        const auto percent = static_cast<int64_t>(100 * std::clamp(part, 0.0, 1.0) + 0.5);
        ++events_.sizes.samples;
        LOCKSTEP_RETURN_IF_ERROR(
            events_.samples->Add({.start_ns = start_ns, .value = percent, .rank = events_.places[i]}));
      }
    }
    return absl::OkStatus();
  }

  const LoadedRun& run_;
  const RunData& data_;
  const TimelineOptions& asked_;
  const RunEventsOptions& options_;
  NameTable& names_;
  Executor& executor_;
  const std::stop_token& stop_;
  RunEvents events_;
  const MatchResult* match_ = nullptr;        // of the chapter
  std::vector<std::vector<RowFacts>> facts_;  // by rank index and row, of the chapter
  std::vector<CollectiveEvent> members_;      // of the instance
  std::map<uint32_t, uint32_t> group_names_;  // by communicator
  std::map<std::pair<uint32_t, CollectiveOp>, uint32_t> instance_names_;
  std::map<uint32_t, uint32_t> kernel_names_;  // by name of the run
  std::vector<int32_t> rank_of_place_;
  uint64_t instances_ = 0;
  uint64_t flows_ = 0;
};

}  // namespace

int64_t RunEvents::Aligned(size_t rank_index, int64_t local_ns) const {
  const LocalTime local{std::clamp(local_ns, -kMaxAbsTimeNs, kMaxAbsTimeNs)};
  return match.clock.Align(static_cast<int32_t>(rank_index), local).ns;
}

std::vector<uint32_t> RunEvents::PeersOf(uint32_t place) const {
  std::map<int32_t, uint32_t> place_of_rank;
  int32_t rank = -1;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kNoId) continue;
    place_of_rank.emplace(ranks.ranks[i].rank, places[i]);
    if (places[i] == place) rank = ranks.ranks[i].rank;
  }
  std::vector<std::pair<std::tuple<size_t, int64_t, int32_t>, uint32_t>> found;
  for (const Communicator& group : match.communicators) {
    if (std::find(group.members.begin(), group.members.end(), rank) == group.members.end()) continue;
    for (const int32_t other : group.members) {
      const auto at = place_of_rank.find(other);
      if (other == rank || at == place_of_rank.end()) continue;
      found.push_back({{group.members.size(), std::abs(int64_t{other} - rank), other}, at->second});
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<uint32_t> peers;
  std::set<uint32_t> seen;
  for (const auto& [key, peer] : found) {
    if (seen.insert(peer).second) peers.push_back(peer);
  }
  return peers;
}

bool RunEvents::Selects(const TimelineOptions& options, int64_t start, int64_t end, int64_t step) const {
  if (options.steps && step != kNoStep && (step < options.steps->first || step > options.steps->second)) return false;
  if (options.steps && step == kNoStep) return false;
  if (!options.time_ns) return true;
  const int64_t from = Minus(start, start_ns);
  return from < options.time_ns->second && std::max(Minus(end, start_ns), from + 1) > options.time_ns->first;
}

absl::StatusOr<RunEvents> CollectRunEvents(const LoadedRun& run, const TimelineOptions& asked,
                                           const RunEventsOptions& options, NameTable& names, Executor& executor,
                                           const std::stop_token& stop) {
  return RunEventCollector(run, asked, options, names, executor, stop).Collect();
}

}  // namespace lockstep
