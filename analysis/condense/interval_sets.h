// The four sets of device activity and how long which of them cover an instant (definitions: "Sets").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "analysis/model/step_row.h"

namespace lockstep {

enum class ActivitySet : uint8_t { kCompute = 0, kComm = 1, kCopy = 2, kOpaque = 3 };
inline constexpr size_t kActivitySets = 4;

// How many activities of each set are running.
struct ActiveCounts {
  std::array<int32_t, kActivitySets> running{};

  void Start(ActivitySet set) { ++running[static_cast<size_t>(set)]; }
  void End(ActivitySet set) { --running[static_cast<size_t>(set)]; }
  [[nodiscard]] bool Has(ActivitySet set) const { return running[static_cast<size_t>(set)] > 0; }
  [[nodiscard]] bool None() const { return (running[0] | running[1] | running[2] | running[3]) == 0; }
  friend ActiveCounts operator+(const ActiveCounts& a, const ActiveCounts& b) {
    ActiveCounts out;
    for (size_t i = 0; i < kActivitySets; ++i) out.running[i] = a.running[i] + b.running[i];
    return out;
  }
  friend ActiveCounts operator-(const ActiveCounts& a, const ActiveCounts& b) {
    ActiveCounts out;
    for (size_t i = 0; i < kActivitySets; ++i) out.running[i] = a.running[i] - b.running[i];
    return out;
  }
};

// Adds `length` with these activities running; nothing running counts as idle_other.
void AddSegment(IntervalMeasure& measure, const ActiveCounts& active, int64_t length_ns);

}  // namespace lockstep
