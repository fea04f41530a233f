// Sets of traces as people have them, made at random of a simulated run whose late rank is known: no headline may
// contradict that truth.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "analysis/base/hash128.h"
#include "analysis/model/instance_source.h"
#include "analysis/report/json.h"
#include "bench/accuracy/rows.h"
#include "platform/executor.h"

namespace lockstep {
namespace {

// The instances of sources that repeat, or leave out, those of another run.
class PickedInstances : public InstanceSource {
 public:
  PickedInstances(InstanceSource& all, std::vector<size_t> picked) : all_(all), picked_(std::move(picked)) {}
  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override { return all_.Open(picked_[source]); }

 private:
  InstanceSource& all_;
  std::vector<size_t> picked_;
};

// What a person has of the run, source by source.
struct TraceSet {
  RunData run;
  std::vector<size_t> picked;    // source of the whole run that each source is or repeats
  std::set<int32_t> there;       // true ranks of which there is a trace
  std::vector<std::string> did;  // for people
};

class SetMaker {
 public:
  SetMaker(const SimulatedRun& sim, uint64_t seed) : sim_(sim), random_(seed) {
    set_.run.info = sim.run.info;
    set_.run.info.state = RunState::kComplete;
    set_.run.names = sim.run.names;
    for (size_t source = 0; source < sim.run.sources.size(); ++source) {
      kept_.push_back(source);
      set_.there.insert(sim.rank_of_source[source]);
    }
  }

  TraceSet Make() {
    const size_t changes = 1 + random_() % 3;
    for (size_t i = 0; i < changes; ++i) Change();
    for (const size_t source : kept_) Add(source, "");
    for (const size_t source : doubled_) Add(source, "copy_of_");
    Finish();
    return std::move(set_);
  }

 private:
  void Change() {
    switch (random_() % 4) {
      case 0:
        return Remove();
      case 1:
        doubled_.push_back(kept_[random_() % kept_.size()]);
        set_.did.emplace_back("one given twice");
        return;
      case 2:
        nameless_ = true;
        set_.did.emplace_back("no names of files");
        return;
      default:
        reversed_ = true;
        set_.did.emplace_back("files in another order");
        return;
    }
  }

  void Remove() {
    if (kept_.size() < 2) return;
    const size_t at = random_() % kept_.size();
    const int32_t rank = sim_.rank_of_source[kept_[at]];
    if (std::find(doubled_.begin(), doubled_.end(), kept_[at]) != doubled_.end()) return;
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(at));
    set_.there.erase(rank);
    set_.did.push_back(fmt::format("rank {} removed", rank));
  }

