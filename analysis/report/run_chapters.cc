#include "analysis/report/run_chapters.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr AlignedTime kBeginning{INT64_MIN / 2};

bool IsOneChapter(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits) {
  return CountInstances(run, ranks) <= limits.whole_rows;
}

// Rows of the step of which there are most; 0: there are no steps.
int64_t RowsOfStep(const MatchResult& matched) {
  std::map<int64_t, int64_t> rows;
  for (const MatchedInstance& instance : matched.instances) {
    if (instance.step != kNoStep) rows[instance.step] += static_cast<int64_t>(instance.members.size());
  }
  int64_t most = 0;
  for (const auto& [step, count] : rows) most = std::max(most, count);
  return most;
}

bool HasSteps(const MatchResult& matched) {
  int64_t step = kNoStep;
  for (const MatchedInstance& instance : matched.instances) {
    if (!instance.usable() || instance.step == kNoStep) continue;
    if (step != kNoStep && instance.step != step) return true;
    step = instance.step;
  }
  return false;
}

ChapterLimits LimitsOf(const std::vector<size_t>& island, ChapterLimits limits) {
  const int64_t rows = limits.rows_of_rank_apart * static_cast<int64_t>(island.size());
  limits.chapter_rows = std::min(limits.chapter_rows, std::max(limits.least_rows_apart, rows));
  return limits;
}

}  // namespace

RunChapters::RunChapters(const RunData& run, InstanceSource& instances, const RankResolution& ranks,
                         const ChapterLimits& limits, Executor& executor)
    : run_(run),
      instances_(&instances),
      ranks_(ranks),
      executor_(&executor),
      limits_(limits),
      whole_(IsOneChapter(run, ranks, limits)),
      counts_(ranks) {
  const auto extent = whole_ ? RunMatcher::Extent::kWhole : RunMatcher::Extent::kStretches;
  lanes_.push_back(std::make_unique<Lane>(RunMatcher(run, ranks, extent)));
  if (!whole_) lanes_.front()->reader = std::make_unique<ChapterReader>(run, ranks, limits);
}

RunChapters::RunChapters(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits)
    : run_(run), ranks_(ranks), limits_(limits), grows_(true), counts_(ranks) {
  lanes_.push_back(std::make_unique<Lane>(RunMatcher(run, ranks, RunMatcher::Extent::kStretches)));
  lanes_.front()->reader = std::make_unique<ChapterReader>(run, ranks, limits);
}

RunChapters::RunChapters(const RunChapters& other, Executor& executor)
    : run_(other.run_),
      ranks_(other.ranks_),
      executor_(&executor),
      limits_(other.limits_),
      counts_(other.counts_),
      breaks_(other.breaks_),
      run_match_(other.run_match_),
      known_communicators_(other.known_communicators_),
      place_of_id_(other.place_of_id_),
      span_(other.span_),
      has_steps_(other.has_steps_),
      next_index_(other.next_index_),
      has_sample_(other.has_sample_),
      sample_span_(other.sample_span_) {
  lanes_.push_back(std::make_unique<Lane>(other.lanes_.front()->matcher));
  lanes_.front()->reader = std::make_unique<ChapterReader>(*other.lanes_.front()->reader);
  rows_ = lanes_.front()->reader->rows().get();
}

absl::Status RunChapters::Continue(InstanceSource& instances, Executor& executor) {
  instances_ = &instances;
  executor_ = &executor;
  return lanes_.front()->reader->Open(instances, run_, true);
}

absl::Status RunChapters::ReadAll() { return lanes_.front()->reader->ReadAll(*executor_); }

void RunChapters::Pause() {
  current_.clear();
  lanes_.front()->stretch = {};
  lanes_.front()->reader->Close();
  instances_ = nullptr;
  executor_ = nullptr;
}

int64_t RunChapters::Untaken() const { return CountInstances(run_, ranks_) - Taken(); }

