#include "analysis/condense/step_measures.h"

#include <algorithm>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/model/instance_row.h"

namespace lockstep {

StepMeasures::StepMeasures(const std::vector<StepRange>& steps, std::vector<uint32_t> activities,
                           std::function<void(int32_t, StepRow)> emit)
    : steps_(steps),
      activities_(std::move(activities)),
      emit_(std::move(emit)),
      tile_of_step_(steps.size(), kNotBegun) {}

StepRow* StepMeasures::RowOf(int32_t step) {
  if (step < 0) return open_.empty() || open_.front().step >= 0 ? nullptr : &open_.front().row;
  const int64_t tile = TileOf(step);
  return tile < first_tile_ ? nullptr : &At(tile).row;
}

void StepMeasures::Open(int32_t step, int64_t t) {
  OpenTile tile;
  tile.step = step;
  tile.row.window_start_ns = t;
  tile.row.window_end_ns = t;
  if (step >= 0) {
    const StepRange& range = steps_[static_cast<size_t>(step)];
    tile.row.step = range.number;
    tile.row.name = range.name;
    tile.row.host_start_ns = range.start_ns;
    tile.row.host_end_ns = range.end_ns;
    if (!activities_.empty()) tile.to_come = activities_[static_cast<size_t>(step)];
    tile_of_step_[static_cast<size_t>(step)] = last_tile() + 1;
  }
  if (!open_.empty() && !paused_) open_.back().row.window_end_ns = t;
  paused_ = false;
  tile.tail = tail_;
  // Nothing has run beyond this boundary yet: the difference takes all before it away.
  tile.before.Subtract(std::exchange(before_all_, {}));
  tile.after.Subtract(std::exchange(after_all_, {}));
  open_.push_back(std::move(tile));
}

bool StepMeasures::Resumes(int32_t step) const {
  return step >= 0 && steps_[static_cast<size_t>(step)].resumes && TileOf(step) == kNotBegun && !open_.empty();
}

void StepMeasures::Pause(int64_t t) {
  open_.back().row.window_end_ns = t;
  paused_ = true;
}

void StepMeasures::Reach(int32_t step, int64_t t) {
  GiveOutDone();
  const bool begins = step < 0 ? open_.empty() : TileOf(step) == kNotBegun;
  if (begins) Open(step, t);
  if (step < 0) return;
  LOCKSTEP_CHECK(TileOf(step) >= first_tile_);  // else there were more of it than was said
  OpenTile& tile = At(TileOf(step));
  if (tile.to_come > 0 && tile.to_come < UINT32_MAX) --tile.to_come;  // the largest number stands for more
}

void StepMeasures::Extend(int32_t step, int64_t end_ns) {
  OpenTile& tile = At(TileOf(step));
  tile.last_end_ns = std::max(tile.last_end_ns, end_ns);
  tail_ = {};
}

void StepMeasures::Start(ActivitySet set, int32_t step, int64_t end_ns) {
  if (step < 0) {
    foreign_.Start(set);
    return;
  }
  Extend(step, end_ns);
  members_.Start(set);
  const int64_t tile = TileOf(step);
  const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& r) { return r.tile >= tile; });
  if (place != running_.end() && place->tile == tile) {
    place->counts.Start(set);
  } else {
    running_.insert(place, {tile, {}})->counts.Start(set);
  }
}

void StepMeasures::End(ActivitySet set, int32_t step) {
  if (step < 0) {
    foreign_.End(set);
    return;
  }
  members_.End(set);
  const int64_t tile = TileOf(step);
  const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& r) { return r.tile == tile; });
  place->counts.End(set);
  if (place->counts.None()) running_.erase(place);
}

void StepMeasures::Point(int32_t step, int64_t t) {
  if (step >= 0) Extend(step, t);
}

void StepMeasures::Segment(int64_t from_ns, int64_t to_ns, const ActiveCounts& all) {
  const int64_t length = to_ns - from_ns;
  StepRow& tile = open_.back().row;
  AddSegment(tile.tile, all, length);
  if (!foreign_.None() && current() >= 0) {
    AddSegment(tile.foreign, all, length);
    IntervalMeasure without;
    AddSegment(without, members_, length);
    tile.foreign.Subtract(without);
  }
  if (members_.None()) {
    AddSegment(tail_, members_, length);
  } else {
    AddLeftovers(length);
  }
}

void StepMeasures::AddLeftovers(int64_t length_ns) {
  ActiveCounts old;
  for (size_t i = 0; i < running_.size(); ++i) {
    old = old + running_[i].counts;
    const int64_t last = i + 1 < running_.size() ? running_[i + 1].tile : last_tile();
    if (last > running_[i].tile) AddBetween(running_[i].tile + 1, last, old, length_ns);
  }
}

void StepMeasures::AddBetween(int64_t first, int64_t last, const ActiveCounts& old, int64_t length_ns) {
  IntervalMeasure after;
  AddSegment(after, old, length_ns);
  IntervalMeasure before;
  AddSegment(before, members_, length_ns);
  IntervalMeasure without;
  AddSegment(without, members_ - old, length_ns);
  before.Subtract(without);
  At(first).before.Add(before);
  At(first).after.Add(after);
  if (last == last_tile()) {
    before_all_.Add(before);
    after_all_.Add(after);
  } else {
    At(last + 1).before.Subtract(before);
    At(last + 1).after.Subtract(after);
  }
}

void StepMeasures::Idle(const Gap& gap) {
  LOCKSTEP_CHECK(!open_.empty());
  StepRow& row = open_.back().row;
  AddGap(row.tile, gap, gap.begin_ns, gap.end_ns);
  AddGap(tail_, gap, gap.begin_ns, gap.end_ns);
  row.longest_gap_ns = std::max(row.longest_gap_ns, gap.end_ns - gap.begin_ns);
}

bool StepMeasures::IsDone(const OpenTile& tile) const {
  if (tile.step < 0) return true;
  const bool runs = !running_.empty() && running_.front().tile <= TileOf(tile.step);
  return !activities_.empty() && tile.to_come == 0 && !runs;
}

void StepMeasures::GiveOutDone() {
  while (open_.size() > 1 && IsDone(open_.front())) GiveOutFront();
}

// The boundary at the start of the front tile is that of its `before`, the one at its end that of its `after`.
void StepMeasures::GiveOutFront() {
  OpenTile front = std::move(open_.front());
  open_.pop_front();
  ++first_tile_;
  before_given_.Add(front.before);
  after_given_.Add(front.after);
  front.row.before = before_given_;
  reached_ns_ = std::max(reached_ns_, front.last_end_ns);
  if (open_.empty()) {
    front.row.after.Subtract(tail_);
  } else if (reached_ns_ >= front.row.window_end_ns) {
    front.row.after = after_given_;
    front.row.after.Add(open_.front().after);
    AddSegment(front.row.after, {}, reached_ns_ - front.row.window_end_ns - front.row.after.span_ns);
  } else {
    front.row.after.Subtract(open_.front().tail);
  }
  emit_(front.step, std::move(front.row));
}

void StepMeasures::Finish(int64_t last_end_ns) {
  if (!open_.empty()) open_.back().row.window_end_ns = last_end_ns;
  while (!open_.empty()) GiveOutFront();
}

}  // namespace lockstep
