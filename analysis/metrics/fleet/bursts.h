// Bursts of device work followed by idleness, and steps that compute far longer than the others of their rank: how
// prefill that blocks decoding looks where nothing tells phases. Units: ns. Pure. docs/algorithms/time.md.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

// Of the buckets of a capture: a burst is at least two in a row that are busy for over four fifths; it counts if at
// least two that are idle for over four fifths follow it at once, or after one in between.
struct Bursts {
  int64_t count = 0;
  int64_t busy_ns = 0;  // the bursts
  int64_t idle_ns = 0;  // what follows them
};
// Of the whole capture; null where it has fewer than 16 buckets.
[[nodiscard]] std::optional<Bursts> FindBursts(const SourceData& source);

// Steps without a known phase that compute at least three times as long as the median one; null without five of them.
struct LongSteps {
  int64_t count = 0;
  int64_t span_ns = 0;      // of the long ones
  int64_t all_span_ns = 0;  // of all without a phase
  int64_t longest_ns = 0;   // computing
  int64_t median_ns = 0;    // computing
};
inline constexpr int64_t kLongStep = 3;  // times the median
[[nodiscard]] std::optional<LongSteps> FindLongSteps(const Fleet& fleet, const SourceData& source);

// Its kernels serve a language model: they keep a cache of keys and values or attend to one, and train nothing.
[[nodiscard]] bool Serves(const SourceData& source);

}  // namespace lockstep
