// A built run with its resolution and an empty matching, as the metrics of this folder take it.
#pragma once

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/fleet/fleet_measures.h"
#include "tests/support/run_builder.h"

namespace lockstep {

// Ranks are taken from the claims; the matching holds what a test puts into it.
class FleetFixture {
 public:
  explicit FleetFixture(const RunBuilder& builder, AnalysisOptions asked = {})
      : built_(builder.Build()), options(std::move(asked)) {
    for (size_t i = 0; i < built_.run.sources.size(); ++i) {
      const SourceContext& context = built_.run.sources[i].context;
      const int32_t rank = context.claims.empty() ? static_cast<int32_t>(i) : context.claims.front().rank;
      const RankSource claimed = context.claims.empty() ? RankSource::kAssumed : context.claims.front().source;
      ranks.ranks.push_back({i, rank, claimed, context.host, context.host_source, 0, 0});
    }
    std::sort(ranks.ranks.begin(), ranks.ranks.end(),
              [](const ResolvedRank& a, const ResolvedRank& b) { return a.rank < b.rank; });
    for (size_t i = 0; i < ranks.ranks.size(); ++i) match.clock.SetDomain(static_cast<int32_t>(i), DomainId{0});
  }

  [[nodiscard]] Fleet Make() const { return MakeFleet(built_.run, ranks, match, options); }
  [[nodiscard]] FleetMeasures Measure() {
    InlineExecutor executor;
    const Fleet fleet = Make();
    FleetMeter meter(fleet);
    EXPECT_TRUE(meter.Add(Chapter{match}, built_.instances, executor).ok());
    return meter.Finish();
  }
  [[nodiscard]] BuiltRun& built() { return built_; }

 private:
  BuiltRun built_;

 public:
  AnalysisOptions options;
  RankResolution ranks;
  MatchResult match;
};

}  // namespace lockstep
