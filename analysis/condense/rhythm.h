// The repeating unit of what is launched on a device: how steps are found where nothing marks them.
//
// A step is a stretch of launches between two occurrences of one kernel, its anchor, such that (nearly) every kernel of
// the capture occurs in (nearly) every stretch: layers and micro-batches repeat as well, but lack what surrounds them.
// Of the finest such stretches the one is taken whose anchor follows the longest pauses of the device. Nothing is
// guessed from durations. Pure, no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lockstep {

// One launch that ran kernels: a kernel, or a whole graph.
struct LaunchUnit {
  uint32_t token = 0;           // equal tokens = equal work
  int64_t pause_before_ns = 0;  // nothing ran on the device before it
};

struct Rhythm {
  uint32_t anchor = 0;        // the token that starts a step
  size_t units_per_step = 0;  // median
};

// At least this many occurrences of the anchor.
inline constexpr size_t kMinAnchors = 4;

// Units in order of launch; null when there is no rhythm, or only one inside something larger that is seen once.
[[nodiscard]] std::optional<Rhythm> FindRhythm(std::span<const LaunchUnit> units);

}  // namespace lockstep