absl::Status RunChapters::Open() {
  Lane& lane = *lanes_.front();
  std::shared_ptr<InstanceSource> first;
  if (!whole_) {
    LOCKSTEP_ASSIGN_OR_RETURN(first, ReadFirst());
  }
  if (grows_ && !lane.reader->HasRowsOfAll()) return absl::UnavailableError("ranks of the run have not begun");
  InstanceSource& beginning = whole_ ? *instances_ : *first;
  LOCKSTEP_ASSIGN_OR_RETURN(MatchResult matched, lane.matcher.Match(beginning, kBeginning, *executor_));
  first = nullptr;
  rows_ = whole_ ? instances_ : nullptr;
  run_match_ = matched;
  if (whole_) {
    lane.stretch.matched = std::make_shared<MatchResult>(std::move(matched));
    counts_.Add(Chapter{*lane.stretch.matched});
    counts_.Finish(run_match_);
    return absl::OkStatus();
  }
  run_match_.breaks.clear();
  has_steps_ = HasSteps(matched);
  const int64_t rows_of_step = RowsOfStep(matched);
  known_communicators_ = run_match_.communicators.size();
  span_ = SpanOf(run_, ranks_, run_match_.clock);
  span_.end_ns = std::max(span_.end_ns, span_.start_ns + 1);
  if (grows_) return absl::OkStatus();
  BeginSample(rows_of_step);
  if (limits_.apart) LOCKSTEP_RETURN_IF_ERROR(BeginIslands());
  return islands_.empty() ? lane.reader->Open(*instances_, run_, false) : absl::OkStatus();
}

// What the run begins with, of all ranks. A run that does not grow is read from its beginning again, of all ranks
// together or of each island: meanwhile nothing of what is behind it is held.
absl::StatusOr<std::shared_ptr<InstanceSource>> RunChapters::ReadFirst() {
  if (grows_) {
    LOCKSTEP_RETURN_IF_ERROR(lanes_.front()->reader->ReadFirst(*executor_));
    return lanes_.front()->reader->rows();
  }
  ChapterReader first(run_, ranks_, limits_);
  LOCKSTEP_RETURN_IF_ERROR(first.Open(*instances_, run_, false));
  LOCKSTEP_RETURN_IF_ERROR(first.ReadOnlyFirst(*executor_));
  return first.rows();
}

void RunChapters::BeginSample(int64_t rows_of_step) {
  constexpr int64_t kSteps = 7;  // six whole ones
  constexpr int64_t kMostTimes = 3;
  const AlignedTime middle{span_.start_ns + span_ns() / 2};
  const int64_t least = limits_.least_of_rank * static_cast<int64_t>(ranks_.ranks.size());
  const int64_t several = std::min(kSteps * rows_of_step, kMostTimes * limits_.sample_rows);
  const int64_t rows = std::max({limits_.sample_rows, least, several});
  stretch_rows_ = std::make_unique<StretchRows>(run_, ranks_, middle, rows);
  Lane& lane = *lanes_.front();
  lane.members.resize(ranks_.ranks.size());
  std::iota(lane.members.begin(), lane.members.end(), size_t{0});
}

// What was read of all ranks together has told what it can.
absl::Status RunChapters::BeginIslands() {
  constexpr size_t kLanes = 4;
  RankIslands islands = PackIslands(lanes_.front()->matcher.Islands());
  if (islands.size() < 2) return absl::OkStatus();
  islands_ = std::move(islands);
  while (lanes_.size() < std::min(kLanes, islands_.size())) {
    lanes_.push_back(std::make_unique<Lane>(lanes_.front()->matcher));
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i]->next_island = i;
    LOCKSTEP_RETURN_IF_ERROR(OpenIsland(*lanes_[i]));
  }
  return absl::OkStatus();
}

absl::Status RunChapters::OpenIsland(Lane& lane) {
  lane.members = islands_[lane.next_island];
  lane.next_island += lanes_.size();
  lane.reader = std::make_unique<ChapterReader>(run_, ranks_, LimitsOf(lane.members, limits_), lane.members);
  return lane.reader->Open(*instances_, run_, false);
}

