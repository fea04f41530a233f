// Which step ranges --nvtx asks for, by their names. A step keeps the text of its range and not the domain: where a
// domain is asked for, the ranges of the run (RangeRow) tell whether any of that name lies in it. Pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/model/run_data.h"

namespace lockstep {

struct AskedRanges {
  std::vector<bool> names;        // by index into RunData::names
  bool in_other_domains = false;  // a domain is asked for, and ranges of such a name are in others too
};

[[nodiscard]] AskedRanges FindAskedRanges(const RunData& run, const std::string& nvtx);

}  // namespace lockstep
