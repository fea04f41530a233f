// Where in a step the launches of a kernel are, by the lowest rank that knows it: all ranks run the same program.
// Borrows the input. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/metrics/kernels/kernels.h"
#include "analysis/report/rows/profile.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

class ProfilePlaces {
 public:
  explicit ProfilePlaces(const ViewInput& input) : input_(input) {}

  // Fills places, and typical_places with typical_kernels where they are known.
  void AddTo(const KernelGroup& group, report::ProfileKernel& kernel);

 private:
  using StepsByNumber = std::map<int64_t, const StepRow*>;

  [[nodiscard]] const SourceData& SourceOf(size_t member) const { return *input_.fleet.members[member].source; }
  [[nodiscard]] const StepsByNumber& StepsOf(size_t member);
  // How many kernels the typical step of this rank has.
  [[nodiscard]] int64_t KernelsOfTypicalStep(size_t member);

  const ViewInput& input_;
  // By member, of those asked for.
  std::map<size_t, StepsByNumber> steps_;
  std::map<size_t, int64_t> kernels_;
};

}  // namespace lockstep
