// Which host records mark a step. A range that is pushed and popped and marks one is a kStep. One that is started and
// ended stays a kStartEnd, because nsys counts the two styles of one name apart; its step number tells that it marks a
// step. Pure.
#pragma once

#include <cstdint>

#include "analysis/model/trace_record.h"

namespace lockstep {

// HostRecord::step_number of a kStartEnd that marks a step without a number of its own.
inline constexpr int64_t kUnnumberedStep = -2;

// Makes the record mark a step with this number; -1: numbered by their order.
constexpr void MarkStep(int64_t number, HostRecord& record) {
  const bool start_end = record.kind == HostKind::kStartEnd;
  if (!start_end) record.kind = HostKind::kStep;
  record.step_number = start_end && number < 0 ? kUnnumberedStep : number;
}

[[nodiscard]] constexpr bool MarksStep(const HostRecord& record) {
  return record.kind == HostKind::kStep || (record.kind == HostKind::kStartEnd && record.step_number != -1);
}

// -1 where the trace gives none.
[[nodiscard]] constexpr int64_t StepNumberOf(const HostRecord& record) {
  return record.step_number < 0 ? -1 : record.step_number;
}

}  // namespace lockstep
