#include "analysis/compare/comparability.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lockstep::compare {
namespace {

// Below this share of kernel time in common the sides are taken for different programs (compare.md A4.6).
constexpr double kFewMatched = 0.8;

// Keys of the context that forbid a comparison rank by rank.
constexpr std::array<std::string_view, 3> kBlockingKeys = {"ranks", "world_size", "layout"};

using ValuesOfKey = std::map<std::string, std::set<std::string>>;

ValuesOfKey ValuesOf(const std::vector<ComparedRun>& runs) {
  ValuesOfKey values;
  for (const ComparedRun& run : runs) {
    for (const auto& [key, value] : run.context) values[key].insert(value);
  }
  return values;
}

std::optional<std::string> Joined(const ValuesOfKey& values, const std::string& key) {
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return fmt::format("{}", fmt::join(found->second, ", "));
}

std::vector<report::ContextDifference> DifferencesOf(const Sides& sides) {
  const ValuesOfKey base = ValuesOf(sides.base);
  const ValuesOfKey fresh = ValuesOf(sides.fresh);
  std::set<std::string> keys;
  for (const auto* values : {&base, &fresh}) {
    for (const auto& [key, all] : *values) keys.insert(key);
  }
  std::vector<report::ContextDifference> differences;
  for (const std::string& key : keys) {
    const auto of_base = Joined(base, key);
    const auto of_fresh = Joined(fresh, key);
    if (of_base == of_fresh) continue;
    const bool blocks = std::find(kBlockingKeys.begin(), kBlockingKeys.end(), key) != kBlockingKeys.end();
    differences.push_back({key, of_base, of_fresh, blocks && of_base && of_fresh});
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const auto& a, const auto& b) { return a.blocks > b.blocks; });
  return differences;
}

bool LacksSteps(const std::vector<ComparedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const ComparedRun& run) { return run.Steps().empty(); });
}

}  // namespace

report::Comparable ComparabilityOf(const Sides& sides, std::optional<double> matched_time_ratio) {
  report::Comparable comparable;
  comparable.verdict = "yes";
  comparable.matched_time_ratio = matched_time_ratio;
  comparable.differences = DifferencesOf(sides);
  const auto restrict_to = [&](std::string_view verdict, std::string reason) {
    if (comparable.verdict != "no") comparable.verdict = verdict;
    comparable.reasons.push_back(std::move(reason));
  };
  for (const auto& [runs, name] : {std::pair(&sides.base, "base"), std::pair(&sides.fresh, "new")}) {
    if (LacksSteps(*runs)) {
      restrict_to("no", fmt::format("the {} side has a run without steps: call profiler.step(), or give --step-range "
                                    "NAME when its traces are read",
                                    name));
    }
  }
  // Other numbers of ranks explain another world size and layout.
  const auto blocking = std::find_if(comparable.differences.begin(), comparable.differences.end(),
                                     [](const report::ContextDifference& difference) { return difference.blocks; });
  const bool other_ranks = std::any_of(comparable.differences.begin(), comparable.differences.end(),
                                       [](const auto& difference) { return difference.key == "ranks"; });
  if (other_ranks) {
    restrict_to("partly", fmt::format("not comparable rank by rank: the sides have {} and {} ranks",
                                      *Joined(ValuesOf(sides.base), "ranks"), *Joined(ValuesOf(sides.fresh), "ranks")));
  } else if (blocking != comparable.differences.end()) {
    restrict_to("partly", fmt::format("not comparable rank by rank: {} is {} and {}", blocking->key, *blocking->base,
                                      *blocking->fresh));
  }
  if (matched_time_ratio && *matched_time_ratio < kFewMatched) {
    restrict_to("partly",
                fmt::format("only {:.0f} % of the kernel time is in kernels that both sides have: they may be "
                            "different programs; --kernel-map FILE pairs kernels whose names changed",
                            100 * *matched_time_ratio));
  }
  return comparable;
}

}  // namespace lockstep::compare
