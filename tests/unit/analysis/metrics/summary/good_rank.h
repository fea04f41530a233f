// A rank of which no gate complains: one kernel, twenty steps, full of work.
#pragma once

#include "analysis/model/kernel_class.h"
#include "tests/support/run_builder.h"

namespace lockstep {

inline SourceBuilder& AddGoodRank(RunBuilder& run, int32_t rank) {
  auto& source = run.AddRank(rank);
  source.Kernel("gemm", {100});
  for (int64_t n = 0; n < 20; ++n) {
    StepRow& step = source.Step(n, n * 100, (n + 1) * 100);
    step.tile.compute_ns = 100;
    step.launches = 5;
    step.kernels = 5;
  }
  source.Window(0, 2'000);
  source.context().classifier_version = kClassifierVersion;
  return source;
}

}  // namespace lockstep
