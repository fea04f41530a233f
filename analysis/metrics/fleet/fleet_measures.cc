#include "analysis/metrics/fleet/fleet_measures.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/sketch_feed.h"

namespace lockstep {
namespace {

// Transfer time of each row of one rank that is the lowest member of its instance; -1 elsewhere. By rank index.
std::vector<std::vector<int64_t>> TransfersByRow(const MatchResult& match, size_t ranks) {
  std::vector<std::vector<int64_t>> transfers(ranks);
  for (const MatchedInstance& instance : match.instances) {
    if (!instance.usable() || instance.transfer_ns < 0) continue;
    const MatchedMember& first = instance.members.front();
    if (first.rank_index < 0 || static_cast<size_t>(first.rank_index) >= transfers.size() || first.row < 0) continue;
    std::vector<int64_t>& rows = transfers[static_cast<size_t>(first.rank_index)];
    const size_t row = static_cast<size_t>(first.row);
    if (rows.size() <= row) rows.resize(row + 1, -1);
    rows[row] = instance.transfer_ns;
  }
  return transfers;
}

// The arrivals of one rank in a chapter, moved from the aligned axis onto the rank's own.
class Arrivals {
 public:
  Arrivals(const MatchResult& match, size_t rank_index)
      : clock_(match.clock), rank_index_(static_cast<int32_t>(rank_index)) {
    if (rank_index < match.arrivals.size()) rows_ = &match.arrivals[rank_index];
  }
  [[nodiscard]] ArrivalOfRow Of(size_t row, const InstanceRow& instance) const {
    if (rows_ == nullptr || row >= rows_->size()) return {};
    ArrivalOfRow arrival = (*rows_)[row];
    if (!arrival.usable) return arrival;
    const int64_t correction = clock_.Correction(rank_index_, LocalTime{instance.start_ns}).ns;
    arrival.arrival_ns += correction;
    if (arrival.latest_ns != kNeverArrived) arrival.latest_ns += correction;
    return arrival;
  }

 private:
  const ClockModel& clock_;
  int32_t rank_index_;
  const std::vector<ArrivalOfRow>* rows_ = nullptr;
};

}  // namespace

// The sweeps one rank needs; fed with every instance of its stream, with its arrival on the rank's own clock, and its
// transfer where the rank is its lowest (else -1).
class RankSweep {
 public:
  // `most_waiting` > 0: of a run that grows.
  RankSweep(const Fleet& fleet, const CommonWindow& window, size_t member, size_t most_waiting)
      : fleet_(fleet), member_(fleet.members[member]), by_step_({}), most_waiting_(most_waiting) {
    AppendSteps();
    if (window.kind == WindowKind::kBuckets) {
      const auto [start, end] = window.local_ns[member];
      buckets_.emplace(std::vector<SweepWindow>{{start, end}});
    }
    if (!fleet.Restricted()) return;
    if (const auto asked = fleet.TimeWindowOf(member_)) {
      asked_window_ = {asked->first, asked->second};
      if (!fleet.TablesSelected()) {
        const int64_t width = member_.source->context.bucket_ns;
        const BucketRange range = BucketsTouching(width, *asked);
        asked_window_ = {range.first * width, range.last * width};
      }
      selected_.emplace(std::vector<SweepWindow>{asked_window_});
    } else {
      selected_.emplace(std::vector<SweepWindow>{{INT64_MIN, INT64_MAX}});
      for (const StepRow& row : member_.source->steps) {
        if (fleet.SelectsStep(row)) selected_steps_.insert(row.step);
      }
    }
  }

  // Of the same rank in a fleet of the same members.
  RankSweep(const RankSweep& other, const Fleet& fleet, size_t member)
      : fleet_(fleet),
        member_(fleet.members[member]),
        feeds_(other.feeds_),
        by_step_(other.by_step_),
        steps_(other.steps_),
        told_ns_(other.told_ns_),
        most_waiting_(other.most_waiting_),
        waiting_(other.waiting_),
        buckets_(other.buckets_),
        selected_(other.selected_),
        asked_window_(other.asked_window_),
        selected_steps_(other.selected_steps_),
        result_(other.result_) {}

  void Grow() {
    AppendSteps();
    while (!waiting_.empty() && waiting_.front().start_ns < told_ns_) TakeWaiting();
  }

