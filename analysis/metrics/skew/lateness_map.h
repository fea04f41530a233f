// The maps rank × step (or × time, where the run has no steps): how late each rank came, and what the others lost to
// it. They are for pictures: cells are shown as colors and hold codes or single-precision sums. Units: ns. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/skew/column_grid.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// A duration as one byte: 0 = none, kUnresolvedCode = less than the clocks can resolve, from kLeastCode on eight codes
// an octave, which begin at 1 us; kLeastCode also stands for less than that, and the last one for all above 50 min.
inline constexpr uint8_t kUnresolvedCode = 1;
inline constexpr uint8_t kLeastCode = 2;
[[nodiscard]] uint8_t DurationCode(double ns);

// What the columns of the maps of a run are.
class MapAxis {
 public:
  // Steps, if any source of the run has them. A row for every rank index.
  MapAxis(const RunData& run, size_t ranks);
  MapAxis(bool steps, size_t ranks) : steps_(steps), ranks_(ranks) {}

  [[nodiscard]] bool steps() const { return steps_; }
  // Number of the step, or aligned time in ns; none: the instance is in no column.
  [[nodiscard]] std::optional<int64_t> KeyOf(const MatchedInstance& instance) const;
  // An empty map, with a row for every rank index.
  template <typename Cell>
  [[nodiscard]] ColumnGrid<Cell> Grid() const {
    return ColumnGrid<Cell>(ranks_, MostColumns(), steps_ ? 0 : kLeastTimeShift);
  }

 private:
  static constexpr int kLeastTimeShift = 10;  // a column covers 1.024 us of time at least
  [[nodiscard]] size_t MostColumns() const;

  bool steps_ = false;
  size_t ranks_ = 0;
};

struct LatenessCell {
  uint8_t code = 0;
  void Merge(const LatenessCell& other) { code = code < other.code ? other.code : code; }
};
using LatenessGrid = ColumnGrid<LatenessCell>;

struct CausedWaitCell {
  float ns = 0;
  void Merge(const CausedWaitCell& other) { ns += other.ns; }
};
using CausedWaitGrid = ColumnGrid<CausedWaitCell>;

// By how much each rank came later than the mean of its group, the largest of each column. Fed with instances; those
// whose arrivals cannot be ordered leave kUnresolvedCode.
class LatenessMap {
 public:
  explicit LatenessMap(const MapAxis& axis) : axis_(axis), grid_(axis.Grid<LatenessCell>()) {}
  void Add(const MatchedInstance& instance);
  [[nodiscard]] const MapAxis& axis() const { return axis_; }
  [[nodiscard]] LatenessGrid& grid() { return grid_; }

 private:
  MapAxis axis_;
  LatenessGrid grid_;
};

}  // namespace lockstep
