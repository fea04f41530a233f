#include "tests/support/simulator/simulated.h"

#include <gtest/gtest.h>

#include <utility>

#include "bench/simulator/command/simulate_command.h"

namespace lockstep {

std::unique_ptr<SimulatedRun> Simulated(const std::vector<std::string>& flags, int seed) {
  std::vector<std::string> words = {"lockstep-simulate", "--seed", std::to_string(seed), "--out", "unused"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const CommandLine line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  EXPECT_TRUE(line.run) << line.message;
  auto run = SimulateCondensed(line.options, {.step_times_without = false});
  EXPECT_TRUE(run.ok()) << run.status();
  return *std::move(run);
}

}  // namespace lockstep
