// How much of a random model was matched rightly.
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "bench/models/random_model.h"

namespace lockstep::compare {
namespace {

std::set<int> SitesOf(const ModelSide& side, const std::vector<size_t>& members) {
  std::set<int> sites;
  for (const size_t m : members) sites.insert(side.sites[m].begin(), side.sites[m].end());
  return sites;
}

std::set<int> Common(std::set<int> ids, const std::set<int>& others) {
  std::erase_if(ids, [&others](int id) { return others.count(id) == 0; });
  return ids;
}

double TimeOf(const ModelSide& side, const std::vector<size_t>& members) {
  double time = 0;
  for (const size_t m : members) time += side.kernels[m].time_per_step_ns;
  return time;
}

bool HasCounterpart(const ModelSide& side, size_t kernel, const std::set<int>& others) {
  for (const int site : side.sites[kernel]) {
    if (others.count(site) > 0 && side.opaque.count(site) == 0) return true;
  }
  return false;
}

std::vector<size_t> AllOf(const ModelSide& side) {
  std::vector<size_t> all(side.kernels.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

// Fused kernels of either side whose name says what is in them, without products, which no name can tell apart.
void CountFusions(const RandomModel& model, const KernelMatches& matches, ModelScore& score) {
  const auto is_fusion = [](const KernelOfRun& kernel) {
    return kernel.name.find("next::fused_") != std::string::npos && kernel.name.find("gemm") == std::string::npos;
  };
  for (const KernelMatch& match : matches.matches) {
    int fusions = 0;
    for (const size_t b : match.before) fusions += is_fusion(model.before.kernels[b]) ? 1 : 0;
    for (const size_t a : match.after) fusions += is_fusion(model.after.kernels[a]) ? 1 : 0;
    score.fusions += fusions;
    if (match.kind == MatchKind::kFused || match.kind == MatchKind::kSplit) score.fusions_told += fusions;
  }
}

}  // namespace

ModelScore ScoreOf(const RandomModel& model, const KernelMatches& matches) {
  ModelScore score;
  const std::set<int> sites_before = SitesOf(model.before, AllOf(model.before));
  const std::set<int> sites_after = SitesOf(model.after, AllOf(model.after));
  const double step = std::max(TimeOf(model.before, AllOf(model.before)), TimeOf(model.after, AllOf(model.after)));
  double known = 0;
  double all = 0;
  for (const KernelMatch& match : matches.matches) {
    double of_match = 0;
    for (const size_t b : match.before) {
      if (HasCounterpart(model.before, b, sites_after)) of_match += model.before.kernels[b].time_per_step_ns;
    }
    for (const size_t a : match.after) {
      if (HasCounterpart(model.after, a, sites_before)) of_match += model.after.kernels[a].time_per_step_ns;
    }
    known += of_match;
    const double time = TimeOf(model.before, match.before) + TimeOf(model.after, match.after);
    all += time;
    if (match.kind == MatchKind::kAdded || match.kind == MatchKind::kRemoved) continue;
    score.matched += time;
    const std::set<int> before = Common(SitesOf(model.before, match.before), sites_after);
    const std::set<int> after = Common(SitesOf(model.after, match.after), sites_before);
    const bool same_name = match.before.size() == 1 && match.after.size() == 1 &&
                           model.before.kernels[match.before[0]].name == model.after.kernels[match.after[0]].name &&
                           model.before.kernels[match.before[0]].name.find("triton_") == std::string::npos;
    if ((before == after && !before.empty()) || same_name) {
      score.right += of_match;
      continue;
    }
    const double share = std::max(TimeOf(model.before, match.before), TimeOf(model.after, match.after)) / step;
    score.worst = std::max(score.worst, share);
    if (share > 0.01) ++score.wrong;
  }
  CountFusions(model, matches, score);
  score.right = known > 0 ? score.right / known : 1;
  score.matched = all > 0 ? score.matched / all : 1;
  return score;
}

}  // namespace lockstep::compare
