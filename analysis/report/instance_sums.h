// The one way through the instances of a run: everything that a report's views need of single instances is summed here,
// chapter by chapter.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/skew/collectives.h"
#include "analysis/metrics/skew/lateness_map.h"
#include "analysis/metrics/skew/listed_instances.h"
#include "analysis/metrics/skew/skew.h"
#include "analysis/metrics/summary/summary.h"
#include "analysis/report/analysis_context.h"
#include "analysis/report/cross_rank.h"

namespace lockstep {

// Not thread safe. Parts that no shown view needs are null.
struct InstanceSums {
  // Borrows the fleet.
  InstanceSums(const Fleet& fleet, const std::vector<std::string>& views, const RunExtent& extent);

  // Goes on for itself from what the other one has.
  InstanceSums(const InstanceSums& other);
  InstanceSums& operator=(const InstanceSums&) = delete;

  // What takes a chapter in, the longest first: none needs another. The chapter as a context of its own: its instances,
  // their match, and which of them are selected. `sample`: as CrossRankSums takes it. Borrows both. Errors: those of
  // the instances.
  using Part = std::function<absl::Status()>;
  [[nodiscard]] std::vector<Part> Parts(const Chapter& chapter, const AnalysisContext& context,
                                        std::shared_ptr<const MatchResult> sample);

  std::unique_ptr<CrossRankSums> causes;
  std::unique_ptr<CollectivesSum> collectives;
  std::unique_ptr<SkewSum> skew;
  std::unique_ptr<ListedInstances> listed;
  std::unique_ptr<LateArrivalsSum> late;
  std::unique_ptr<LatenessMap> lateness_map;
  std::unique_ptr<ListedInstances> worst;  // for pictures
};

}  // namespace lockstep
