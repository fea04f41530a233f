// Clock alignment against the true clocks of simulated clusters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "bench/accuracy/rows.h"

namespace lockstep {
namespace {

constexpr double kUs = 1e3;

// True local - true time of the device of a rank index at a true time.
int64_t TrueTheta(const Trial& trial, int32_t rank_index, int64_t true_ns) {
  return trial.sim().clocks->TrueTheta(trial.RankOf(rank_index), true_ns);
}

int64_t Estimated(const Trial& trial, int32_t rank_index, int64_t true_ns) {
  const int64_t local = true_ns + TrueTheta(trial, rank_index, true_ns);
  return trial.match().clock.Correction(rank_index, LocalTime{local}).ns;
}

// Error of the estimated difference of two devices' clocks.
int64_t PairError(const Trial& trial, int32_t a, int32_t b, int64_t true_ns) {
  const int64_t estimated = Estimated(trial, a, true_ns) - Estimated(trial, b, true_ns);
  return std::abs(estimated - (TrueTheta(trial, a, true_ns) - TrueTheta(trial, b, true_ns)));
}

int32_t RankCount(const Trial& trial) { return static_cast<int32_t>(trial.ranks().ranks.size()); }

// The true times of all knots that the alignment gave.
std::vector<int64_t> KnotTimes(const Trial& trial) {
  std::vector<int64_t> times;
  const ClockModel& clock = trial.match().clock;
  for (int32_t r = 0; r < RankCount(trial); ++r) {
    for (const ClockKnot& knot : clock.ClockOf(clock.DomainOf(r)).knots) {
      times.push_back(knot.t_ns - TrueTheta(trial, r, knot.t_ns));
    }
  }
  std::sort(times.begin(), times.end());
  // Domains have nearly the same knots; a millisecond apart they say the same.
  times.erase(std::unique(times.begin(), times.end(), [](int64_t a, int64_t b) { return b - a < 20'000'000; }),
              times.end());
  return times;
}

std::string Clocks(double bias_us) {
  return fmt::format(" --clock offset_ms=5,drift_ppm=10,wander_ppm=0.02,bias_us={},jitter_us=0.5 --ids groups",
                     bias_us);
}

// Scenarios, as flags of lockstep-simulate.
std::string Latency(int hosts, int gpus, double bias_us) {
  return fmt::format("--program decode --tp {} --hosts {} --gpus-per-host {} --layers 16 --steps 40", hosts * gpus,
                     hosts, gpus) +
         Clocks(bias_us);
}

std::string Training(int hosts) {
  return fmt::format("--program train --dp {} --hosts {} --gpus-per-host 1 --layers 8 --steps 20", hosts, hosts) +
         Clocks(2);
}

// About ten seconds: the window that the targets are stated for.
std::string Pipeline(int hosts) {
  return fmt::format("--program pipeline --pp {} --hosts {} --gpus-per-host 1 --layers 16 --micro-batches 8 --steps 72",
                     hosts, hosts) +
         Clocks(2);
}

std::string Bandwidth(double frac) {
  return fmt::format("--program prefill --tp 8 --hosts 8 --gpus-per-host 1 --layers 16 --steps 24 --noise end_frac={}",
                     frac) +
         Clocks(2);
}

const std::vector<std::string>& ClockScenarios() {
  static const std::vector<std::string> all = {Latency(8, 2, 2), Training(16),    Pipeline(4),
                                               Latency(4, 4, 2), Bandwidth(0.01), Bandwidth(0.15)};
  return all;
}

constexpr std::string_view kSteppedFlags =
    "--program decode --tp 12 --hosts 12 --gpus-per-host 1 --layers 8 --steps 24 --ids groups "
    "--clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5,step_us=800";

int32_t FirstRankOf(const Trial& trial, int32_t domain) {
  for (int32_t r = 0; r < RankCount(trial); ++r) {
    if (trial.match().clock.DomainOf(r).value == domain) return r;
  }
  return 0;
}

// The lowest rank index of the component: its domain is the reference.
int32_t ReferenceRank(const Trial& trial, int32_t rank_index) {
  const ClockModel& clock = trial.match().clock;
  int32_t r = 0;
  while (clock.ComponentOf(r) != clock.ComponentOf(rank_index)) ++r;
  return r;
}

// At least three times the width of the domain's certified band.
bool StepIsLarge(const Trial& trial, int32_t domain, int32_t host) {
  int64_t width = 0;
  for (const ClockKnot& knot : trial.match().clock.ClockOf(DomainId{domain}).knots) {
    width = std::max(width, knot.hi_ns - knot.lo_ns);
  }
  return std::abs(trial.sim().clocks->StepsOf(host).front().size_ns) >= 3 * width;
}

using PairFilter = std::function<bool(const Trial&, int32_t, int32_t)>;

void ScoreErrors(const Trial& trial, const PairFilter& counts, const std::vector<Claim>& claims,
                 const std::vector<double>& limits_ns, Score& score) {
  const ClockModel& clock = trial.match().clock;
  for (const int64_t t : KnotTimes(trial)) {
    for (int32_t a = 0; a < RankCount(trial); ++a) {
      for (int32_t b = a + 1; b < RankCount(trial); ++b) {
        if (clock.DomainOf(a) == clock.DomainOf(b) || !counts(trial, a, b)) continue;
        const bool comparable = clock.ComponentOf(a) == clock.ComponentOf(b);
        const auto error = static_cast<double>(PairError(trial, a, b, t));
        for (size_t i = 0; i < claims.size(); ++i) score.Count(claims[i].name, comparable && error <= limits_ns[i]);
        if (comparable) score.Value("error", error);
      }
    }
  }
}

bool AnyPair(const Trial&, int32_t, int32_t) { return true; }

// Neighbouring stages of a pipeline.
bool OneHop(const Trial& trial, int32_t a, int32_t b) {
  const Cluster& cluster = trial.sim().cluster;
  return std::abs(cluster.ranks[static_cast<size_t>(trial.RankOf(a))].host -
                  cluster.ranks[static_cast<size_t>(trial.RankOf(b))].host) == 1;
}

struct ErrorLimits {
  double p50_us = 0;
  double p99_us = 0;
};

FigureRow ErrorRow(const Plan& plan, std::string id, std::string figure, const std::vector<std::string>& scenarios,
                   ErrorLimits limits, const PairFilter& counts, int trials = 20) {
  FigureRow row{.id = std::move(id), .figure = std::move(figure), .claims = {}, .unit = "ns", .tasks = {}};
  row.claims = {{.name = fmt::format("p50 <= {} us", limits.p50_us), .target = 0.5, .min_trials = 100},
                {.name = fmt::format("p99 <= {} us", limits.p99_us), .target = 0.99}};
  const std::vector<double> limits_ns = {limits.p50_us * kUs, limits.p99_us * kUs};
  for (int t = 0; t < plan.Trials(3, trials, 3 * trials); ++t) {
    const std::string& flags = scenarios[static_cast<size_t>(t) % scenarios.size()];
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false,
                                  [counts, claims = row.claims, limits_ns](Trial& trial, Score& score) {
                                    ScoreErrors(trial, counts, claims, limits_ns, score);
                                  }));
  }
  return row;
}

