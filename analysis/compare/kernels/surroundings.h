// What is known of the places of kernels at one rung. Inside of this room; borrows the state. Not thread safe.
#pragma once

#include "analysis/compare/kernels/match_state.h"
#include "analysis/compare/kernels/near_wholes.h"
#include "analysis/compare/kernels/ranges_of_both.h"
#include "analysis/compare/kernels/step_order.h"

namespace lockstep::compare {

struct Surroundings {
  explicit Surroundings(const MatchState& state) : order(state), wholes(state, order), ranges(state) {}
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  StepOrder order;
  NearWholes wholes;
  RangesOfBoth ranges;
};

}  // namespace lockstep::compare
