// Joined instances against the true ones.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/accuracy/rows.h"

namespace lockstep {
namespace {

// Programs with what makes matching hard: groups in groups, changing op counts, point-to-point, uneven exchanges.
const std::vector<std::string>& Programs() {
  static const std::vector<std::string> all = {
      "--program decode --tp 8 --dp 4 --hosts 4 --gpus-per-host 8 --layers 12 --steps 24",
      "--program train --tp 4 --dp 8 --hosts 4 --gpus-per-host 8 --layers 8 --steps 10",
      "--program batching --tp 8 --dp 2 --hosts 2 --gpus-per-host 8 --layers 8 --steps 24",
      "--program batching --tp 16 --hosts 2 --gpus-per-host 8 --layers 8 --steps 24",
      "--program pipeline --tp 2 --pp 4 --dp 2 --hosts 4 --gpus-per-host 4 --layers 8 --steps 12",
      "--program moe --tp 2 --dp 8 --ep 8 --hosts 2 --gpus-per-host 8 --layers 6 --steps 12",
      "--program prefill --tp 16 --hosts 2 --gpus-per-host 8 --layers 12 --steps 12"};
  return all;
}

// What only metadata decides: rooted operations between few anchors, gathers and scatters of sharded parameters.
const std::vector<std::string>& ToldPrograms() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out = Programs();
    out.emplace_back(
        "--program train --tp 2 --dp 8 --hosts 4 --gpus-per-host 4 --layers 8 --steps 10 --shard optimizer");
    out.emplace_back("--program train --tp 2 --dp 8 --hosts 4 --gpus-per-host 4 --layers 8 --steps 10 --shard full");
    return out;
  }();
  return all;
}

// What the traces tell: each of so many programs meets each of them within 6 * programs trials.
std::string TellingOf(int trial, size_t programs) {
  static const std::vector<std::string> all = {" --format kineto --ids full", " --format nsys --ids groups",
                                               " --format mixed --ids full",  " --format kineto --ids groups",
                                               " --format nsys --ids full",   " --format mixed --ids groups"};
  const auto t = static_cast<size_t>(trial);
  return all[(t / programs + t % programs) % all.size()];
}

constexpr std::string_view kClocks = " --clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5";
constexpr std::string_view kLoss = " --defect loss:p=0.01 --defect head:n=200 --defect stagger:s=0.02";

std::string WrongJoin(const Trial& trial, const MatchedInstance& instance) {
  std::string text = fmt::format("joined at confidence {:.4f}:", instance.confidence);
  for (const MatchedMember& m : instance.members) {
    text += fmt::format(" row {} of rank {} (true instance {})", m.row, m.rank_index,
                        trial.TrueInstanceOf(m.rank_index, m.row));
  }
  return text;
}

// A matched pair of members is right if both rows are of one true instance.
void ScorePairs(const Trial& trial, std::string_view precision, std::string_view recall, Score& score) {
  std::map<int64_t, int64_t> joined;  // true instance -> members in its largest joined part
  int64_t right = 0;
  int64_t stated = 0;
  for (const MatchedInstance& instance : trial.match().instances) {
    if (!instance.matched() || instance.confidence < 0.99) continue;
    std::map<int64_t, int64_t> parts;
    for (const MatchedMember& m : instance.members) ++parts[trial.TrueInstanceOf(m.rank_index, m.row)];
    const auto most =
        std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    stated += static_cast<int64_t>(instance.members.size());
    if (parts.size() > 1 || most->first < 0) score.Note(WrongJoin(trial, instance));
    if (most->first < 0) continue;
    right += most->second;
    int64_t& best = joined[most->first];
    best = std::max(best, most->second);
  }
  score.Count(precision, right, stated);
  int64_t found = 0;
  int64_t possible = 0;
  for (size_t i = 0; i < trial.sim().true_instances.size(); ++i) {
    const auto& members = trial.sim().true_instances[i].members;
    const int64_t recorded =
        std::count_if(members.begin(), members.end(), [](const TrueMember& m) { return m.recorded; });
    if (recorded < 2) continue;
    possible += recorded;
    const auto at = joined.find(static_cast<int64_t>(i));
    if (at != joined.end()) found += std::min(at->second, recorded);
  }
  score.Count(recall, found, possible);
}