absl::StatusOr<bool> RunChapters::Next() {
  if (whole_) return Whole();
  current_.clear();
  for (const auto& lane : lanes_) {
    lane->spent = std::move(lane->stretch);
    if (islands_.empty()) lane->spent = {};
  }
  std::vector<absl::Status> prepared(lanes_.size());
  executor_->ParallelFor(lanes_.size(), [&](size_t i) {
    if (!lanes_[i]->ahead) prepared[i] = Prepare(i);
  });
  for (const absl::Status& status : prepared) LOCKSTEP_RETURN_IF_ERROR(status);
  for (const auto& lane : lanes_) {
    lane->stretch = *std::exchange(lane->ahead, std::nullopt);
    if (lane->stretch.matched != nullptr) Adopt(*lane);
  }
  NumberInstances();
  if (current_.empty() && !grows_) Finish();
  return !current_.empty();
}

absl::StatusOr<bool> RunChapters::Whole() {
  if (!current_.empty()) return false;
  const auto& matched = lanes_.front()->stretch.matched;
  current_.push_back({Chapter{*matched}, *instances_, matched});
  return true;
}

// The next chapter of the reader, or of the lane's next island.
absl::StatusOr<bool> RunChapters::ReadOn(Lane& lane) {
  if (grows_) return lane.reader->ReadSettled(lane.matcher.clock(), *executor_);
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, lane.reader->ReadNext(lane.matcher.clock(), *executor_));
    if (more || lane.next_island >= islands_.size()) return more;
    LOCKSTEP_RETURN_IF_ERROR(OpenIsland(lane));
  }
}

absl::Status RunChapters::Prepare(size_t lane_number) {
  Lane& lane = *lanes_[lane_number];
  lane.spent = {};
  LOCKSTEP_ASSIGN_OR_RETURN(const bool more, ReadOn(lane));
  if (!more) {
    lane.ahead.emplace();
    return absl::OkStatus();
  }
  Stretch next;
  const ChapterReader& reader = *lane.reader;
  LOCKSTEP_ASSIGN_OR_RETURN(MatchResult matched, lane.matcher.Match(*reader.rows(), reader.from(), *executor_));
  next.matched = std::make_shared<MatchResult>(std::move(matched));
  next.rows = reader.rows();
  next.own = reader.own();
  next.clock = lane.matcher.clock();
  next.from = reader.from();
  next.to = reader.to();
  if (stretch_rows_ != nullptr) {
    LOCKSTEP_RETURN_IF_ERROR(stretch_rows_->Add(*next.rows, next.own, lane.members, next.matched->clock, next.to));
  }
  lane.ahead = std::move(next);
  return absl::OkStatus();
}

// Communicators that were first met after the beginning have the places here in which the lanes told of them.
void RunChapters::Renumber(MatchResult& matched) {
  if (matched.communicators.size() == known_communicators_) return;
  std::vector<Communicator>& all = run_match_.communicators;
  std::vector<uint32_t> place(matched.communicators.size());
  std::iota(place.begin(), place.end(), 0U);
  for (size_t c = known_communicators_; c < place.size(); ++c) {
    const Communicator& communicator = matched.communicators[c];
    const auto [at, is_new] = place_of_id_.try_emplace(communicator.id, static_cast<uint32_t>(all.size()));
    if (is_new) all.push_back(communicator);
    place[c] = at->second;
  }
  matched.communicators = all;
  for (MatchedInstance& instance : matched.instances) instance.communicator = place[instance.communicator];
}

void RunChapters::Adopt(Lane& lane) {
  Stretch& stretch = lane.stretch;
  MatchResult& matched = *stretch.matched;
  rows_ = stretch.rows.get();
  Renumber(matched);
  if (islands_.empty()) {
    run_match_.clock = std::move(stretch.clock);
  } else {
    run_match_.clock.TakeOver(stretch.clock, lane.members);
  }
  current_.push_back({Chapter{matched, std::move(stretch.own)}, *stretch.rows, nullptr});
  Current& current = current_.back();
  if (stretch_rows_ != nullptr || !StandsForTheRun(stretch.to)) return;
  current.sample = stretch.matched;
  has_sample_ = true;
  sample_span_ = {std::max(stretch.from.ns, span_.start_ns), std::min(stretch.to.ns, span_.end_ns)};
}

