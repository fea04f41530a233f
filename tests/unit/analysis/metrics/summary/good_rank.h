// A rank of which no gate complains (one kernel, twenty steps, full of work), and two such ranks on clocks of their
// own.
#pragma once

#include "analysis/model/kernel_class.h"
#include "tests/support/run_builder.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

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

// Ranks 0 and 1 lie on two clocks whose bounds are known on both sides.
inline void SetTwoClocks(FleetFixture& fixture, bool certified) {
  for (const int32_t rank : {0, 1}) {
    fixture.match.clock.SetDomain(rank, DomainId{rank});
    DomainClock clock;
    clock.method = rank == 0 ? ClockMethod::kShared : ClockMethod::kBand;
    clock.certified = certified;
    clock.knots = {{0, 0, -100, 100, 10}};
    fixture.match.clock.SetDomainClock(DomainId{rank}, clock);
  }
}

}  // namespace lockstep
