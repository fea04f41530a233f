#include "bench/accuracy/trial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/metrics/match/run_matcher.h"
#include "analysis/metrics/stragglers/tested_lateness.h"
#include "platform/executor.h"

namespace lockstep {
namespace {

// The command line is the one contract of what can be simulated.
absl::StatusOr<SimulatorOptions> OptionsOf(const std::vector<std::string>& flags, uint64_t seed) {
  std::vector<std::string> words = {"lockstep-simulate"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--seed", std::to_string(seed), "--out", "unused"});
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  CommandLine line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  if (!line.run) return absl::InvalidArgumentError(line.message);
  return line.options;
}

}  // namespace

double SavingRatio(const TruthOfCause& cause) {
  if (cause.step_ns_with <= 0) return 0;
  return static_cast<double>(cause.step_ns_with - cause.step_ns_without) / static_cast<double>(cause.step_ns_with);
}

bool EnoughSteps(Trial& trial, const TruthOfCause& cause) {
  const StragglerResult& result = trial.stragglers();
  const double needed = 1.4 * std::log2(100.0 * static_cast<double>(std::max<int64_t>(1, result.tests)));
  for (size_t r = 0; r < result.rank_n_eff.size(); ++r) {
    if (trial.RankOf(static_cast<int32_t>(r)) == cause.origin_ranks.front()) return result.rank_n_eff[r] >= needed;
  }
  return false;
}

absl::StatusOr<std::unique_ptr<Trial>> Trial::Run(const std::vector<std::string>& flags, uint64_t seed,
                                                  bool step_times_without) {
  LOCKSTEP_ASSIGN_OR_RETURN(const SimulatorOptions options, OptionsOf(flags, seed));
  std::unique_ptr<Trial> trial(new Trial());
  LOCKSTEP_ASSIGN_OR_RETURN(trial->sim_, SimulateCondensed(options, {.step_times_without = step_times_without}));
  trial->ranks_ = ResolveRanks(trial->sim_->run, {});
  if (trial->ranks_.groups.size() > 1) return absl::FailedPreconditionError("taken for several runs");
  SerialExecutor executor;
  LOCKSTEP_ASSIGN_OR_RETURN(trial->match_,
                            MatchRun(trial->sim_->run, *trial->sim_->instances, trial->ranks_, executor));
  return trial;
}

const ArrivalGraph& Trial::graph() {
  if (!graph_) {
    SerialExecutor executor;
    auto graph = LoadArrivalGraph(sim_->run, *sim_->instances, ranks_, match_, executor);
    LOCKSTEP_CHECK(graph.ok());
    graph_ = *std::move(graph);
  }
  return *graph_;
}

const BlameResult& Trial::blame() {
  if (!blame_) blame_ = PropagateBlame(graph(), match_);
  return *blame_;
}

const Replay& Trial::replay() {
  if (!replay_) {
    SerialExecutor executor;
    replay_ = std::make_unique<Replay>(graph(), match_, executor);
  }
  return *replay_;
}

const StragglerResult& Trial::stragglers() {
  if (!stragglers_) {
    stragglers_ = FindStragglers({sim_->run, ranks_, match_, graph(), replay(), blame()},
                                 TestLateness(ranks_, match_, graph(), std::nullopt));
  }
  return *stragglers_;
}

int64_t Trial::TrueInstanceOf(int32_t rank_index, int64_t row) const {
  const size_t source = ranks_.ranks[static_cast<size_t>(rank_index)].source;
  const auto& rows = sim_->instance_of_row[source];
  return row >= 0 && static_cast<size_t>(row) < rows.size() ? rows[static_cast<size_t>(row)] : -1;
}

}  // namespace lockstep
