// The rows of the accuracy table: each names its claims and the trials that decide them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/accuracy/figure.h"
#include "bench/accuracy/trial.h"

namespace lockstep {

enum class Effort : uint8_t { kQuick = 0, kDefault = 1, kFull = 2 };

struct Plan {
  uint64_t seed = 1;
  Effort effort = Effort::kDefault;

  [[nodiscard]] int Trials(int quick, int usual, int full) const {
    return effort == Effort::kQuick ? quick : effort == Effort::kDefault ? usual : full;
  }
};

// Independent of every other one; its random numbers follow from the plan's seed and its own place.
using Task = std::function<Score()>;

struct FigureRow {
  std::string id;      // "clock_latency_bound"
  std::string figure;  // what it says, for people
  std::vector<Claim> claims;
  std::string unit;  // of the values that the tasks report
  std::vector<Task> tasks;
};

[[nodiscard]] std::vector<FigureRow> ClockRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> MatchRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> SkewRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> StragglerRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> CauseRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> FormatRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> SetRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> RandomRows(const Plan& plan);
[[nodiscard]] std::vector<FigureRow> CompareRows(const Plan& plan);

// Clusters whose exchanges are uneven or rooted, or whose captures are staggered, as flags of lockstep-simulate.
[[nodiscard]] std::vector<std::string> UnevenScenarios();

// Seed of trial number `trial` of row `row`.
[[nodiscard]] uint64_t SeedOf(const Plan& plan, std::string_view row, int trial);

// A task that simulates, analyses and scores; a failure to do so is a note and a miss of every claim.
[[nodiscard]] Task TrialTask(const FigureRow& row, std::vector<std::string> flags, uint64_t seed,
                             bool step_times_without, std::function<void(Trial&, Score&)> score);

// "a b c" as separate words.
[[nodiscard]] std::vector<std::string> Words(std::string_view text);

}  // namespace lockstep
