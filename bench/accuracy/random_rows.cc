// Jobs that nobody chose: who is named, with which saving, and that no law is broken.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "analysis/report/json.h"
#include "bench/accuracy/random_jobs.h"
#include "bench/accuracy/rows.h"
#include "platform/executor.h"

namespace lockstep {
namespace {

using Ranks = std::set<int32_t>;

constexpr double kCertain = 0.8;           // of a confidence: told as certain
constexpr double kCounts = 0.005;          // of the step: whoever costs less need not be named
constexpr double kToBeNamed = 0.01;        // and who costs this much has to be
constexpr double kSavingPoints = 0.005;    // how far a told saving may be off: this,
constexpr double kSavingShare = 0.2;       // or this share of it
constexpr double kIntervalPoints = 0.005;  // and how wide its interval may be: this and
constexpr double kIntervalShare = 0.3;     // this share of it

constexpr std::string_view kRight = "right in every point below";
constexpr std::string_view kHealthy = "no cause: nobody at >= 0.5 %";
constexpr std::string_view kNamed = "cause >= 1 %: named, with its scope";
constexpr std::string_view kNobodyElse = "nobody else at >= 0.5 %";
constexpr std::string_view kSaving = "saving within max(0.5 points, 20 %)";
constexpr std::string_view kInterval = "interval holds the saving";
constexpr std::string_view kNarrow = "interval <= 30 % + 0.5 points";
constexpr std::string_view kLaws = "no law broken";

// A culprit of the summary.
struct Told {
  Ranks ranks;
  std::string who;
  double confidence = 0;
  std::optional<double> saving;
  double lo = 0;
  double hi = 0;

