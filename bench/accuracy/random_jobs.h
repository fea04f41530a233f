// Ordinary jobs drawn at random, as flags of lockstep-simulate: no list of cases, so that what is told of them is what
// is told of a job that nobody thought of. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct RandomJob {
  std::vector<std::string> flags;  // without --seed
  std::string program;             // as on the command line
  std::string shape;               // how its ranks divide the work, for a table: "tp dp full", "pp"
};

// The same job for the same seed, on every machine. It has no cause in one of four, two in one of six, and one in the
// others; causes reach from harmless to a third of the step.
[[nodiscard]] RandomJob DrawJob(uint64_t seed);

// The same job without its causes.
[[nodiscard]] RandomJob WithoutCauses(RandomJob job);

// Such a job of 1 to 15 steps, as a profiler captures it that is told to record a few.
[[nodiscard]] RandomJob DrawShortJob(uint64_t seed);

// Such a job with replicas, each of which has sequences of another length in every step: batches that are not padded.
[[nodiscard]] RandomJob DrawJobOfLengths(uint64_t seed);

}  // namespace lockstep