// Communicators found against the true ones that carry at least two recorded instances.
void ScoreMembership(const Trial& trial, std::string_view claim, Score& score) {
  std::set<std::vector<int32_t>> truth;
  std::map<uint32_t, int64_t> carried;
  for (const TrueInstance& instance : trial.sim().true_instances) ++carried[instance.communicator];
  for (const auto& [c, count] : carried) {
    if (count >= 2) truth.insert(trial.sim().cluster.communicators[c].members);
  }
  std::set<std::vector<int32_t>> found;
  for (const Communicator& c : trial.match().communicators) found.insert(c.members);
  for (const auto& members : truth) {
    const bool exact = found.count(members) > 0;
    score.Count(claim, exact);
    if (!exact) score.Note(fmt::format("members [{}] not found", fmt::join(members, " ")));
  }
}

// Two jobs in lockstep that share nothing: no confident instance holds ranks of both.
void ScoreDecoys(const Trial& trial, std::string_view claim, Score& score) {
  for (const MatchedInstance& instance : trial.match().instances) {
    if (!instance.matched() || instance.confidence < 0.99) continue;
    std::set<int64_t> of;
    for (const MatchedMember& m : instance.members) of.insert(trial.TrueInstanceOf(m.rank_index, m.row));
    std::set<uint32_t> groups;
    for (const int64_t i : of) {
      if (i >= 0) groups.insert(trial.sim().true_instances[static_cast<size_t>(i)].communicator);
    }
    score.Count(claim, groups.size() <= 1);
  }
}

// Rows of recorded instances with at least two members that are not joined with confidence.
void ScoreUndecided(const Trial& trial, std::string_view claim, Score& score) {
  int64_t decided = 0;
  int64_t all = 0;
  for (const MatchedInstance& instance : trial.match().instances) {
    for (const MatchedMember& m : instance.members) {
      const int64_t i = trial.TrueInstanceOf(m.rank_index, m.row);
      if (i < 0) continue;
      const auto& members = trial.sim().true_instances[static_cast<size_t>(i)].members;
      if (std::count_if(members.begin(), members.end(), [](const TrueMember& t) { return t.recorded; }) < 2) continue;
      ++all;
      if (instance.matched() && instance.confidence >= 0.99) ++decided;
    }
  }
  score.Count(claim, decided, all);
}

FigureRow WithIds(const Plan& plan) {
  FigureRow row{.id = "match_ids",
                .figure = "matching with ids or metadata, 1 % loss and truncation",
                .claims = {{.name = "precision 100 %", .kind = ClaimKind::kExact, .min_trials = 1'000},
                           {.name = "recall >= 99.9 %", .target = 0.999}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(9, 108, 216); ++t) {
    const std::vector<std::string>& programs = ToldPrograms();
    const std::string flags = programs[static_cast<size_t>(t) % programs.size()] + TellingOf(t, programs.size()) +
                              std::string(kClocks) + std::string(kLoss);
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false, [](Trial& trial, Score& score) {
      ScorePairs(trial, "precision 100 %", "recall >= 99.9 %", score);
    }));
  }
  return row;
}

