// Ranks on one clock whose records are 1 us apart at most. Not for the product.
#pragma once

#include <cstdint>

#include "analysis/metrics/clock_align/clock_model.h"
#include "tests/support/time_units.h"

namespace lockstep {

inline ClockModel OneClock(int32_t ranks) {
  ClockModel clock;
  for (int32_t r = 0; r < ranks; ++r) clock.SetDomain(r, DomainId{0});
  for (int32_t a = 0; a < ranks; ++a) {
    for (int32_t b = a + 1; b < ranks; ++b) clock.SetPair(a, b, kUs, 100);
  }
  return clock;
}

}  // namespace lockstep