  void Add(const InstanceRow& instance, const ArrivalOfRow& arrival, int64_t transfer) {
    result_.communication_ns += instance.duration_ns;
    if (most_waiting_ == 0 || (waiting_.empty() && instance.start_ns < told_ns_)) {
      by_step_.Add(instance, arrival);
    } else {
      if (waiting_.size() == most_waiting_) TakeWaiting();
      waiting_.push_back({instance.start_ns, instance.end_ns(), instance.cover, arrival});
    }
    if (buckets_) buckets_->Add(instance, arrival);
    const bool selected = Selects(instance);
    if (selected_ && (fleet_.options.time_ns || selected)) selected_->Add(instance, arrival);
    if (selected) AddWait(instance, arrival, transfer);
  }

  // The measures of the window and the selection are given; the exposures are made to fit them exactly.
  RankMeasures Finish(const IntervalMeasure& selected, const IntervalMeasure& common, const CommonWindow& window,
                      size_t member) {
    for (auto& [name, feeds] : feeds_) {
      feeds.wait.Flush(result_.waits[name].wait);
      feeds.transfer.Flush(result_.waits[name].transfer);
    }
    while (!waiting_.empty()) TakeWaiting();
    result_.by_step = by_step_.Finish();
    const std::vector<StepRow>& steps = member_.source->steps;
    for (size_t i = 0; i < steps.size(); ++i) Reconcile(result_.by_step[i], steps[i].tile.exposed_comm_ns());
    result_.selected = selected;
    result_.selected_exposure = selected_ ? selected_->Finish()[0] : SumOfSteps(0, steps.size());
    Reconcile(result_.selected_exposure, selected.exposed_comm_ns());
    result_.common = common;
    if (window.of_selection) {
      result_.common_exposure = result_.selected_exposure;
    } else if (window.kind == WindowKind::kBuckets) {
      // Of a run that grew into such a window nothing was swept: it stays unresolved.
      if (buckets_) result_.common_exposure = buckets_->Finish()[0];
    } else if (window.kind == WindowKind::kSteps) {
      result_.common_exposure = SumOfSteps(window.step_rows[member].first, window.step_rows[member].second);
    } else if (window.kind != WindowKind::kNone) {
      result_.common_exposure = SumOfSteps(0, steps.size());
    }
    Reconcile(result_.common_exposure, common.exposed_comm_ns());
    return std::move(result_);
  }

 private:
  // A row of a step that is not told yet.
  struct Waiting {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    ExposureSweep::Cover cover;
    ArrivalOfRow arrival;
  };

  void AppendSteps() {
    const std::vector<StepRow>& steps = member_.source->steps;
    for (; steps_ < steps.size(); ++steps_) {
      by_step_.Append({steps[steps_].window_start_ns, steps[steps_].window_end_ns});
      told_ns_ = std::max(told_ns_, steps[steps_].window_end_ns);
    }
  }

  void TakeWaiting() {
    const Waiting& row = waiting_.front();
    by_step_.Add(row.start_ns, row.end_ns, row.cover, row.arrival);
    waiting_.pop_front();
  }

  [[nodiscard]] bool Selects(const InstanceRow& instance) const {
    if (fleet_.options.time_ns) {
      return instance.start_ns >= asked_window_.start_ns && instance.start_ns < asked_window_.end_ns;
    }
    return !fleet_.SelectsSteps() || (instance.step != kNoStep && selected_steps_.contains(instance.step));
  }

  void AddWait(const InstanceRow& instance, const ArrivalOfRow& arrival, int64_t transfer_ns) {
    if (!arrival.usable) return;
    WaitOfName& of_name = result_.waits[instance.name];
    const int64_t wait = std::min(arrival.arrival_ns, instance.end_ns()) - instance.start_ns;
    FeedsOfName& feeds = feeds_[instance.name];
    feeds.wait.Add(std::max<int64_t>(wait, 0), of_name.wait);
    if (transfer_ns >= 0) feeds.transfer.Add(transfer_ns, of_name.transfer);
  }

  struct FeedsOfName {
    SketchFeed wait;
    SketchFeed transfer;
  };

  [[nodiscard]] Exposure SumOfSteps(size_t first, size_t last) const {
    Exposure sum;
    for (size_t i = first; i < last; ++i) sum.Add(result_.by_step[i]);
    return sum;
  }

