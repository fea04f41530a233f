// Steps of single clocks: found where the ends of one domain jump against those of the others, and taken out.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/clock_align/domain_events.h"

namespace lockstep {

struct DomainStep {
  int32_t domain = 0;
  double t = 0;     // common axis, of the domain's clock before the step
  double size = 0;  // ns
};

// Ascending in (domain, t). The offender is the domain common to the pairs that jump together; of two equally likely
// ones that which is not the reference. The steps are removed from the events.
[[nodiscard]] std::vector<DomainStep> RemoveClockSteps(DomainEvents& events);

}  // namespace lockstep