  void Add(size_t source, std::string_view prefix) {
    SourceData data = sim_.run.sources[source];
    SourceContext& context = data.context;
    const auto number = static_cast<int64_t>(set_.picked.size());
    context.path = fmt::format("{}{}", prefix, nameless_ ? fmt::format("trace{}", 1'000 - number) : context.path);
    if (!prefix.empty()) context.source_id = HashBuilder().Add(context.source_id.Bytes()).Add(number).Finish();
    set_.run.sources.push_back(std::move(data));
    set_.picked.push_back(source);
  }

  // Sources are ordered by their id.
  void Finish() {
    std::vector<size_t> order(set_.picked.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return set_.run.sources[a].context.source_id < set_.run.sources[b].context.source_id;
    });
    if (reversed_) std::reverse(order.begin(), order.end());
    std::vector<SourceData> sources;
    std::vector<size_t> picked;
    for (const size_t i : order) {
      sources.push_back(std::move(set_.run.sources[i]));
      picked.push_back(set_.picked[i]);
    }
    set_.run.sources = std::move(sources);
    set_.picked = std::move(picked);
    set_.run.info.sources = set_.run.info.complete_sources = static_cast<int64_t>(set_.picked.size());
  }

  const SimulatedRun& sim_;
  std::mt19937_64 random_;
  std::vector<size_t> kept_;
  std::vector<size_t> doubled_;
  bool nameless_ = false;
  bool reversed_ = false;
  TraceSet set_;
};

double MeanFactor(const std::vector<double>& factors, const std::vector<int32_t>& ranks, bool among) {
  double sum = 0;
  double count = 0;
  for (size_t rank = 0; rank < factors.size(); ++rank) {
    if ((std::find(ranks.begin(), ranks.end(), static_cast<int32_t>(rank)) != ranks.end()) != among) continue;
    sum += factors[rank];
    ++count;
  }
  return count > 0 ? sum / count : 1;
}

// Devices differ without any cause, and who has a slow one costs something, too. That is no contradiction if mending it
// saves no more than it is slower by, and what was caused costs no more than what it is told to save.
bool HasASlowDevice(const Json& named, const Truth& truth, const std::vector<int32_t>& ranks) {
  if (named.at("saving_ratio").is_null()) return false;
  const double told = named.at("saving_ratio").get<double>();
  const double at_most = named.at("saving_interval_ratio").at(1).get<double>();
  const double slower = MeanFactor(truth.device_factors, ranks, true) - MeanFactor(truth.device_factors, ranks, false);
  return told <= slower && SavingRatio(truth.causes.front()) <= at_most;
}

// Why the headline contradicts the truth; "" where it does not. Silence and doubt never do.
std::string Contradiction(const Json& report, const Truth& truth, const std::set<int32_t>& there) {
  constexpr double kSure = 0.8;
  constexpr double kMaterial = 0.02;  // of the step: whoever costs less need not be named
  const Json& summary = report.at("summary");
  const std::vector<int32_t>& late = truth.causes.front().origin_ranks;
  const bool late_is_there = std::any_of(late.begin(), late.end(), [&](int32_t rank) { return there.count(rank) > 0; });
  const Json& unresolved = summary.at("unresolved");
  const bool doubt = unresolved.is_object() && unresolved.at("leads") == true;
  if (!summary.at("culprits").empty()) {
    const Json& named = summary.at("culprits").front();
    const auto ranks = named.at("ranks").get<std::vector<int32_t>>();
    const bool right = late_is_there && std::any_of(ranks.begin(), ranks.end(), [&](int32_t rank) {
                         return std::find(late.begin(), late.end(), rank) != late.end();
                       });
    if (right || named.at("confidence").get<double>() < kSure || HasASlowDevice(named, truth, ranks)) return "";
    return fmt::format("certain about {} {}", named.at("scope").get<std::string>(), named.at("id").get<std::string>());
  }
  const auto& verdict = summary.at("verdict").get_ref<const std::string&>();
  const bool costs = SavingRatio(truth.causes.front()) >= kMaterial;
  if (!costs || doubt || there.size() < 2 || verdict == "inconclusive" || verdict == "skew") return "";
  return fmt::format("nobody, and {}", verdict);
}

void ScoreSet(Trial& trial, uint64_t seed, Score& score) {
  SimulatedRun& sim = trial.sim();
  const TraceSet set = SetMaker(sim, seed).Make();
  PickedInstances instances(*sim.instances, set.picked);
  AnalysisOptions options;
  options.views = {"summary"};
  SerialExecutor executor;
  const auto report = BuildReport(set.run, instances, options, executor);
  // Without all ranks of the world there is nothing but the clocks to say whether far ones are one run.
  const bool refused = absl::IsFailedPrecondition(report.status()) && set.there.size() < sim.run.sources.size();
  if (!report.ok()) {
    score.Count("no headline contradicts the truth", refused);
    if (refused) return;
    score.Note(fmt::format("seed {}: {}: {}", seed, fmt::join(set.did, ", "), std::string(report.status().message())));
    return;
  }
  const std::string why = Contradiction(*report, sim.truth, set.there);
  score.Count("no headline contradicts the truth", why.empty());
  if (!why.empty()) {
    score.Note(fmt::format("seed {} (rank {} is late; {}): {}", seed, sim.truth.causes.front().origin_ranks.front(),
                           fmt::join(set.did, ", "), why));
  }
}

// Large causes, so that who is named wrongly is named instead of them.
std::string RunOf(int t) {
  const std::string_view programs[] = {"--program decode --tp 4 --hosts 1", "--program decode --tp 8 --hosts 2",
                                       "--program decode --tp 4 --dp 2 --hosts 2",
                                       "--program train --tp 2 --dp 4 --hosts 2", "--program train --tp 4 --hosts 1"};
  const std::string_view causes[] = {"slow_gpu:factor=2", "late_host:us=120,p=1", "more_work:factor=1.8"};
  const std::string_view ids[] = {"full", "groups"};
  const std::string_view offsets[] = {"0", "5", "900000"};
  return fmt::format("{} --gpus-per-host 4 --layers 3 --steps 30 --ids {} --cause {} --clock offset_ms={}",
                     programs[t % 5], ids[t / 5 % 2], causes[t / 10 % 3], offsets[t / 30 % 3]);
}

}  // namespace

std::vector<FigureRow> SetRows(const Plan& plan) {
  FigureRow row{
      .id = "sets",
      .figure = "random sets of the traces of a run: doubled, removed, renamed, hours apart",
      .claims = {{.name = "no headline contradicts the truth", .kind = ClaimKind::kExact, .min_trials = 1'000}},
      .unit = "",
      .tasks = {}};
  for (int t = 0; t < plan.Trials(90, 1'000, 4'000); ++t) {
    const uint64_t seed = SeedOf(plan, row.id, t);
    row.tasks.push_back(TrialTask(row, Words(RunOf(t)), seed, true,
                                  [seed](Trial& trial, Score& score) { ScoreSet(trial, seed, score); }));
  }
  return {std::move(row)};
}

}  // namespace lockstep
