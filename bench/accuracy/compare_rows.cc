// Comparisons of two runs: how often identical code is called slower or faster, whether intervals hold the truth, and
// whether a cause that was put into one side is named.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/compare/compare.h"
#include "analysis/compare/statistics/change_points.h"
#include "analysis/report/json.h"
#include "bench/accuracy/compare_calibration.h"
#include "bench/accuracy/rows.h"
#include "bench/models/random_model.h"
#include "platform/executor.h"

namespace lockstep {
namespace {

using compare::CalibrationCase;
using compare::CalibrationCounts;

constexpr std::string_view kNotTold = "identical code: neither slower nor faster";
constexpr std::string_view kHolds = "the 95 % interval holds the truth";
constexpr int kPairsOfTask = 100;

void CountAlarms(const CalibrationCounts& counts, Score& score) {
  score.Count(kNotTold, counts.pairs - counts.slower - counts.faster, counts.pairs);
}

void CountHeld(const CalibrationCounts& counts, Score& score) {
  score.Count(kHolds, counts.held, counts.pairs - counts.refused);
}

// One task for each kind of steps and repetition.
FigureRow CalibrationRow(const Plan& plan, std::string id, std::string figure, std::vector<Claim> claims,
                         const CalibrationCase& asked) {
  FigureRow row{.id = std::move(id), .figure = std::move(figure), .claims = std::move(claims), .unit = "", .tasks = {}};
  int place = 0;
  for (int repetition = 0; repetition < plan.Trials(1, 5, 30); ++repetition) {
    for (const compare::StepKind kind : compare::kStepKinds) {
      CalibrationCase of_kind = asked;
      of_kind.kind = kind;
      const uint64_t seed = SeedOf(plan, row.id, place++);
      row.tasks.push_back([of_kind, seed] {
        Score score;
        const CalibrationCounts counts = compare::Calibrate(of_kind, kPairsOfTask, seed);
        if (!of_kind.random_change) CountAlarms(counts, score);
        CountHeld(counts, score);
        return score;
      });
    }
  }
  return row;
}

// Three repeats a side, with the noise between runs that the field reports.
CalibrationCase ThreeRepeats(double change) {
  return {.fewest_steps = 50,
          .most_steps = 300,
          .most_rho = 0.9,
          .long_enough = false,
          .repeats = 3,
          .run_sd = 0.005,
          .with_floor = true,
          .change = change,
          .sd = 0.003};
}

FigureRow RepeatsRow(const Plan& plan) {
  constexpr std::string_view kTwoPercent = "a change of +2 % is called slower";
  constexpr std::string_view kThreePercent = "a change of +3 % is called slower";
  FigureRow row{.id = "compare_repeats",
                .figure = "three repeats a side, runs of the same code differ by 0.5 %",
                .claims = {{.name = std::string(kNotTold), .target = 0.94},
                           {.name = std::string(kTwoPercent), .target = 0.80},
                           {.name = std::string(kThreePercent), .target = 0.97}},
                .unit = "",
                .tasks = {}};
  int place = 0;
  for (int repetition = 0; repetition < plan.Trials(3, 20, 100); ++repetition) {
    for (const double change : {0.0, 0.02, 0.03}) {
      const uint64_t seed = SeedOf(plan, row.id, place++);
      row.tasks.push_back([=] {
        Score score;
        const CalibrationCounts counts = compare::Calibrate(ThreeRepeats(change), kPairsOfTask, seed);
        if (change == 0) CountAlarms(counts, score);
        if (change > 0) score.Count(change > 0.025 ? kThreePercent : kTwoPercent, counts.slower, counts.pairs);
        return score;
      });
    }
  }
  return row;
}

// Forty runs of one context, one change of four times their noise.
FigureRow HistoryRow(const Plan& plan) {
  constexpr std::string_view kFound = "the change is found within a run of its place, and no other";
  constexpr std::string_view kNone = "no change is found where there is none";
  FigureRow row{.id = "compare_history",
                .figure = "change points of 40 runs",
                .claims = {{.name = std::string(kFound), .target = 0.93}, {.name = std::string(kNone), .target = 0.95}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(3, 20, 100); ++t) {
    const uint64_t seed = SeedOf(plan, row.id, t);
    row.tasks.push_back([=] {
      Score score;
      std::mt19937_64 random(seed);
      for (int i = 0; i < kPairsOfTask; ++i) {
        const auto at = static_cast<size_t>(compare::Uniform(random, 5, 36));
        std::vector<double> changed;
        std::vector<double> level;
        for (size_t run = 0; run < 40; ++run) {
          const double noise = compare::Normal(random);
          level.push_back(100 + noise);
          changed.push_back(level.back() + (run >= at ? 4 : 0));
        }
        const auto points = compare::ChangePointsOf(changed);
        score.Count(kFound, points.size() == 1 && points[0].first + 1 >= at && points[0].first <= at + 1);
        score.Count(kNone, compare::ChangePointsOf(level).empty());
      }
      return score;
    });
  }
  return row;
}

absl::StatusOr<compare::ComparedRun> SimulatedSide(const std::vector<std::string>& flags, uint64_t seed) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto trial, Trial::Run(flags, seed));
  AnalysisOptions options;
  options.views = compare::ViewsToCompare();
  SerialExecutor executor;
  LOCKSTEP_ASSIGN_OR_RETURN(const Json report,
                            BuildReport(trial->sim().run, *trial->sim().instances, options, executor));
  return compare::ComparedRunOf(report::FromJson<report::Document>(report), {});
}

// What is put into the new side, and what the comparison has to name.
struct PlantedChange {
  std::string flags;
  std::string entry;  // text that one of the two largest entries of the ledger has
};

const std::vector<PlantedChange>& PlantedChanges() {
  static const std::vector<PlantedChange> all = {
      {"--cause slow_gpu:rank=3,factor=1.3", "waiting for rank 3"},
      {"--cause late_host:rank=5,us=60,p=0.3", "waiting for rank 5"},
      {"--cause slow_kernel:rank=2,factor=2", "waiting for rank 2"},
      {"--model-scale 1.3", "gemm kernels"},
  };
  return all;
}

absl::StatusOr<bool> IsNamed(const PlantedChange& change, uint64_t seed, Score& score) {
  const std::string job = "--program decode --tp 8 --hosts 1 --layers 12 --steps 60 ";
  LOCKSTEP_ASSIGN_OR_RETURN(compare::ComparedRun base, SimulatedSide(Words(job), seed));
  LOCKSTEP_ASSIGN_OR_RETURN(compare::ComparedRun fresh, SimulatedSide(Words(job + change.flags), seed + 1));
  compare::Sides sides;
  sides.base.push_back(std::move(base));
  sides.fresh.push_back(std::move(fresh));
  LOCKSTEP_ASSIGN_OR_RETURN(const report::ComparisonDocument document, compare::Compare(sides, {}));
  std::string largest;
  for (size_t i = 0; i < std::min<size_t>(2, document.ledger.size()); ++i) largest += document.ledger[i].label + "; ";
  const bool named = largest.find(change.entry) != std::string::npos;
  if (!named) score.Note(fmt::format("{}: {}", change.flags, largest));
  return named;
}

FigureRow PlantedRow(const Plan& plan) {
  constexpr std::string_view kNamed = "what was changed is one of the two largest entries of the ledger";
  FigureRow row{.id = "compare_ledger",
                .figure = "a cause or a change in one of two simulated runs",
                .claims = {{.name = std::string(kNamed), .target = 0.95}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(8, 80, 200); ++t) {
    const uint64_t seed = SeedOf(plan, row.id, t);
    row.tasks.push_back([=] {
      Score score;
      const PlantedChange& change = PlantedChanges()[static_cast<size_t>(t) % PlantedChanges().size()];
      const absl::StatusOr<bool> named = IsNamed(change, seed, score);
      if (!named.ok()) score.Note(std::string(named.status().message()));
      score.Count(kNamed, named.ok() && *named);
      return score;
    });
  }
  return row;
}

constexpr std::string_view kNothingWrong = "a model without a wrong match above 1 % of the step";
constexpr std::string_view kTimeRight = "kernel time in right matches, as profiles tell kernels";
constexpr std::string_view kTimeRightByRanges = "the same with the ranges around kernels";
constexpr std::string_view kTimeRightByQuartiles = "percent of it by quartiles of places";
constexpr int kModelsOfTask = 100;

struct ModelsOfTask {
  double right = 0;                // share of the kernel time, mean of the models
  std::vector<std::string> wrong;  // a line for each model with a wrong match
};

ModelsOfTask ModelsFrom(uint64_t seed, const compare::ModelOptions& options) {
  ModelsOfTask models;
  for (uint64_t model_seed = seed; model_seed < seed + kModelsOfTask; ++model_seed) {
    const compare::RandomModel model = compare::MakeRandomModel(model_seed, options);
    const auto matches = compare::MatchKernels(model.before.kernels, model.after.kernels);
    const compare::ModelScore of_model = matches.ok() ? compare::ScoreOf(model, *matches) : compare::ModelScore{};
    models.right += of_model.right / kModelsOfTask;
    if (!matches.ok())
      models.wrong.push_back(fmt::format("model {}: {}", model_seed, std::string(matches.status().message())));
    if (of_model.wrong > 0) {
      models.wrong.push_back(fmt::format("model {}: a wrong match of {:.3f}", model_seed, of_model.worst));
    }
  }
  return models;
}

// Places are those of a typical step, as a profile cuts them.
Score ScoreOfModels(uint64_t seed, bool ranges) {
  Score score;
  const ModelsOfTask models = ModelsFrom(seed, {.places = compare::ModelPlaces::kTypicalStep, .ranges = ranges});
  score.Count(kNothingWrong, kModelsOfTask - static_cast<int64_t>(models.wrong.size()), kModelsOfTask);
  for (const std::string& line : models.wrong) score.Note(line);
  // Of ten thousand parts of the time.
  score.Count(ranges ? kTimeRightByRanges : kTimeRight, std::llround(1e4 * models.right), 10'000);
  return score;
}

// Nothing is claimed of runs that were condensed before places were kept.
Score ScoreOfOldProfiles(uint64_t seed) {
  Score score;
  const ModelsOfTask models = ModelsFrom(seed, {.places = compare::ModelPlaces::kQuartiles, .ranges = false});
  score.Value(kTimeRightByQuartiles, 100 * models.right);
  return score;
}

// Models whose kernels were renamed, re-templated, tuned again, fused and split.
FigureRow KernelsRow(const Plan& plan) {
  FigureRow row{.id = "compare_kernels",
                .figure = "random models in another version of their software",
                .claims = {{.name = std::string(kNothingWrong), .target = 0.999},
                           {.name = std::string(kTimeRight), .target = 0.98},
                           {.name = std::string(kTimeRightByRanges), .target = 0.98}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(30, 60, 300); ++t) {
    const uint64_t seed = SeedOf(plan, row.id, t) % 1'000'000'000;
    row.tasks.push_back([seed, t] { return ScoreOfModels(seed, t % 2 == 0); });
    if (t % 10 == 1) row.tasks.push_back([seed] { return ScoreOfOldProfiles(seed); });
  }
  return row;
}

}  // namespace

std::vector<FigureRow> CompareRows(const Plan& plan) {
  const Claim not_told{.name = std::string(kNotTold), .target = 0.93};
  const Claim holds{.name = std::string(kHolds), .target = 0.92};
  std::vector<FigureRow> rows;
  rows.push_back(
      CalibrationRow(plan, "compare_alone", "one pair of runs, no noise between runs", {not_told, holds}, {}));
  rows.push_back(CalibrationRow(plan, "compare_floor", "one pair of runs that differ by 0.72 %, noise assumed",
                                {not_told, holds}, {.run_sd = 0.0072, .with_floor = true}));
  rows.push_back(
      CalibrationRow(plan, "compare_truth", "a true change of -10 to +30 %, three repeats a side",
                     {{.name = std::string(kHolds), .kind = ClaimKind::kBetween, .target = 0.92, .upper = 0.98}},
                     {.repeats = 3, .run_sd = 0.005, .with_floor = true, .random_change = true}));
  rows.push_back(RepeatsRow(plan));
  rows.push_back(HistoryRow(plan));
  rows.push_back(PlantedRow(plan));
  rows.push_back(KernelsRow(plan));
  return rows;
}

}  // namespace lockstep
