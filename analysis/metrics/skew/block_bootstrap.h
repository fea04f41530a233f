// A 95 % interval for the ratio sum(numerator) / sum(numerator + rest) by resampling blocks: deterministic, with
// counter-based draws of a fixed seed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep {

struct ShareBlock {
  double part = 0;  // contribution to the numerator
  double rest = 0;  // contribution to the rest of the denominator
};

struct ShareInterval {
  double low = 0;
  double high = 0;
};

// Null for no blocks or a sum of zero. Many blocks are merged with their neighbours into at most 256 before.
[[nodiscard]] std::optional<ShareInterval> BootstrapShare(std::vector<ShareBlock> blocks);

}  // namespace lockstep