// Every pair of devices of two domains, at every knot: the true difference lies in the certified band.
void ScoreBand(const Trial& trial, std::string_view claim, Score& score) {
  const ClockModel& clock = trial.match().clock;
  for (int32_t r = 0; r < RankCount(trial); ++r) {
    const DomainClock& domain = clock.ClockOf(clock.DomainOf(r));
    const int32_t reference = ReferenceRank(trial, r);
    if (clock.DomainOf(reference) == clock.DomainOf(r)) continue;
    for (const ClockKnot& knot : domain.knots) {
      const int64_t t = knot.t_ns - TrueTheta(trial, r, knot.t_ns);
      const int64_t bias = clock.BiasOf(r, LocalTime{knot.t_ns});
      // The reference may have a jump of its own.
      const int64_t own = clock.Correction(reference, LocalTime{t + TrueTheta(trial, reference, t)}).ns;
      const int64_t truth = TrueTheta(trial, r, t) - TrueTheta(trial, reference, t) - bias + own;
      const bool inside = knot.lo_ns <= truth && truth <= knot.hi_ns;
      score.Count(claim, inside);
      if (!inside) score.Note(fmt::format("{}: rank {}: {} not in [{}, {}]", claim, r, truth, knot.lo_ns, knot.hi_ns));
      score.Value("width", static_cast<double>(knot.hi_ns - knot.lo_ns));
    }
  }
}

