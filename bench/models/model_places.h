// What is known of the places of the launches of a random model. Pure.
#pragma once

#include <vector>

#include "analysis/compare/kernels/kernel_of_run.h"

namespace lockstep::compare {

enum class ModelPlaces {
  kNone,
  kQuartiles,    // five shares of the step's time a kernel, as profiles without a typical step have them at best
  kTypicalStep,  // what a profile has: cut and read by the code that does it for runs
  kEveryLaunch,
};

// `kernels` of one side, with the start of each launch as a fraction of the step.
void KeepPlaces(ModelPlaces kept, std::vector<KernelOfRun>& kernels);

}  // namespace lockstep::compare