  // Told as somebody who costs something: by its saving, or where none is told, as certain.
  [[nodiscard]] bool accused() const { return saving ? *saving >= kCounts : confidence >= kCertain; }
};

std::vector<Told> CulpritsOf(const Json& summary) {
  std::vector<Told> all;
  for (const Json& culprit : summary.at("culprits")) {
    Told told;
    told.ranks = culprit.at("ranks").get<Ranks>();
    told.who = fmt::format("{} {}", culprit.at("scope").get<std::string>(), culprit.at("id").get<std::string>());
    told.confidence = culprit.at("confidence").get<double>();
    if (!culprit.at("saving_ratio").is_null()) {
      told.saving = culprit.at("saving_ratio").get<double>();
      told.lo = culprit.at("saving_interval_ratio").at(0).get<double>();
      told.hi = culprit.at("saving_interval_ratio").at(1).get<double>();
    }
    all.push_back(std::move(told));
  }
  return all;
}

Ranks OriginsOf(const TruthOfCause& cause) { return {cause.origin_ranks.begin(), cause.origin_ranks.end()}; }

bool Within(const Ranks& some, const Ranks& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// Counts what is right of one job; the first thing that is not makes the whole answer wrong.
class JobScore {
 public:
  JobScore(Trial& trial, const Json& report, const RandomJob& job, Score& score)
      : trial_(trial), report_(report), job_(job), score_(score), told_(CulpritsOf(report.at("summary"))) {}

  void Run() {
    const std::vector<TruthOfCause>& causes = trial_.sim().truth.causes;
    if (causes.empty()) Healthy();
    for (const TruthOfCause& cause : causes) OfCause(cause);
    if (!causes.empty()) NobodyElse();
    Laws();
    score_.Count(kRight, wrong_.empty());
    // For the table: where it fails.
    score_.Count(fmt::format("program {}", job_.program), wrong_.empty());
    score_.Count(fmt::format("shape {}", job_.shape), wrong_.empty());
    NoteWrong();
  }

  // Of a job beside those that are drawn with and without causes: that nobody is named, which takes more jobs to tell.
  void RunHealthy() {
    Healthy();
    Laws();
    NoteWrong();
  }

 private:
  void NoteWrong() {
    if (!wrong_.empty()) score_.Note(fmt::format("{}: {}", TruthText(), fmt::join(wrong_, "; ")));
  }

  void Count(std::string_view claim, bool right, std::string why) {
    score_.Count(claim, right);
    if (!right) wrong_.push_back(std::move(why));
  }

  void Healthy() {
    const auto accused = std::find_if(told_.begin(), told_.end(), [](const Told& told) { return told.accused(); });
    Count(kHealthy, accused == told_.end(), accused == told_.end() ? "" : "named " + Text(*accused));
  }

  void OfCause(const TruthOfCause& cause) {
    const Ranks origins = OriginsOf(cause);
    const double truth = SavingRatio(cause);
    Ranks named;
    for (const Told& told : told_) {
      if (Within(told.ranks, origins)) named.insert(told.ranks.begin(), told.ranks.end());
    }
    if (truth >= kToBeNamed && EnoughSteps(trial_, cause)) {
      Count(kNamed, named == origins,
            named.empty() ? "nobody named" : fmt::format("named only {}", fmt::join(named, ",")));
    }
    if (named == origins && !SharesItsPlace(cause)) OfSaving(truth, origins);
  }

  // Only one that is told for the whole scope can be compared.
  void OfSaving(double truth, const Ranks& origins) {
    for (const Told& told : told_) {
      if (told.ranks != origins || !told.saving) continue;
      score_.Value("saving error", (*told.saving - truth) * 100);
      Count(kSaving, std::abs(*told.saving - truth) <= std::max(kSavingPoints, kSavingShare * truth),
            "told " + Text(told));
      Count(kInterval, told.lo <= truth && truth <= told.hi,
            fmt::format("interval {:.2f} to {:.2f} %", told.lo * 100, told.hi * 100));
      const double widest = kIntervalShare * truth + kIntervalPoints;
      Count(kNarrow, told.hi - told.lo <= widest,
            fmt::format("interval {:.2f} points wide", (told.hi - told.lo) * 100));
    }
  }

  // Another cause strikes the same ranks: their saving is that of both.
  [[nodiscard]] bool SharesItsPlace(const TruthOfCause& cause) const {
    const std::vector<TruthOfCause>& all = trial_.sim().truth.causes;
    return std::count_if(all.begin(), all.end(), [&](const TruthOfCause& other) {
             const auto& few = other.origin_ranks;
             return std::any_of(few.begin(), few.end(), [&](int32_t r) {
               return std::find(cause.origin_ranks.begin(), cause.origin_ranks.end(), r) != cause.origin_ranks.end();
             });
           }) > 1;
  }

  void NobodyElse() {
    Ranks guilty;
    for (const TruthOfCause& cause : trial_.sim().truth.causes) guilty.merge(OriginsOf(cause));
    const auto innocent = std::find_if(told_.begin(), told_.end(),
                                       [&](const Told& told) { return told.accused() && !Within(told.ranks, guilty); });
    Count(kNobodyElse, innocent == told_.end(), innocent == told_.end() ? "" : "named " + Text(*innocent));
  }

  void Laws() {
    std::string broken;
    const Json& efficiency = report_.at("imbalance").at("efficiency");
    for (const auto& [name, value] : efficiency.items()) {
      if (name == "window_ns" || value.is_null()) continue;
      if (value < 0 || value > 1) broken = fmt::format("{} efficiency {:.3f}", name, value.get<double>());
    }
    for (const Told& told : told_) {
      if (told.saving && (*told.saving > 1 || *told.saving < told.lo || *told.saving > told.hi)) broken = Text(told);
    }
    Count(kLaws, broken.empty(), broken);
  }

  static std::string Text(const Told& told) {
    const std::string saving = told.saving ? fmt::format("{:.2f} %", *told.saving * 100) : "no saving";
    return fmt::format("{} ({}, {:.0f} % sure)", told.who, saving, told.confidence * 100);
  }

  [[nodiscard]] std::string TruthText() const {
    std::string text;
    for (const TruthOfCause& cause : trial_.sim().truth.causes) {
      text += fmt::format("{}{} of {} {} worth {:.2f} %", text.empty() ? "" : " and ", cause.cause.name,
                          cause.cause.scope, cause.cause.place, SavingRatio(cause) * 100);
    }
    return text.empty() ? "no cause" : text;
  }

  Trial& trial_;
  const Json& report_;
  const RandomJob& job_;
  Score& score_;
  std::vector<Told> told_;
  std::vector<std::string> wrong_;
};

using ScoreOf = void (JobScore::*)();

void ScoreJob(Trial& trial, const RandomJob& job, ScoreOf score_of, Score& score) {
  AnalysisOptions options;
  options.views = {"summary", "imbalance"};
  SerialExecutor executor;
  const auto report = BuildReport(trial.sim().run, *trial.sim().instances, options, executor);
  if (!report.ok()) {
    score.Count(kRight, false);
    return score.Note(fmt::format("refused: {}", std::string(report.status().message())));
  }
  JobScore scored(trial, *report, job, score);
  (scored.*score_of)();
}

void AddJob(uint64_t seed, RandomJob job, ScoreOf score_of, FigureRow& row) {
  const std::vector<std::string> flags = job.flags;
  row.tasks.push_back(TrialTask(row, flags, seed, true, [job = std::move(job), score_of](Trial& trial, Score& score) {
    ScoreJob(trial, job, score_of, score);
  }));
}

using DrawOf = RandomJob (*)(uint64_t);

// So many jobs with and without causes, and so many more without, because a rate of at most 1 % takes 300 trials to
// tell.
void AddJobs(const Plan& plan, DrawOf draw, int jobs, int healthy, FigureRow& row) {
  for (int t = 0; t < jobs + healthy; ++t) {
    const uint64_t seed = SeedOf(plan, row.id, t);
    if (t < jobs) {
      AddJob(seed, draw(seed), &JobScore::Run, row);
    } else {
      AddJob(seed, WithoutCauses(draw(seed)), &JobScore::RunHealthy, row);
    }
  }
}

}  // namespace

std::vector<FigureRow> RandomRows(const Plan& plan) {
  FigureRow random{
      .id = "random",
      .figure = "jobs drawn at random: who is named, and what mending them saves",
      .claims = {{.name = std::string(kRight), .target = 0.98},
                 {.name = std::string(kHealthy), .target = 0.99},
                 {.name = std::string(kNamed), .target = 0.98},
                 {.name = std::string(kNobodyElse), .target = 0.98},
                 {.name = std::string(kSaving), .target = 0.95},
                 {.name = std::string(kInterval), .kind = ClaimKind::kBetween, .target = 0.88, .upper = 0.97},
                 {.name = std::string(kNarrow), .target = 0.95},
                 {.name = std::string(kLaws), .kind = ClaimKind::kExact, .min_trials = 600}},
      .unit = "points",
      .tasks = {}};
  AddJobs(plan, DrawJob, plan.Trials(60, 600, 1'800), plan.Trials(20, 200, 600), random);
  // Who costs little is hidden by the lengths, and a saving is only as exact as their mean: its interval has to say so.
  FigureRow lengths{.id = "lengths",
                    .figure = "the same with sequences of other lengths in each replica and step",
                    .claims = {{.name = std::string(kHealthy), .target = 0.99},
                               {.name = std::string(kNobodyElse), .target = 0.98},
                               {.name = std::string(kInterval), .target = 0.88},
                               {.name = std::string(kLaws), .kind = ClaimKind::kExact, .min_trials = 200}},
                    .unit = "points",
                    .tasks = {}};
  AddJobs(plan, DrawJobOfLengths, plan.Trials(20, 200, 600), plan.Trials(10, 280, 600), lengths);
  // As a profiler captures that is told to record a few steps: little can be decided, and nobody may be accused for it.
  FigureRow few_steps{.id = "short",
                      .figure = "the same with 1 to 15 steps",
                      .claims = {{.name = std::string(kHealthy), .target = 0.99},
                                 {.name = std::string(kNobodyElse), .target = 0.98},
                                 {.name = std::string(kLaws), .kind = ClaimKind::kExact, .min_trials = 200}},
                      .unit = "points",
                      .tasks = {}};
  AddJobs(plan, DrawShortJob, plan.Trials(20, 300, 900), plan.Trials(20, 260, 600), few_steps);
  return {std::move(random), std::move(lengths), std::move(few_steps)};
}

}  // namespace lockstep
