// Why a step took longer than the median step of its rank: the part that exceeds the median's by most, with numbers.
//
// Compared are steps of the same rank and phase; of those that are not slow (slow_rows.h) nothing is said. Units: ns.
// Pure. docs/algorithms/time.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/fleet/slow_rows.h"

namespace lockstep {

class SlowSteps {
 public:
  // Borrows both.
  SlowSteps(const Fleet& fleet, const FleetMeasures& measures);

  // Of a row of the member's steps; "" = not slow, or too few steps to tell.
  [[nodiscard]] std::string Why(size_t member, size_t row) const;

 private:
  // Medians of the steps that a step is compared with; parts are numbered as in slow_steps.cc.
  struct Usual {
    std::vector<int64_t> parts;
    UsualSpan span;
    int64_t kernels = 0;
    int64_t longest_gap_ns = 0;
    int64_t sync_ns = 0;
    int64_t alloc_ns = 0;
    int64_t launch_ns = 0;
    int64_t host_copies = 0;
    std::map<uint32_t, std::pair<int64_t, int64_t>> by_name;  // time, launches of the kernels kept by step
  };
  struct OfMember {
    std::map<std::string, Usual> by_phase;
    std::map<int64_t, std::vector<const StepKernelRow*>> kernels;  // by step number
    std::map<uint32_t, KernelClass> classes;                       // by name
  };

  void Take(size_t member);
  [[nodiscard]] Usual UsualOf(size_t member, const std::vector<size_t>& rows) const;
  [[nodiscard]] const Usual* UsualFor(size_t member, size_t row) const;
  [[nodiscard]] bool IsSlow(size_t member, size_t row) const;
  [[nodiscard]] std::string OfKernels(size_t member, size_t row, const Usual& usual, int64_t excess_ns) const;
  // As the node told it: the name may be redacted.
  [[nodiscard]] KernelClass ClassOf(size_t member, uint32_t name) const;
  [[nodiscard]] std::string OfCaptureEnd(size_t member, size_t row, int64_t longer_ns) const;  // "" = not that
  [[nodiscard]] std::string OfAwaited(size_t member, size_t row) const;
  [[nodiscard]] std::string Detail(size_t member, size_t row, size_t part, int64_t excess_ns) const;

  const Fleet& fleet_;
  const FleetMeasures& measures_;
  std::vector<OfMember> members_;
};

}  // namespace lockstep
