// lockstep-accuracy: every estimate of the cross-rank analysis scored against simulated clusters whose truth is known.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/base/version.h"
#include "bench/accuracy/table.h"
#include "platform/executor.h"

namespace {

using lockstep::Effort;
using lockstep::FigureRow;
using lockstep::Plan;
using lockstep::Score;
using lockstep::ScoredRow;

std::vector<FigureRow> AllRows(const Plan& plan) {
  std::vector<FigureRow> rows;
  for (auto make :
       {lockstep::ClockRows, lockstep::MatchRows, lockstep::SkewRows, lockstep::StragglerRows, lockstep::CauseRows,
        lockstep::FormatRows, lockstep::SetRows, lockstep::RandomRows, lockstep::CompareRows}) {
    for (FigureRow& row : make(plan)) rows.push_back(std::move(row));
  }
  return rows;
}

// Trials run in parallel; their scores are merged in order.
ScoredRow Run(FigureRow row, lockstep::Executor& executor) {
  std::vector<Score> scores(row.tasks.size());
  executor.ParallelFor(row.tasks.size(), [&](size_t i) { scores[i] = row.tasks[i](); });
  ScoredRow scored{std::move(row), {}};
  for (const Score& score : scores) scored.score.Merge(score);
  return scored;
}

struct Flags {
  uint64_t seed = 1;
  bool quick = false;
  bool full = false;
  std::string json;
  std::string only;
  std::string except;
  size_t jobs = 0;
};

int Main(const Flags& flags) {
  const Plan plan{flags.seed, flags.quick ? Effort::kQuick : flags.full ? Effort::kFull : Effort::kDefault};
  lockstep::ThreadPool pool(flags.jobs);
  std::vector<ScoredRow> scored;
  for (FigureRow& row : AllRows(plan)) {
    if (!flags.only.empty() && row.id.find(flags.only) == std::string::npos) continue;
    if (!flags.except.empty() && row.id.find(flags.except) != std::string::npos) continue;
    scored.push_back(Run(std::move(row), pool));
    fmt::print("{}\n", TextOf(scored.back()));
    std::fflush(stdout);
  }
  if (scored.empty()) {
    fmt::print(stderr, "lockstep-accuracy: no figure is left: none has '{}' in its id\n", flags.only);
    return 1;
  }
  if (!flags.json.empty()) {
    std::ofstream file(flags.json);
    file << JsonOf(scored, plan).dump(1) << "\n";
    if (!file.flush()) {
      fmt::print(stderr, "lockstep-accuracy: cannot write {}\n", flags.json);
      return 2;
    }
  }
  const int missed = MissedClaims(scored, !flags.quick);
  fmt::print("{} (seed {})\n", missed == 0 ? "every target holds" : fmt::format("{} targets not reached", missed),
             flags.seed);
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Scores every estimate of lockstep against simulated clusters whose truth is known.");
  app.footer(
      "lockstep-accuracy --seed 42 --quick        a sample, two minutes\n"
      "lockstep-accuracy --seed 42 --json out.json   the table; exit 0 only if every target holds\n"
      "lockstep-accuracy --seed 42 --only clock   one part of it");
  Flags flags;
  app.add_option("--seed", flags.seed, "seed of the simulated clusters")->capture_default_str();
  auto* quick = app.add_flag("--quick", flags.quick, "run few trials; rows without enough trials are not judged");
  app.add_flag("--full", flags.full, "run many more trials; this takes hours")->excludes(quick);
  app.add_option("--json", flags.json, "also write the table to this file, as JSON");
  app.add_option("--only", flags.only, "only rows whose id contains this text");
  app.add_option("--except", flags.except, "no rows whose id contains this text");
  app.add_option("--jobs", flags.jobs, "number of trials at a time (default: the number of cores)");
  app.set_version_flag("--version", std::string(lockstep::Version()));
  CLI11_PARSE(app, argc, argv);
  return Main(flags);
}
