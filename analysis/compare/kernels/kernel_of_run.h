// A kernel of one side of a comparison, summed over the ranks of its run. Plain values; pure, thread safe.
#pragma once

#include <string>
#include <vector>

#include "analysis/model/kernel_class.h"

namespace lockstep::compare {

// Everything in here is outside data: names may be of any bytes and of any length, numbers may be NaN or infinite.
struct KernelOfRun {
  std::string name;     // as the trace has it: demangled with template list and signature, or mangled
  std::string mangled;  // "" = not known
  KernelClass kind;     // ClassifyKernel(name), or what the run has stored of it
  std::string range;    // the NVTX range or annotation around its launches; "" = not known, or several
  double launches_per_step = 0;
  double time_per_step_ns = 0;
  // Where its launches begin in a typical step, as fractions of the step, rising. Best is one for each launch, which
  // shows the calls of a layer: of more than kMostPlacesRead, the first ones and the last one are read. A few
  // quantiles, with the first and the last launch, do with less certainty. Empty = not known.
  std::vector<double> places;
};

}  // namespace lockstep::compare
