// Spreads, waits and their stated uncertainty against the true starts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "analysis/metrics/skew/collectives.h"
#include "bench/accuracy/rows.h"

namespace lockstep {
namespace {

constexpr std::string_view kSameDomain =
    "--program decode --tp 8 --hosts 1 --gpus-per-host 8 --layers 16 --steps 24 --ids groups "
    "--clock bias_us=2,jitter_us=1";

std::string AcrossDomains(int hosts, int gpus) {
  return fmt::format(
      "--program decode --tp {} --hosts {} --gpus-per-host {} --layers 16 --steps 40 --ids groups "
      "--clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5 --cause late_host:us=60,p=0.3",
      hosts * gpus, hosts, gpus);
}

// The true starts of an instance's members, in their order; null if it is not one true instance.
std::optional<std::vector<int64_t>> TrueStarts(const Trial& trial, const MatchedInstance& instance) {
  std::vector<int64_t> starts;
  const int64_t i = trial.TrueInstanceOf(instance.members.front().rank_index, instance.members.front().row);
  if (i < 0) return std::nullopt;
  std::map<int32_t, int64_t> by_rank;
  for (const TrueMember& m : trial.sim().true_instances[static_cast<size_t>(i)].members) by_rank[m.rank] = m.start_ns;
  for (const MatchedMember& m : instance.members) {
    const auto at = by_rank.find(trial.RankOf(m.rank_index));
    if (trial.TrueInstanceOf(m.rank_index, m.row) != i || at == by_rank.end()) return std::nullopt;
    starts.push_back(at->second);
  }
  return starts;
}

int64_t Spread(const std::vector<int64_t>& starts) {
  const auto [lo, hi] = std::minmax_element(starts.begin(), starts.end());
  return *hi - *lo;
}

bool Within(double error, double truth) { return error <= std::max(3'000.0, 0.05 * truth); }

void ScoreSameDomain(Trial& trial, Score& score) {
  for (const MatchedInstance& instance : trial.match().instances) {
    if (!instance.usable() || !instance.all_pairs) continue;
    const auto starts = TrueStarts(trial, instance);
    if (!starts) continue;
    const int64_t last = *std::max_element(starts->begin(), starts->end());
    const auto spread = static_cast<double>(Spread(*starts));
    const double error = std::abs(static_cast<double>(instance.spread_ns) - spread);
    score.Count("spread p95", Within(error, spread));
    score.Count("stated U covers", error <= static_cast<double>(instance.uncertainty_ns));
    score.Value("spread error", error);
    for (size_t m = 0; m < instance.members.size(); ++m) {
      const auto wait = static_cast<double>(last - (*starts)[m]);
      score.Count("wait p95", Within(std::abs(static_cast<double>(instance.members[m].wait_ns) - wait), wait));
    }
  }
}

FigureRow SameDomain(const Plan& plan) {
  FigureRow row{.id = "skew_same_domain",
                .figure = "same-domain spread and wait, bias sd 2 us, jitter 1 us",
                .claims = {{.name = "spread p95", .target = 0.95},
                           {.name = "wait p95", .target = 0.95},
                           {.name = "stated U covers", .target = 0.95}},
                .unit = "ns",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(3, 20, 60); ++t) {
    row.tasks.push_back(TrialTask(row, Words(kSameDomain), SeedOf(plan, row.id, t), false, ScoreSameDomain));
  }
  return row;
}

// Instances with a true spread of at least 5 sigma (the stated U is two of them).
void ScoreWaitSum(Trial& trial, Score& score) {
  double estimated = 0;
  double truth = 0;
  for (const MatchedInstance& instance : trial.match().instances) {
    if (!instance.usable() || !instance.all_pairs) continue;
    const auto starts = TrueStarts(trial, instance);
    if (!starts || static_cast<double>(Spread(*starts)) < 2.5 * static_cast<double>(instance.uncertainty_ns)) continue;
    const int64_t last = *std::max_element(starts->begin(), starts->end());
    for (size_t m = 0; m < instance.members.size(); ++m) {
      truth += static_cast<double>(last - (*starts)[m]);
      estimated += static_cast<double>(instance.members[m].wait_ns);
    }
  }
  if (truth <= 0) return;
  const double error = std::abs(estimated - truth) / truth;
  score.Count("error <= 3 %", error <= 0.03);
  score.Value("error", error * 100);
  if (error > 0.03) score.Note(fmt::format("wait sum off by {:.2f} %", error * 100));
}

FigureRow WaitSum(const Plan& plan) {
  FigureRow row{.id = "skew_wait_sum",
                .figure = "cross-domain wait sum, spread >= 5 sigma",
                .claims = {{.name = "error <= 3 %", .target = 0.95, .min_trials = 60}},
                .unit = "%",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(4, 60, 120); ++t) {
    const std::string flags = t % 2 == 0 ? AcrossDomains(8, 1) : AcrossDomains(4, 4);
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false, ScoreWaitSum));
  }
  return row;
}

void ScoreSpreads(Trial& trial, std::string_view claim, Score& score) {
  for (const MatchedInstance& instance : trial.match().instances) {
    if (!instance.usable()) continue;
    const auto starts = TrueStarts(trial, instance);
    if (!starts) continue;
    const double error = std::abs(static_cast<double>(instance.spread_ns - Spread(*starts)));
    score.Count(claim, error <= static_cast<double>(instance.uncertainty_ns));
    score.Value("error / stated", error / static_cast<double>(std::max<int64_t>(1, instance.uncertainty_ns)));
  }
}

// How often the stated interval of a spread holds the truth, on the clusters of clock_uneven.
FigureRow SpreadCoverage(const Plan& plan, FigureRow row, const Claim& claim, const std::string& noise) {
  const std::vector<std::string> scenarios = UnevenScenarios();
  for (const std::string& flags : scenarios) {
    row.claims.push_back(claim);
    row.claims.back().name = flags + noise;
  }
  for (int t = 0; t < plan.Trials(16, 160, 480); ++t) {
    const std::string flags = scenarios[static_cast<size_t>(t) % scenarios.size()] + noise;
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false,
                                  [claim = flags](Trial& trial, Score& score) { ScoreSpreads(trial, claim, score); }));
  }
  return row;
}

