// A 95 % interval of the mean of an autocorrelated series by the moving block bootstrap: deterministic, with
// counter-based draws. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep {

// How many consecutive values hang together in a series of `values` that is worth `n_eff` independent ones.
[[nodiscard]] size_t BlockLength(size_t values, double n_eff);

// Blocks of `block` consecutive values (at least 1, at most half the series). {0, 0} for an empty series.
[[nodiscard]] std::pair<double, double> BootstrapMean(const std::vector<double>& series, size_t block);

}  // namespace lockstep
