#include "analysis/metrics/fleet/fleet_measures.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/interval_selection.h"

namespace lockstep {
namespace {

// Transfer time of each row of one rank that is the lowest member of its instance; -1 elsewhere. By rank index.
std::vector<std::vector<int64_t>> TransfersByRow(const Fleet& fleet) {
  std::vector<std::vector<int64_t>> transfers(fleet.ranks.ranks.size());
  for (const MatchedInstance& instance : fleet.match.instances) {
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

// The arrivals of one rank, moved from the aligned axis onto the rank's own.
class Arrivals {
 public:
  Arrivals(const Fleet& fleet, const FleetRank& member)
      : clock_(fleet.match.clock), rank_index_(static_cast<int32_t>(member.index)) {
    if (member.index < fleet.match.arrivals.size()) rows_ = &fleet.match.arrivals[member.index];
  }
  [[nodiscard]] ArrivalOfRow Of(size_t row, const InstanceRow& instance) const {
    if (rows_ == nullptr || row >= rows_->size()) return {};
    ArrivalOfRow arrival = (*rows_)[row];
    if (arrival.usable) arrival.arrival_ns += clock_.Correction(rank_index_, LocalTime{instance.start_ns}).ns;
    return arrival;
  }

 private:
  const ClockModel& clock_;
  int32_t rank_index_;
  const std::vector<ArrivalOfRow>* rows_ = nullptr;
};

// The sweeps one rank needs; fed with every instance of its stream.
class RankSweep {
 public:
  RankSweep(const Fleet& fleet, const CommonWindow& window, size_t member, const std::vector<int64_t>& transfers)
      : fleet_(fleet),
        member_(fleet.members[member]),
        arrivals_(fleet, member_),
        transfers_(transfers),
        by_step_(StepWindows(*member_.source)) {
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

  void Add(const InstanceRow& instance) {
    const ArrivalOfRow arrival = arrivals_.Of(row_, instance);
    const int64_t transfer = row_ < transfers_.size() ? transfers_[row_] : -1;
    ++row_;
    result_.communication_ns += instance.duration_ns;
    by_step_.Add(instance, arrival);
    if (buckets_) buckets_->Add(instance, arrival);
    const bool selected = Selects(instance);
    if (selected_ && (fleet_.options.time_ns || selected)) selected_->Add(instance, arrival);
    if (selected) AddWait(instance, arrival, transfer);
  }

  // The measures of the window and the selection are given; the exposures are made to fit them exactly.
  RankMeasures Finish(const IntervalMeasure& selected, const IntervalMeasure& common, const CommonWindow& window,
                      size_t member) {
    result_.by_step = by_step_.Finish();
    const std::vector<StepRow>& steps = member_.source->steps;
    for (size_t i = 0; i < steps.size(); ++i) Reconcile(result_.by_step[i], steps[i].tile.exposed_comm_ns());
    result_.selected = selected;
    result_.selected_exposure = selected_ ? selected_->Finish()[0] : SumOfSteps(0, steps.size());
    Reconcile(result_.selected_exposure, selected.exposed_comm_ns());
    result_.common = common;
    if (window.of_selection) {
      result_.common_exposure = result_.selected_exposure;
    } else if (buckets_) {
      result_.common_exposure = buckets_->Finish()[0];
    } else if (window.kind == WindowKind::kSteps) {
      result_.common_exposure = SumOfSteps(window.step_rows[member].first, window.step_rows[member].second);
    } else if (window.kind != WindowKind::kNone) {
      result_.common_exposure = SumOfSteps(0, steps.size());
    }
    Reconcile(result_.common_exposure, common.exposed_comm_ns());
    return std::move(result_);
  }

 private:
  static std::vector<SweepWindow> StepWindows(const SourceData& source) {
    std::vector<SweepWindow> windows;
    for (const StepRow& row : source.steps) windows.push_back({row.window_start_ns, row.window_end_ns});
    return windows;
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
    of_name.wait.Add(std::max<int64_t>(wait, 0));
    if (transfer_ns >= 0) of_name.transfer.Add(transfer_ns);
  }

  [[nodiscard]] Exposure SumOfSteps(size_t first, size_t last) const {
    Exposure sum;
    for (size_t i = first; i < last; ++i) sum.Add(result_.by_step[i]);
    return sum;
  }

  const Fleet& fleet_;
  const FleetRank& member_;
  Arrivals arrivals_;
  const std::vector<int64_t>& transfers_;
  ExposureSweep by_step_;
  std::optional<ExposureSweep> buckets_;
  std::optional<ExposureSweep> selected_;
  SweepWindow asked_window_;
  std::set<int64_t> selected_steps_;
  size_t row_ = 0;
  RankMeasures result_;
};

absl::StatusOr<RankMeasures> MeasureRank(const Fleet& fleet, const CommonWindow& window, size_t member,
                                         const std::vector<int64_t>& transfers, InstanceSource& instances) {
  const FleetRank& rank = fleet.members[member];
  RankSweep sweep(fleet, window, member, transfers);
  LOCKSTEP_ASSIGN_OR_RETURN(auto stream, instances.Open(fleet.ranks.ranks[rank.index].source));
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<InstanceRow> block, stream->Next());
    if (block.empty()) break;
    for (const InstanceRow& instance : block) sweep.Add(instance);
  }
  return sweep.Finish(MeasureSelected(fleet, rank), MeasureCommon(fleet, window, member), window, member);
}

}  // namespace

int64_t FleetMeasures::RankTime() const {
  int64_t sum = 0;
  for (const RankMeasures& rank : ranks) sum += rank.selected.span_ns;
  return sum;
}

absl::StatusOr<FleetMeasures> MeasureFleet(const Fleet& fleet, InstanceSource& instances, Executor& executor) {
  FleetMeasures result;
  result.window = FindCommonWindow(fleet);
  const std::vector<std::vector<int64_t>> transfers = TransfersByRow(fleet);
  std::vector<absl::StatusOr<RankMeasures>> slots(fleet.members.size(), absl::UnknownError("not measured"));
  executor.ParallelFor(slots.size(), [&](size_t i) {
    slots[i] = MeasureRank(fleet, result.window, i, transfers[fleet.members[i].index], instances);
  });
  for (absl::StatusOr<RankMeasures>& slot : slots) {
    LOCKSTEP_RETURN_IF_ERROR(slot.status());
    result.ranks.push_back(*std::move(slot));
  }
  return result;
}

}  // namespace lockstep
