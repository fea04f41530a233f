// The columns of table `step` and of its interval measures, named once for the writer, the loader and the schema's
// test.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/row_values.h"
#include "analysis/model/step_row.h"

namespace lockstep {

struct MeasureField {
  std::string_view name;
  int64_t IntervalMeasure::*field;
};
inline constexpr std::array kMeasureFields = {
    MeasureField{"span_ns", &IntervalMeasure::span_ns},
    MeasureField{"compute_ns", &IntervalMeasure::compute_ns},
    MeasureField{"comm_ns", &IntervalMeasure::comm_ns},
    MeasureField{"copy_ns", &IntervalMeasure::copy_ns},
    MeasureField{"opaque_ns", &IntervalMeasure::opaque_ns},
    MeasureField{"overlap_ns", &IntervalMeasure::overlap_ns},
    MeasureField{"strict_exposed_comm_ns", &IntervalMeasure::strict_exposed_comm_ns},
    MeasureField{"copy_only_ns", &IntervalMeasure::copy_only_ns},
    MeasureField{"opaque_only_ns", &IntervalMeasure::opaque_only_ns},
    MeasureField{"idle_host_ns", &IntervalMeasure::idle_host_ns},
    MeasureField{"idle_launch_ns", &IntervalMeasure::idle_launch_ns},
    MeasureField{"idle_dependency_ns", &IntervalMeasure::idle_dependency_ns},
    MeasureField{"idle_other_ns", &IntervalMeasure::idle_other_ns},
};

// The measures of a step: the window's own has plain column names, the corrections a prefix.
struct StepMeasure {
  std::string_view prefix;
  IntervalMeasure StepRow::*member;
};
inline constexpr std::array kStepMeasures = {
    StepMeasure{"", &StepRow::tile},
    StepMeasure{"before_", &StepRow::before},
    StepMeasure{"after_", &StepRow::after},
    StepMeasure{"foreign_", &StepRow::foreign},
};

// Plain numbers of a step; kNoTime is NULL in the store.
struct StepField {
  std::string_view name;
  int64_t StepRow::*field;
};
inline constexpr std::array kStepFields = {
    StepField{"step", &StepRow::step},
    StepField{"host_start_ns", &StepRow::host_start_ns},
    StepField{"host_end_ns", &StepRow::host_end_ns},
    StepField{"window_start_ns", &StepRow::window_start_ns},
    StepField{"window_end_ns", &StepRow::window_end_ns},
    StepField{"first_start_ns", &StepRow::first_start_ns},
    StepField{"last_end_ns", &StepRow::last_end_ns},
    StepField{"launches", &StepRow::launches},
    StepField{"kernels", &StepRow::kernels},
    StepField{"collectives", &StepRow::collectives},
    StepField{"collective_time_ns", &StepRow::collective_time_ns},
    StepField{"collective_max_ns", &StepRow::collective_max_ns},
    StepField{"kernel_time_ns", &StepRow::kernel_time_ns},
    StepField{"longest_gap_ns", &StepRow::longest_gap_ns},
    StepField{"launch_ns", &StepRow::launch_ns},
    StepField{"graph_launches", &StepRow::graph_launches},
    StepField{"sync_calls", &StepRow::sync_calls},
    StepField{"sync_ns", &StepRow::sync_ns},
    StepField{"alloc_calls", &StepRow::alloc_calls},
    StepField{"alloc_ns", &StepRow::alloc_ns},
    StepField{"alloc_max_ns", &StepRow::alloc_max_ns},
    StepField{"host_copies", &StepRow::host_copies},
    StepField{"host_copy_ns", &StepRow::host_copy_ns},
    StepField{"host_copy_bytes", &StepRow::host_copy_bytes},
    StepField{"forward_ns", &StepRow::forward_ns},
    StepField{"backward_ns", &StepRow::backward_ns},
    StepField{"optimizer_ns", &StepRow::optimizer_ns},
};
static_assert(kNoStep == kNoTime);

// Names of the columns above in order of binding: kStepFields, then each measure.
[[nodiscard]] inline std::vector<std::string> StepColumnNames() {
  std::vector<std::string> names;
  for (const StepField& field : kStepFields) names.emplace_back(field.name);
  for (const StepMeasure& measure : kStepMeasures) {
    for (const MeasureField& field : kMeasureFields) {
      names.push_back(std::string(measure.prefix) + std::string(field.name));
    }
  }
  return names;
}

}  // namespace lockstep
