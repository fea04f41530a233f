#include "analysis/compare/kernel_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/compare/kernel_places.h"
#include "analysis/compare/kernels/kernel_matches.h"
#include "analysis/compare/kernels/layer_role.h"
#include "analysis/compare/statistics/false_discovery.h"

namespace lockstep::compare {
namespace {

// The kernels of a side by name, summed over its runs and divided by their number.
struct SideKernels {
  std::vector<KernelOfRun> kernels;
  std::vector<std::vector<std::pair<const ComparedRun*, size_t>>> of_runs;  // parallel: run, index of its kernel
};

SideKernels KernelsOf(const std::vector<ComparedRun>& runs, PlacesFrom places_from) {
  SideKernels side;
  std::map<std::string, size_t> places;
  for (const ComparedRun& run : runs) {
    for (size_t i = 0; i < run.kernels.size(); ++i) {
      const report::ProfileKernel& kernel = run.profile.kernels[i];
      const auto [place, is_new] = places.try_emplace(kernel.name, side.kernels.size());
      if (is_new) {
        side.kernels.push_back({.name = kernel.name,
                                .mangled = kernel.mangled.value_or(""),
                                .kind = ClassifyKernel(kernel.name),
                                .range = kernel.range.value_or("")});
        side.of_runs.emplace_back();
      }
      KernelOfRun& sum = side.kernels[place->second];
      if (sum.range != kernel.range.value_or("")) sum.range.clear();
      if (sum.places.empty()) sum.places = PlacesOf(kernel, places_from);
      sum.launches_per_step += PerRun(run.kernels[i].instances_per_step, runs);
      sum.time_per_step_ns += PerRun(run.kernels[i].ns_per_step, runs);
      side.of_runs[place->second].emplace_back(&run, i);
    }
  }
  return side;
}

std::optional<int64_t> LargestOf(std::optional<int64_t> largest, const report::Percentiles::Value& value) {
  if (!value) return largest;
  return std::max(largest.value_or(0), static_cast<int64_t>(std::llround(value->Real())));
}

std::optional<report::KernelSide> KernelSideOf(const SideKernels& side, const std::vector<size_t>& matched) {
  if (matched.empty()) return std::nullopt;
  report::KernelSide out;
  for (const size_t index : matched) {
    out.names.push_back(side.kernels[index].name);
    out.ns_per_step += side.kernels[index].time_per_step_ns;
    out.instances_per_step += side.kernels[index].launches_per_step;
    for (const auto& [run, kernel] : side.of_runs[index]) {
      out.estimated = out.estimated || run->kernels[kernel].by_step.empty();
    }
  }
  if (matched.size() > 1) return out;
  for (const auto& [run, kernel] : side.of_runs[matched.front()]) {
    out.p50_ns = LargestOf(out.p50_ns, run->profile.kernels[kernel].duration_ns.p50);
    out.p99_ns = LargestOf(out.p99_ns, run->profile.kernels[kernel].duration_ns.p99);
  }
  return out;
}

// What two or more kernels have in common; nothing where they differ.
class Common {
 public:
  void Add(const std::optional<std::string>& value) {
    if (!any_) value_ = value;
    if (value_ != value) value_.reset();
    any_ = true;
  }
  [[nodiscard]] std::optional<std::string> Get() const { return value_; }

