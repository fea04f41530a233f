// The phase of each step: what the annotations around its launches say, else which attention kernels it runs (those
// made for prefill or for decode only; see kernel_class_table.cc). Never guessed from durations. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "analysis/condense/phase.h"
#include "analysis/model/kernel_class.h"

namespace lockstep {

class StepPhases {
 public:
  void Add(int32_t step, Phase phase, Family family, int64_t duration_ns) {
    Times& times = steps_[step];
    times.kernels += duration_ns;
    times.annotated[static_cast<size_t>(phase)] += duration_ns;
    if (family == Family::kAttention) times.untold += duration_ns;
    if (family == Family::kAttentionPrefill) times.prefill += duration_ns;
    if (family == Family::kAttentionDecode) times.decode += duration_ns;
  }

  // Kernel time launched inside annotations of this phase so far.
  [[nodiscard]] int64_t Annotated(int32_t step, Phase phase) const {
    const auto found = steps_.find(step);
    return found == steps_.end() ? 0 : found->second.annotated[static_cast<size_t>(phase)];
  }

  // Forgets the step.
  [[nodiscard]] Phase Take(int32_t step) {
    const auto found = steps_.find(step);
    if (found == steps_.end()) return Phase::kNone;
    const Times times = found->second;
    steps_.erase(found);
    const int64_t unannotated = times.annotated[static_cast<size_t>(Phase::kNone)];
    return 2 * unannotated <= times.kernels ? OfAnnotations(times, times.kernels - unannotated) : OfKernels(times);
  }

 private:
  struct Times {
    int64_t kernels = 0;
    std::array<int64_t, 7> annotated = {};
    int64_t untold = 0;
    int64_t prefill = 0;
    int64_t decode = 0;
  };

  static bool IsNearlyAll(int64_t part, int64_t whole) { return part > 0 && part >= whole - whole / 20; }

  // One phase has (nearly) all; a step that trains has several. Backward and optimizer are annotated by torch where
  // forward is not: such a phase must have (nearly) all kernels, told or not.
  static Phase OfAnnotations(const Times& times, int64_t annotated) {
    int64_t serving = 0;
    for (const Phase phase : {Phase::kPrefill, Phase::kDecode, Phase::kMixed}) {
      const int64_t time = times.annotated[static_cast<size_t>(phase)];
      if (IsNearlyAll(time, annotated)) return phase;
      serving += time;
    }
    for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kOptimizer}) {
      if (IsNearlyAll(times.annotated[static_cast<size_t>(phase)], times.kernels)) return phase;
    }
    return annotated > 0 && serving == annotated ? Phase::kMixed : Phase::kNone;
  }

  static Phase OfKernels(const Times& times) {
    if (times.prefill > 0 && times.decode > 0) return Phase::kMixed;
    if (times.untold > 0) return Phase::kNone;
    if (times.prefill > 0) return Phase::kPrefill;
    return times.decode > 0 ? Phase::kDecode : Phase::kNone;
  }

  std::map<int32_t, Times> steps_;  // steps in progress
};

}  // namespace lockstep
