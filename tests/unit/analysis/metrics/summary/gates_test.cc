// Every gate passes, fails and does not apply, each for one reason.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/summary/capture_facts.h"
#include "analysis/metrics/summary/quality.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"
#include "tests/unit/analysis/metrics/summary/good_rank.h"

namespace lockstep {
namespace {

// A run in the making: its sources, and what the ranks and the matching say of them.
struct GateCase {
  std::string gate;
  std::optional<bool> ok;
  int32_t ranks = 2;
  std::function<void(std::vector<SourceBuilder*>&)> sources = [](auto&) {};
  std::function<void(FleetFixture&)> fixture = [](auto&) {};
};

MatchedInstance Both(double confidence) {
  MatchedInstance instance;
  instance.confidence = confidence;
  instance.members = {{0, 0, 0, 100, 0, 0, 0}, {1, 0, 0, 100, 0, 0, 0}};
  return instance;
}

void Communicate(std::vector<SourceBuilder*>& ranks) {
  for (SourceBuilder* rank : ranks) {
    rank->Collective(rank->Group("0", {0, 1}), CollectiveOp::kAllReduce, 0, 100);
  }
}

// All of it is joined with nobody.
void CommunicateOnly(SourceBuilder& rank) {
  for (StepRow& row : rank.data().steps) std::swap(row.tile.comm_ns, row.tile.compute_ns);
}

std::vector<GateCase> Cases() {
  constexpr std::nullopt_t kNone = std::nullopt;
  std::vector<GateCase> cases;
  const auto sources = [&](std::string gate, std::optional<bool> ok, std::function<void(SourceBuilder&)> change) {
    cases.push_back({std::move(gate), ok, 2, [change](std::vector<SourceBuilder*>& ranks) {
                       for (SourceBuilder* rank : ranks) change(*rank);
                     }});
  };
  const auto fixture = [&](std::string gate, std::optional<bool> ok, std::function<void(FleetFixture&)> change,
                           int32_t ranks = 2) {
    cases.push_back({std::move(gate), ok, ranks, [](auto&) {}, std::move(change)});
  };
  sources("kernels_present", true, [](SourceBuilder&) {});
  sources("kernels_present", false, [](SourceBuilder& rank) { rank.context().kernels = 0; });
  sources("graphs_visible", true, [](SourceBuilder& rank) { rank.context().opaque_graph_launches = 1; });
  sources("graphs_visible", false, [](SourceBuilder& rank) { rank.context().opaque_graph_launches = 50; });
  sources("graphs_visible", true, [](SourceBuilder& rank) {  // launched outside the steps, or where there are none
    rank.data().steps.clear();
    rank.context().api_rows = rank.context().kernels = 500;
    rank.context().opaque_graph_launches = 1;
  });
  sources("graphs_visible", kNone, [](SourceBuilder& rank) { rank.data().steps.clear(); });
  fixture("files_whole", true, [](FleetFixture& f) { f.built().run.files = {{"a", "kineto", "used", "", -1, {}}}; });
  fixture("files_whole", false, [](FleetFixture& f) {
    f.built().run.files = {{"a", "kineto", "partial", "cut", 9, {}}};
  });
  sources("files_whole", false, [](SourceBuilder& rank) { rank.data().steps.back().kernels = 2; });
  sources("dropped_records", true, [](SourceBuilder&) {});
  sources("dropped_records", false,
          [](SourceBuilder& rank) { rank.data().summary.drops.Add(DropReason::kZeroTime, 1); });
  sources("dropped_records", false,
          [](SourceBuilder& rank) { rank.context().diagnostics = {"nsys warning: 12 events were dropped"}; });
  sources("dropped_records", kNone, [](SourceBuilder& rank) { rank.context().kernels = 0; });
  fixture("rank_identity", true, [](FleetFixture&) {});
  fixture("rank_identity", false, [](FleetFixture& f) { f.ranks.ranks[1].rank_source = RankSource::kAssumed; });
  fixture("duplicate_rank", true, [](FleetFixture&) {});
  fixture("duplicate_rank", false, [](FleetFixture& f) {
    f.ranks.refused.push_back({1, 0, DropReason::kDuplicateRank, "claimed twice"});
  });
  fixture("host_identity", true, [](FleetFixture&) {});
  fixture("host_identity", false, [](FleetFixture& f) { f.match.host_conflict = true; });
  fixture("host_identity", kNone, [](FleetFixture& f) {
    for (ResolvedRank& rank : f.ranks.ranks) rank.host.clear();
  });
  fixture("complete_ranks", true, [](FleetFixture& f) { f.ranks.world_size = 2; });
  fixture("complete_ranks", false, [](FleetFixture& f) { f.ranks.missing_ranks = {4}; });
  fixture("complete_ranks", kNone, [](FleetFixture&) {});
  fixture("common_window", true, [](FleetFixture&) {});
  cases.push_back({"common_window", false, 2, [](std::vector<SourceBuilder*>& ranks) {
                     for (SourceBuilder* rank : ranks) rank->data().steps.clear();
                     ranks[1]->Window(1'900, 3'900);
                   }});
  fixture(
      "common_window", kNone, [](FleetFixture&) {}, 1);
  for (const auto& [ok, confidence] : std::map<bool, double>{{true, 1.0}, {false, 0.5}}) {
    cases.push_back(
        {"matching", ok, 2, Communicate, [value = confidence](FleetFixture& f) { f.match.instances = {Both(value)}; }});
  }
  fixture("matching", kNone, [](FleetFixture&) {});
  sources("waiting_told", true, [](SourceBuilder&) {});
  sources("waiting_told", false, CommunicateOnly);
  fixture(
      "waiting_told", kNone, [](FleetFixture&) {}, 1);
  fixture("clock", true, [](FleetFixture& f) { SetTwoClocks(f, true); });
  fixture("clock", false, [](FleetFixture& f) { SetTwoClocks(f, false); });
  const auto coarse = [](FleetFixture& f) {
    SetTwoClocks(f, true);
    f.match.clock.SetDomainPair(DomainId{0}, DomainId{1}, {{INT64_MIN, 400'000}});
  };
  fixture("clock", true, coarse);
  cases.push_back({"clock", false, 2,
                   [](std::vector<SourceBuilder*>& ranks) {  // it hides whether they wait
                     for (SourceBuilder* rank : ranks) CommunicateOnly(*rank);
                   },
                   coarse});
  fixture(
      "clock", kNone, [](FleetFixture&) {}, 1);
  sources("steps_found", true, [](SourceBuilder&) {});
  sources("steps_found", false, [](SourceBuilder& rank) { rank.data().steps.clear(); });
  sources("decode_pure", true, [](SourceBuilder& rank) {
    for (StepRow& row : rank.data().steps) row.phase = "decode";
  });
  sources("decode_pure", false, [](SourceBuilder& rank) {
    for (StepRow& row : rank.data().steps) row.phase = row.step == 3 ? "prefill" : "decode";
  });
  sources("decode_pure", kNone, [](SourceBuilder&) {});
  sources("capture_long_enough", true, [](SourceBuilder&) {});
  sources("capture_long_enough", false, [](SourceBuilder& rank) { rank.data().steps.pop_back(); });
  sources("capture_long_enough", false, [](SourceBuilder& rank) {
    for (StepRow& row : rank.data().steps) {
      row.tile.compute_ns = 0;
      row.tile.idle_host_ns = 100;
    }
  });
  sources("node_trace_overhead", true, [](SourceBuilder& rank) { rank.context().graph_spans = 5; });
  sources("node_trace_overhead", true, [](SourceBuilder& rank) {
    rank.context().graph_kernels = 10;
    rank.context().kernel_time_ns = 1'000'000;
  });
  sources("node_trace_overhead", false, [](SourceBuilder& rank) {
    rank.context().graph_kernels = 100;
    rank.context().kernel_time_ns = 500'000;
  });
  sources("node_trace_overhead", kNone, [](SourceBuilder&) {});
  sources("profiler_overhead", true, [](SourceBuilder& rank) { rank.context().overhead_ns = 90; });
  sources("profiler_overhead", false, [](SourceBuilder& rank) { rank.context().overhead_ns = 200; });
  sources("profiler_overhead", kNone, [](SourceBuilder&) {});
  sources("classifier_version", true, [](SourceBuilder&) {});
  sources("classifier_version", false, [](SourceBuilder& rank) { rank.context().classifier_version = 0; });
  return cases;
}

Gate GateOfCase(const GateCase& it) {
  RunBuilder run;
  std::vector<SourceBuilder*> sources;
  for (int32_t rank = 0; rank < it.ranks; ++rank) sources.push_back(&AddGoodRank(run, rank));
  it.sources(sources);
  FleetFixture fixture(run);
  it.fixture(fixture);
  const FleetMeasures measures = fixture.Measure();
  for (const Gate& gate : ComputeQuality(fixture.Make(), measures).gates) {
    if (gate.name == it.gate) return gate;
  }
  ADD_FAILURE() << "no gate " << it.gate;
  return {};
}

TEST(Gates, EachAnswersAsItsCaseSays) {
  for (const GateCase& it : Cases()) {
    const Gate gate = GateOfCase(it);
    EXPECT_EQ(gate.ok, it.ok) << it.gate << ": " << gate.detail;
    EXPECT_FALSE(gate.detail.empty()) << it.gate;
    EXPECT_EQ(gate.fix.find("docs/capture.md#") != std::string::npos, it.ok == false) << it.gate;
  }
}

TEST(Gates, EachHasACaseThatPassesAndOneThatFails) {
  std::map<std::string, int> states;
  for (const GateCase& it : Cases()) {
    if (it.ok.has_value()) states[it.gate] |= *it.ok ? 1 : 2;
  }
  for (const std::string_view gate : GateNames()) EXPECT_EQ(states[std::string(gate)], 3) << gate;
}

TEST(Gates, WithoutKernelsTheCaptureIsAskedWhy) {
  RunBuilder run;
  AddGoodRank(run, 0);
  SourceBuilder& empty = run.AddRank(1);
  empty.context().diagnostics = {"nsys error: CUPTI could not be initialised"};
  empty.context().versions = {{"driver", "535.1"}, {"cuda", "12.4"}};
  empty.context().capture_end_ns = 2'000'000;
  FleetFixture fixture(run);
  const FleetMeasures measures = fixture.Measure();
  const std::string detail = ComputeQuality(fixture.Make(), measures).gates.front().detail;
  for (const char* part : {"rank 1", "CUPTI could not be initialised", "driver 535.1", "cuda 12.4", "2 ms"}) {
    EXPECT_NE(detail.find(part), std::string::npos) << part << " in " << detail;
  }
}

TEST(Gates, WhereNothingRanOnADeviceNoStepIsMissed) {
  RunBuilder run;
  run.AddRank(0);
  FleetFixture fixture(run);
  const FleetMeasures measures = fixture.Measure();
  for (const Gate& gate : ComputeQuality(fixture.Make(), measures).gates) {
    if (gate.name != "steps_found") continue;
    EXPECT_FALSE(gate.ok.has_value()) << gate.detail;
  }
}

TEST(Gates, WhereDecodingShouldRepeatItIsSaidThatNothingDoes) {
  RunBuilder run;
  SourceBuilder& rank = AddGoodRank(run, 0);
  rank.data().steps.clear();
  rank.Kernel("reshape_and_cache_flash_kernel", {100});
  FleetFixture fixture(run);
  const FleetMeasures measures = fixture.Measure();
  for (const Gate& gate : ComputeQuality(fixture.Make(), measures).gates) {
    if (gate.name != "steps_found") continue;
    EXPECT_NE(gate.detail.find("nothing repeats as decoding"), std::string::npos);
  }
}

TEST(CutStep, IsOneThatLaunchesAsMuchAndRunsLess) {
  RunBuilder run;
  SourceBuilder& rank = AddGoodRank(run, 0);
  EXPECT_FALSE(FindCutStep(rank.data()).has_value());
  rank.data().steps.front().kernels = 1;
  const auto cut = FindCutStep(rank.data());
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->step, 0);
  EXPECT_EQ(cut->expected, 5);
  rank.data().steps.front().launches = 1;
  EXPECT_FALSE(FindCutStep(rank.data()).has_value()) << "it asked for less";
}

}  // namespace
}  // namespace lockstep