 private:
  bool any_ = false;
  std::optional<std::string> value_;
};

void DescribeKernels(const SideKernels& base, const SideKernels& fresh, const KernelMatch& match,
                     report::KernelChange& change) {
  Common category;
  Common family;
  Common role;
  const auto add = [&](const SideKernels& side, const std::vector<size_t>& matched) {
    for (const size_t index : matched) {
      const auto& [run, kernel] = side.of_runs[index].front();
      category.Add(run->profile.kernels[kernel].category);
      family.Add(run->profile.kernels[kernel].family);
      role.Add(
          std::string(Name(FamilyRole(side.kernels[index].kind, side.kernels[index].name, side.kernels[index].range))));
    }
  };
  add(base, match.before);
  add(fresh, match.after);
  change.category = category.Get();
  change.family = family.Get();
  change.role = role.Get().value_or("other");
}

// The kernels of a match on one side, step by step.
SeriesOfRun SeriesOfMatch(const SideKernels& side, const std::vector<size_t>& matched) {
  std::set<std::string> names;
  for (const size_t index : matched) names.insert(side.kernels[index].name);
  return [names = std::move(names)](const ComparedRun& run) {
    return run.KernelTimes([&](const report::ProfileKernel& kernel) { return names.contains(kernel.name); });
  };
}

// The statistics of a match; nothing is known where the time of a kernel is only estimated.
SeriesComparison CompareMatch(const Sides& sides, const SideKernels& base, const SideKernels& fresh,
                              const KernelMatch& match, const report::KernelChange& change) {
  const bool estimated = (change.base && change.base->estimated) || (change.fresh && change.fresh->estimated);
  if (estimated) return {};
  return CompareParts(sides, SeriesOfMatch(base, match.before), SeriesOfMatch(fresh, match.after),
                      NoiseShare::kOfItself, 0);
}

// Of many kernels some change by chance: only those that stand out of all of them are called slower or faster.
void KeepDiscoveries(const std::vector<double>& p_values, std::vector<report::KernelChange>& kernels) {
  const std::vector<bool> found = FoundAmong(p_values);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const bool is_change = kernels[i].verdict == report::kSlowerWord || kernels[i].verdict == report::kFasterWord;
    if (is_change && !found[i]) kernels[i].verdict = report::kUnclearWord;
  }
}

report::KernelChange KernelChangeOf(const SideKernels& base, const SideKernels& fresh, const KernelMatch& match) {
  report::KernelChange change;
  change.base = KernelSideOf(base, match.before);
  change.fresh = KernelSideOf(fresh, match.after);
  change.match = Name(match.kind);
  change.matched_by = Name(match.by);
  change.certainty = Name(match.certainty);
  change.explanation = Explanation(match, base.kernels, fresh.kernels);
  DescribeKernels(base, fresh, match, change);
  const double before_ns = change.base ? change.base->ns_per_step : 0;
  change.change_ns_per_step = (change.fresh ? change.fresh->ns_per_step : 0) - before_ns;
  if (before_ns > 0) change.change_ratio = change.change_ns_per_step / before_ns;
  return change;
}

}  // namespace

absl::StatusOr<KernelChanges> KernelChangesOf(const Sides& sides, const KernelMap& map) {
  const PlacesFrom places_from = PlacesOfBoth(sides);
  const SideKernels base = KernelsOf(sides.base, places_from);
  const SideKernels fresh = KernelsOf(sides.fresh, places_from);
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelMatches matches, MatchKernels(base.kernels, fresh.kernels, map));
  KernelChanges changes;
  std::vector<double> p_values;
  for (const KernelMatch& match : matches.matches) {
    report::KernelChange& change = changes.kernels.emplace_back(KernelChangeOf(base, fresh, match));
    const SeriesComparison compared = CompareMatch(sides, base, fresh, match, change);
    const bool tested = compared.known && compared.change.verdict != Verdict::kNotEnoughSteps;
    change.verdict = compared.known ? WordOf(compared.change.verdict) : report::kUnclearWord;
    if (tested) {
      change.interval = std::pair(compared.change.change_ns_interval.low, compared.change.change_ns_interval.high);
    }
    p_values.push_back(tested ? compared.change.p : 1);
  }
  KeepDiscoveries(p_values, changes.kernels);
  std::stable_sort(changes.kernels.begin(), changes.kernels.end(), [](const auto& a, const auto& b) {
    return std::abs(a.change_ns_per_step) > std::abs(b.change_ns_per_step);
  });
  if (!base.kernels.empty() || !fresh.kernels.empty()) {
    changes.matched_time_ratio = std::min(matches.before_matched_share, matches.after_matched_share);
  }
  return changes;
}

}  // namespace lockstep::compare