// At least: the ends of a collective bound how far a single record may be off, and here they scatter twice as much as
// records do.
FigureRow SpreadsBelowEnds(const Plan& plan) {
  FigureRow row;
  row.id = "skew_uneven";
  row.figure =
      "stated 95 % interval of spreads holds the truth: experts over hosts, uneven and rooted exchanges, staggered "
      "captures";
  return SpreadCoverage(plan, std::move(row), {.name = "", .target = 0.93}, "");
}

FigureRow SpreadsOfRecords(const Plan& plan) {
  FigureRow row;
  row.id = "skew_uneven_records";
  row.figure = "the same where the ends of collectives scatter by the noise of their records alone";
  return SpreadCoverage(plan, std::move(row), {.name = "", .kind = ClaimKind::kBetween, .target = 0.93, .upper = 0.99},
                        " --noise end_jitter_us=0");
}

constexpr int64_t kLatencyTargetNs = 1'500;

void ScoreUsefulness(Trial& trial, Score& score) {
  for (const MatchedInstance& instance : trial.match().instances) {
    if (!instance.matched() || !instance.all_pairs) continue;
    const auto starts = TrueStarts(trial, instance);
    if (!starts || Spread(*starts) <= 3 * kLatencyTargetNs) continue;
    score.Count("resolvable", instance.resolvable);
  }
  score.Count("what-if printed", trial.replay().base().faithful);
  for (const CollectiveRowResult& row : ComputeCollectives(trial.match(), [](const auto&) { return true; })) {
    if (row.instances >= 100) score.Count("verdict told", row.verdict != CollectiveVerdict::kInconclusive);
  }
}

FigureRow Usefulness(const Plan& plan) {
  FigureRow row{.id = "skew_usefulness",
                .figure = "large spreads resolvable, what-if printed, verdicts told",
                .claims = {{.name = "resolvable", .target = 0.95},
                           {.name = "what-if printed", .target = 0.95},
                           {.name = "verdict told", .target = 0.95}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(4, 60, 120); ++t) {
    const std::string flags = t % 2 == 0 ? AcrossDomains(8, 1) : AcrossDomains(4, 4);
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false, ScoreUsefulness));
  }
  return row;
}

}  // namespace

std::vector<FigureRow> SkewRows(const Plan& plan) {
  return {SameDomain(plan), WaitSum(plan), Usefulness(plan), SpreadsBelowEnds(plan), SpreadsOfRecords(plan)};
}

}  // namespace lockstep