  const Fleet& fleet_;
  const FleetRank& member_;
  std::map<uint32_t, FeedsOfName> feeds_;
  ExposureSweep by_step_;
  size_t steps_ = 0;             // whose windows by_step_ has, and
  int64_t told_ns_ = INT64_MIN;  // their end
  size_t most_waiting_ = 0;
  std::deque<Waiting> waiting_;
  std::optional<ExposureSweep> buckets_;
  std::optional<ExposureSweep> selected_;
  SweepWindow asked_window_;
  std::set<int64_t> selected_steps_;
  RankMeasures result_;
};

namespace {

absl::Status SweepChapter(const Fleet& fleet, const Chapter& chapter, InstanceSource& instances, size_t rank_index,
                          const std::vector<int64_t>& transfers, RankSweep& sweep) {
  if (instances.RowCount(fleet.ranks.ranks[rank_index].source) == 0) return absl::OkStatus();
  const Arrivals arrivals(chapter.match, rank_index);
  const RowRange own = chapter.OwnOf(rank_index);
  LOCKSTEP_ASSIGN_OR_RETURN(auto stream, instances.Open(fleet.ranks.ranks[rank_index].source));
  size_t row = 0;
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, stream->Next());
    if (block.empty()) return absl::OkStatus();
    for (const InstanceRow& instance : block) {
      const int64_t transfer = row < transfers.size() ? transfers[row] : -1;
      if (own.Has(static_cast<int64_t>(row))) sweep.Add(instance, arrivals.Of(row, instance), transfer);
      ++row;
    }
  }
}

// Rows of a rank that wait for their step: some steps of them.
size_t MostWaiting(const Fleet& fleet) {
  constexpr size_t kOfAll = size_t{2} << 20;
  constexpr size_t kLeast = 512;
  return std::max(kLeast, kOfAll / std::max<size_t>(1, fleet.members.size()));
}

}  // namespace

int64_t FleetMeasures::RankTime() const {
  int64_t sum = 0;
  for (const RankMeasures& rank : ranks) sum += rank.selected.span_ns;
  return sum;
}

FleetMeter::FleetMeter(const Fleet& fleet, bool grows) : fleet_(fleet), slow_(fleet, grows ? MostWaiting(fleet) : 0) {
  result_.window = FindCommonWindow(fleet);
  result_.joined = JoinedTotals(fleet.ranks.ranks.size());
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    sweeps_.push_back(std::make_unique<RankSweep>(fleet, result_.window, member, grows ? MostWaiting(fleet) : 0));
  }
}

FleetMeter::FleetMeter(const FleetMeter& other, const Fleet& fleet)
    : fleet_(fleet), result_(other.result_), slow_(other.slow_, fleet) {
  const CommonWindow window = FindCommonWindow(fleet);
  // What is exposed in a window of buckets is summed for that one.
  const bool keeps = window.kind == WindowKind::kBuckets && result_.window.kind == WindowKind::kBuckets;
  if (!keeps) result_.window = window;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    sweeps_.push_back(std::make_unique<RankSweep>(*other.sweeps_[member], fleet, member));
  }
}

void FleetMeter::Grow() {
  slow_.Grow();
  for (const auto& sweep : sweeps_) sweep->Grow();
}

FleetMeter::~FleetMeter() = default;

absl::Status FleetMeter::Add(const Chapter& chapter, InstanceSource& instances, Executor& executor) {
  const std::vector<std::vector<int64_t>> transfers = TransfersByRow(chapter.match, fleet_.ranks.ranks.size());
  const size_t ranks = sweeps_.size();
  std::vector<absl::Status> done(ranks);
  executor.ParallelFor(ranks + 1, [&](size_t i) {
    if (i == 0) {
      return ForEachOwn(chapter, [&](const MatchedInstance& instance) {
        result_.joined.Add(instance);
        slow_.Add(instance);
      });
    }
    const size_t rank_index = fleet_.members[i - 1].index;
    done[i - 1] = SweepChapter(fleet_, chapter, instances, rank_index, transfers[rank_index], *sweeps_[i - 1]);
  });
  for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

FleetMeasures FleetMeter::Finish() {
  slow_.Close();
  for (size_t member = 0; member < sweeps_.size(); ++member) {
    const FleetRank& rank = fleet_.members[member];
    result_.ranks.push_back(sweeps_[member]->Finish(
        MeasureSelected(fleet_, rank), MeasureCommon(fleet_, result_.window, member), result_.window, member));
    result_.ranks.back().awaited = slow_.Of(member);
  }
  return std::move(result_);
}

}  // namespace lockstep