// The instant nearest to a true time at which both of the devices are captured: beyond that nothing is compared.
int64_t NearestSeen(const Trial& trial, int32_t a, int32_t b, int64_t true_ns) {
  int64_t from = INT64_MIN;
  int64_t to = INT64_MAX;
  for (const int32_t r : {a, b}) {
    const size_t source = trial.ranks().ranks[static_cast<size_t>(r)].source;
    const SourceContext& context = trial.sim().run.sources[source].context;
    from = std::max(from, context.first_start_ns - TrueTheta(trial, r, context.first_start_ns));
    to = std::min(to, context.last_end_ns - TrueTheta(trial, r, context.last_end_ns));
  }
  return std::clamp(true_ns, from, std::max(from, to));
}

// How the stated half-width covers the true error of the clocks.
void ScoreCoverage(const Trial& trial, std::string_view claim, Score& score) {
  const ClockModel& clock = trial.match().clock;
  for (const int64_t knot : KnotTimes(trial)) {
    for (int32_t a = 0; a < RankCount(trial); ++a) {
      for (int32_t b = a + 1; b < RankCount(trial); ++b) {
        if (clock.DomainOf(a) == clock.DomainOf(b)) continue;
        const int64_t t = NearestSeen(trial, a, b, knot);
        const int64_t local = t + TrueTheta(trial, a, t);
        const auto stated = clock.ClockUncertainty(a, b, clock.Align(a, LocalTime{local}));
        if (!stated) continue;
        const int64_t error = PairError(trial, a, b, t);
        score.Count(claim, error <= stated->ns);
        score.Value("error / stated",
                    static_cast<double>(error) / static_cast<double>(std::max<int64_t>(1, stated->ns)));
      }
    }
  }
}

FigureRow BandRow(const Plan& plan) {
  FigureRow row{.id = "clock_band",
                .figure = "truth inside the certified clock band",
                .claims = {{.name = "clean", .kind = ClaimKind::kExact, .min_trials = 100},
                           {.name = "2 % bad records", .target = 0.999}},
                .unit = "ns",
                .tasks = {}};
  const std::string bad = " --defect absurd:p=0.02";
  for (int t = 0; t < plan.Trials(2, 170, 450); ++t) {
    for (const bool clean : {true, false}) {
      const std::string flags = ClockScenarios()[static_cast<size_t>(t) % ClockScenarios().size()] + (clean ? "" : bad);
      const std::string claim = row.claims[clean ? 0 : 1].name;
      row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false,
                                    [claim](Trial& trial, Score& score) { ScoreBand(trial, claim, score); }));
    }
  }
  return row;
}

FigureRow UnevenCoverageRow(const Plan& plan) {
  FigureRow row{.id = "clock_uneven",
                .figure = "the same with experts over hosts, uneven and rooted exchanges, staggered captures",
                .claims = {},
                .unit = "",
                .tasks = {}};
  const std::vector<std::string> scenarios = UnevenScenarios();
  for (const std::string& flags : scenarios) {
    row.claims.push_back({.name = flags, .kind = ClaimKind::kBetween, .target = 0.93, .upper = 0.99});
  }
  for (int t = 0; t < plan.Trials(16, 1'440, 2'880); ++t) {
    const std::string& flags = scenarios[static_cast<size_t>(t) % scenarios.size()];
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false,
                                  [claim = flags](Trial& trial, Score& score) { ScoreCoverage(trial, claim, score); }));
  }
  return row;
}

FigureRow CoverageRow(const Plan& plan) {
  FigureRow row{.id = "clock_coverage",
                .figure = "stated 95 % interval of two clocks covers the truth",
                .claims = {{.name = "90 to 98 %", .kind = ClaimKind::kBetween, .target = 0.9, .upper = 0.98}},
                .unit = "",
                .tasks = {}};
  // Pairs of one cluster share their clocks' errors: it takes many clusters, not many pairs.
  for (int t = 0; t < plan.Trials(12, 480, 960); ++t) {
    const std::string& flags = ClockScenarios()[static_cast<size_t>(t) % ClockScenarios().size()];
    row.tasks.push_back(
        TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false,
                  [claim = row.claims[0].name](Trial& trial, Score& score) { ScoreCoverage(trial, claim, score); }));
  }
  return row;
}