FigureRow NamesOnly(const Plan& plan) {
  FigureRow row{.id = "match_names",
                .figure = "names only: membership, decoys, instances",
                .claims = {{.name = "membership exact >= 99.5 %", .target = 0.995},
                           {.name = "decoys never merged", .kind = ClaimKind::kExact, .min_trials = 1'000},
                           {.name = "precision >= 99.99 %", .target = 0.9999},
                           {.name = "recall >= 99.5 %", .target = 0.995}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(7, 91, 280); ++t) {
    const std::string flags = Programs()[static_cast<size_t>(t) % Programs().size()] + " --ids names --format nsys" +
                              std::string(kClocks) + " --defect loss:p=0.005 --defect stagger:s=0.02";
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false, [](Trial& trial, Score& score) {
      ScoreMembership(trial, "membership exact >= 99.5 %", score);
      ScorePairs(trial, "precision >= 99.99 %", "recall >= 99.5 %", score);
    }));
    if (t % 3 != 0) continue;
    const std::string decoys =
        "--program decode --tp 8 --dp 2 --hosts 2 --gpus-per-host 8 --layers 8 --steps 20 --ids names "
        "--format nsys --defect decoy" +
        std::string(kClocks);
    row.tasks.push_back(TrialTask(row, Words(decoys), SeedOf(plan, "decoys", t), false, [](Trial& trial, Score& score) {
      ScoreDecoys(trial, "decoys never merged", score);
    }));
  }
  return row;
}

// Pipelines whose stages are tensor groups: their ranks send all at one moment, and no name tells to whom.
const std::vector<std::string>& StagedPrograms() {
  static const std::vector<std::string> all = {
      "--program train --tp 8 --pp 2 --hosts 16 --layers 8 --steps 24",
      "--program pipeline --tp 4 --pp 2 --hosts 2 --layers 16 --steps 24",
      "--program train --tp 2 --pp 2 --hosts 1 --layers 16 --steps 24",
      "--program train --tp 2 --pp 4 --hosts 1 --layers 16 --steps 24",
      "--program train --tp 2 --pp 2 --dp 2 --hosts 4 --layers 8 --steps 24",
      "--program pipeline --tp 8 --pp 2 --hosts 4 --layers 8 --steps 24",
      "--program pipeline --tp 4 --pp 2 --dp 2 --hosts 2 --layers 8 --steps 24",
  };
  return all;
}

FigureRow StagesByNames(const Plan& plan) {
  FigureRow row{
      .id = "match_stages",
      .figure = "names only: instances of pipelines whose stages are tensor groups",
      .claims = {{.name = "precision >= 99.9 %", .target = 0.999}, {.name = "recall >= 99.5 %", .target = 0.995}},
      .unit = "",
      .tasks = {}};
  for (int t = 0; t < plan.Trials(7, 70, 210); ++t) {
    const std::vector<std::string>& programs = StagedPrograms();
    const std::string flags = programs[static_cast<size_t>(t) % programs.size()] +
                              " --ids names --cause stage_imbalance:factor=1.15 --format " +
                              (t % 2 == 0 ? "kineto" : "nsys") + std::string(kClocks);
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false, [](Trial& trial, Score& score) {
      ScorePairs(trial, "precision >= 99.9 %", "recall >= 99.5 %", score);
    }));
  }
  return row;
}

FigureRow Coverage(const Plan& plan) {
  FigureRow row{.id = "match_coverage",
                .figure = "instances neither ambiguous nor unmatched, standard matrix",
                .claims = {{.name = "names only >= 98 %", .target = 0.98},
                           {.name = "with ids: all", .kind = ClaimKind::kExact, .min_trials = 1'000}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(7, 42, 140); ++t) {
    for (const bool names : {true, false}) {
      const std::string flags = Programs()[static_cast<size_t>(t) % Programs().size()] +
                                (names ? " --ids names --format nsys" : TellingOf(t, Programs().size())) +
                                std::string(kClocks);
      const std::string claim = row.claims[names ? 0 : 1].name;
      row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false,
                                    [claim](Trial& trial, Score& score) { ScoreUndecided(trial, claim, score); }));
    }
  }
  return row;
}

}  // namespace

std::vector<FigureRow> MatchRows(const Plan& plan) {
  return {WithIds(plan), NamesOnly(plan), StagesByNames(plan), Coverage(plan)};
}

}  // namespace lockstep