// Own instances count on from those of the chapters before; the others have no number here. Of one communicator in
// order of the lanes.
void RunChapters::NumberInstances() {
  struct Part {
    const Chapter* chapter;
    std::span<MatchedInstance> instances;
  };
  std::map<uint32_t, std::vector<Part>> parts;  // by communicator; in a match it has one place
  auto current = current_.begin();
  for (const auto& lane : lanes_) {
    if (lane->stretch.matched == nullptr) continue;
    std::span<MatchedInstance> rest = lane->stretch.matched->instances;
    while (!rest.empty()) {
      const uint32_t communicator = rest.front().communicator;
      const auto end = std::partition_point(rest.begin(), rest.end(), [&](const MatchedInstance& instance) {
        return instance.communicator == communicator;
      });
      const auto count = static_cast<size_t>(end - rest.begin());
      parts[communicator].push_back({&current->chapter, rest.first(count)});
      rest = rest.subspan(count);
    }
    ++current;
  }
  next_index_.resize(run_match_.communicators.size());
  std::vector<std::pair<int64_t*, const std::vector<Part>*>> tasks;
  for (const auto& [communicator, of] : parts) tasks.emplace_back(&next_index_[communicator], &of);
  executor_->ParallelFor(tasks.size(), [&](size_t i) {
    int64_t& next = *tasks[i].first;
    for (const Part& part : *tasks[i].second) {
      for (MatchedInstance& instance : part.instances) instance.index = part.chapter->Owns(instance) ? next++ : -1;
    }
  });
}

void RunChapters::Count() {
  if (whole_) return;
  executor_->ParallelFor(2, [&](size_t part) {
    for (const Current& it : current_) {
      if (part == 0) {
        counts_.Add(it.chapter);
      } else {
        ForEachOwn(it.chapter, [&](const MatchedInstance& instance) { breaks_.Add(instance); });
      }
    }
  });
}

// What follows needs the room of the chapters.
void RunChapters::Finish() {
  counts_.Finish(run_match_);
  run_match_.breaks = breaks_.Finish();
  executor_->ParallelFor(lanes_.size(), [this](size_t i) {
    lanes_[i]->spent = {};
    lanes_[i]->stretch = {};
    if (!islands_.empty()) lanes_[i]->reader = nullptr;
  });
}

bool RunChapters::StandsForTheRun(AlignedTime to) const {
  if (!grows_) return !has_sample_ && to.ns > span_.start_ns + span_ns() / 2;
  return !has_sample_ || to.ns - span_.start_ns > 2 * (sample_span_.end_ns - span_.start_ns);
}

absl::StatusOr<RunChapters::Sample> RunChapters::TakeSample() {
  StretchRows::Result stretch = stretch_rows_->Finish(run_match_.clock);
  AlignedTime from = stretch_rows_->from();
  if (stretch.count < limits_.sample_rows / 8) {  // nothing goes on in the middle: the beginning
    LOCKSTEP_ASSIGN_OR_RETURN(stretch.rows, ReadFirst());
    from = kBeginning;
  }
  RunMatcher& matcher = lanes_.front()->matcher;  // has done its part
  for (size_t i = 1; i < lanes_.size(); ++i) {
    for (size_t island = i; island < islands_.size(); island += lanes_.size()) {
      matcher.TakeOver(lanes_[i]->matcher, islands_[island]);
    }
  }
  LOCKSTEP_ASSIGN_OR_RETURN(MatchResult matched, matcher.Match(*stretch.rows, from, *executor_));
  Renumber(matched);
  int64_t to_ns = span_.start_ns;
  for (const MatchedInstance& instance : matched.instances) to_ns = std::max(to_ns, instance.members.front().start_ns);
  sample_span_ = {std::max(from.ns, span_.start_ns), std::min(to_ns, span_.end_ns)};
  return Sample{std::make_shared<const MatchResult>(std::move(matched)), std::move(stretch.rows)};
}

}  // namespace lockstep
