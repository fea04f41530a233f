// Randomness as a parameter, as time is: only for what must differ between processes (jitter of retries), never for
// results.
#pragma once

#include <cstdint>
#include <functional>

namespace lockstep {

// Uniform reals in [0, 1).
using RandomUnit = std::function<double()>;

// Seeded by the system, different in every process. The function belongs to one thread at a time.
[[nodiscard]] RandomUnit SystemRandom();

}  // namespace lockstep