// One clock step in one host: it is found there, and nowhere else.
void ScoreSteps(const Trial& trial, Score& score) {
  const ClockModel& clock = trial.match().clock;
  for (int32_t domain = 0; domain < clock.domains(); ++domain) {
    const int32_t rank = FirstRankOf(trial, domain);
    const int32_t host = trial.sim().cluster.ranks[static_cast<size_t>(trial.RankOf(rank))].host;
    const bool stepped = !trial.sim().clocks->StepsOf(host).empty();
    const bool named = !clock.ClockOf(DomainId{domain}).steps.empty();
    if (stepped && StepIsLarge(trial, domain, host)) score.Count("host named", named);
    if (!stepped) score.Count("no false step", !named);
  }
}

FigureRow ClockStepRow(const Plan& plan) {
  FigureRow row{.id = "clock_step",
                .figure = "clock step of at least 3 band widths",
                .claims = {{.name = "host named", .target = 0.99}, {.name = "no false step", .target = 0.999}},
                .unit = "ns",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(4, 320, 600); ++t) {
    row.tasks.push_back(TrialTask(row, Words(kSteppedFlags), SeedOf(plan, row.id, t), false, ScoreSteps));
  }
  return row;
}

}  // namespace

// Experts over hosts, exchanges of uneven sizes, rooted operations, captures that begin and end at different moments.
std::vector<std::string> UnevenScenarios() {
  const std::string clocks = " --clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5 --ids groups";
  const std::string experts = "--program moe --layers 6 --steps 24";
  return {
      experts + " --tp 1 --dp 8 --ep 8 --hosts 2" + clocks,
      experts + " --tp 1 --dp 8 --ep 8 --hosts 2 --format nsys" + clocks,
      experts + " --tp 2 --dp 8 --ep 4 --hosts 4 --cause expert_imbalance:skew=0.5" + clocks,
      experts + " --tp 2 --dp 8 --ep 8 --hosts 2 --format nsys --cause expert_imbalance:skew=0.3" + clocks,
      "--program train --tp 2 --dp 4 --hosts 4 --shard optimizer --layers 8 --steps 24" + clocks,
      "--program train --tp 2 --dp 4 --hosts 2 --shard optimizer --layers 8 --steps 24 --format nsys" + clocks,
      "--program decode --tp 8 --hosts 4 --layers 16 --steps 40 --defect stagger:s=5" + clocks,
      "--program train --tp 2 --dp 4 --hosts 4 --layers 8 --steps 40 --defect stagger:s=5 --format nsys" + clocks,
  };
}

std::vector<FigureRow> ClockRows(const Plan& plan) {
  const std::vector<std::string> latency = {Latency(8, 2, 2), Latency(16, 1, 2), Latency(4, 4, 2)};
  const std::vector<std::string> latency_fine = {Latency(8, 2, 0.5), Latency(16, 1, 0.5), Latency(4, 4, 0.5)};
  std::vector<FigureRow> rows;
  rows.push_back(BandRow(plan));
  rows.push_back(ErrorRow(plan, "clock_latency_bound", "clock error, latency-bound shared collectives, bias sd 2 us",
                          latency, {1.5, 5}, AnyPair));
  rows.push_back(ErrorRow(plan, "clock_latency_bound_fine", "the same, bias sd 0.5 us", latency_fine, {1, 3}, AnyPair));
  rows.push_back(ErrorRow(plan, "clock_training", "clock error, training with small all-host all-reduces",
                          {Training(16), Training(24), Training(32)}, {4, 15}, AnyPair));
  rows.push_back(ErrorRow(plan, "clock_pipeline", "clock error per hop, pipeline chain only",
                          {Pipeline(4), Pipeline(8)}, {2, 5}, OneHop, 80));
  rows.push_back(ErrorRow(plan, "clock_bandwidth_bound", "clock error, bandwidth-bound only, frac <= 0.01",
                          {Bandwidth(0.01), Bandwidth(0.005)}, {40, 250}, AnyPair));
  rows.push_back(CoverageRow(plan));
  rows.push_back(UnevenCoverageRow(plan));
  rows.push_back(ClockStepRow(plan));
  return rows;
}

}  // namespace lockstep
