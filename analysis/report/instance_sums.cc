#include "analysis/report/instance_sums.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/report/report.h"

namespace lockstep {
namespace {

constexpr int64_t kPicturedInstances = 50;

bool Any(const std::vector<std::string>& views, std::initializer_list<std::string_view> of) {
  return std::any_of(views.begin(), views.end(),
                     [&](const std::string& view) { return std::find(of.begin(), of.end(), view) != of.end(); });
}

// Feeds sums, those that are not null, with the chapter's own instances that are selected: an instance while it is in
// the caches to all of them.
template <typename... Sums>
InstanceSums::Part Feeding(const Chapter& chapter, const AnalysisContext& context, Sums*... sums) {
  return [&chapter, &context, sums...] {
    ForEachOwn(chapter, [&](const MatchedInstance& instance) {
      if (!Selects(context, instance)) return;
      ((sums == nullptr ? void() : sums->Add(instance)), ...);
    });
    return absl::OkStatus();
  };
}

template <typename Sum>
std::unique_ptr<Sum> CopyOf(const std::unique_ptr<Sum>& sum) {
  return sum == nullptr ? nullptr : std::make_unique<Sum>(*sum);
}

}  // namespace

InstanceSums::InstanceSums(const Fleet& fleet, const std::vector<std::string>& views, const RunExtent& extent) {
  const size_t ranks = fleet.ranks.ranks.size();
  if (Any(views, {kPicturesView})) {
    const MapAxis axis(fleet.run, ranks);
    causes = std::make_unique<CrossRankSums>(fleet.run, fleet.ranks, extent, axis);
    lateness_map = std::make_unique<LatenessMap>(axis);
    worst = std::make_unique<ListedInstances>(kPicturedInstances);
  } else if (Any(views, {"summary", "imbalance", "stragglers", "findings"})) {
    causes = std::make_unique<CrossRankSums>(fleet.run, fleet.ranks, extent);
  }
  if (Any(views, {"summary", "collectives", "profile"})) collectives = std::make_unique<CollectivesSum>();
  if (Any(views, {"skew", "profile"})) {
    skew = std::make_unique<SkewSum>(ranks);
    if (fleet.options.instances) listed = std::make_unique<ListedInstances>(*fleet.options.instances);
  }
  if (Any(views, {"summary", "imbalance", "tails", "stragglers", "findings"})) {
    late = std::make_unique<LateArrivalsSum>();
  }
}

InstanceSums::InstanceSums(const InstanceSums& other)
    : causes(CopyOf(other.causes)),
      collectives(CopyOf(other.collectives)),
      skew(CopyOf(other.skew)),
      listed(CopyOf(other.listed)),
      late(CopyOf(other.late)),
      lateness_map(CopyOf(other.lateness_map)),
      worst(CopyOf(other.worst)) {}

std::vector<InstanceSums::Part> InstanceSums::Parts(const Chapter& chapter, const AnalysisContext& context,
                                                    std::shared_ptr<const MatchResult> sample) {
  std::vector<Part> parts;
  if (causes != nullptr) {
    parts.emplace_back([this, &chapter, &context, sample = std::move(sample)] {
      return causes->Add(chapter, context.instances, sample, context.executor);
    });
  }
  if (skew != nullptr) parts.push_back(Feeding(chapter, context, skew.get()));
  if (collectives != nullptr || listed != nullptr || late != nullptr) {
    parts.push_back(Feeding(chapter, context, collectives.get(), listed.get(), late.get()));
  }
  if (lateness_map != nullptr) parts.push_back(Feeding(chapter, context, lateness_map.get(), worst.get()));
  return parts;
}

}  // namespace lockstep
