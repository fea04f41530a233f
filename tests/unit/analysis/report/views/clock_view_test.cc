// clock{}: what the view says about clocks that were aligned, that were not, and that share nothing.
#include "analysis/report/json.h"
#include "analysis/report/views/views.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

constexpr int64_t kBias = 1'500;  // of rank 3's device
constexpr int64_t kWindowStartNs = 1'700'000'000'000'000'000;

// Four ranks on the hosts alpha (0, 1) and beta (2, 3), each a clock domain.
class Clocks : public testing::Test {
 protected:
  Clocks() : fixture_(Tell()) {
    for (int32_t r = 2; r < 4; ++r) fixture_.match.clock.SetDomain(r, DomainId{1});
  }

  static const RunBuilder& Tell() {
    static RunBuilder run;
    static const bool told = [] {
      for (int32_t r = 0; r < 4; ++r) {
        SourceBuilder& source = run.AddRank(r).Host(r < 2 ? "alpha" : "beta");
        source.Kernel("k", {1});
        const int64_t ahead = (r < 2 ? 0 : 5 * kMs) + (r == 3 ? kBias : 0);
        source.Window(kWindowStartNs + ahead, kWindowStartNs + 100 * kMs + ahead);
      }
      return true;
    }();
    return told ? run : run;
  }

  // beta runs 5 ms ahead, found by bounds.
  void Align() {
    fixture_.match.clock.SetDomainClock(DomainId{0}, {.component = 0, .method = ClockMethod::kShared});
    DomainClock beta;
    beta.component = 0;
    beta.method = ClockMethod::kBand;
    beta.certified = true;
    beta.drift_ppm = 3.5;
    beta.instances = 42;
    for (const int64_t t : {0, 50, 100}) {
      beta.knots.push_back({.t_ns = kWindowStartNs + 5 * kMs + t * kMs,
                            .offset_ns = 5 * kMs,
                            .lo_ns = 5 * kMs - 40 * kUs,
                            .hi_ns = 5 * kMs + 60 * kUs,
                            .sigma_ns = 2 * kUs});
    }
    beta.steps = {{.t_ns = kWindowStartNs + 25 * kMs, .size_ns = 700 * kUs}};
    fixture_.match.clock.SetDomainClock(DomainId{1}, beta);
    fixture_.match.clock.SetBias(3, {{.bias_ns = kBias}});
    fixture_.match.clock.SetPair(0, 1, 2 * kUs, 100);
    fixture_.match.clock.SetPair(2, 3, 3 * kUs, 100);
    fixture_.match.clock.SetDomainPair(DomainId{0}, DomainId{1}, {{.half_width_ns = 4'200}});
  }

  Json View() {
    const Fleet fleet = fixture_.Make();
    const FleetMeasures measures = fixture_.Measure();
    const AnalysisContext context{fixture_.built().run,
                                  fixture_.built().instances,
                                  fixture_.options,
                                  fixture_.ranks,
                                  fixture_.match,
                                  executor_,
                                  fleet.run_start_ns,
                                  SelectedRanks(fixture_.ranks, fixture_.options),
                                  notices_};
    return ClockView({context, fleet, measures});
  }

  FleetFixture fixture_;
  InlineExecutor executor_;
  std::vector<Notice> notices_;
};

TEST_F(Clocks, AnAlignedHostShowsItsOffsetAndHowSureItIs) {
  Align();
  const Json view = View();
  EXPECT_EQ(view["reference_host"], "alpha");
  ASSERT_EQ(view["hosts"].size(), 2U);
  const Json& beta = view["hosts"][1];
  EXPECT_EQ(beta["host"], "beta");
  EXPECT_EQ(beta["ranks"], 2);
  EXPECT_EQ(beta["component"], 0);
  EXPECT_EQ(beta["offset_ns"], 5 * kMs);
  EXPECT_EQ(beta["uncertainty_ns"], 4'200);
  EXPECT_EQ(beta["sigma_ns"], 2 * kUs);
  EXPECT_EQ(beta["certified_ns"], Json({5 * kMs - 40 * kUs, 5 * kMs + 60 * kUs}));
  EXPECT_EQ(beta["certified"], true);
  EXPECT_EQ(beta["method"], "band");
  EXPECT_EQ(beta["drift_ppm"], 3.5);
  EXPECT_EQ(beta["instances"], 42);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(Clocks, TimesOfKnotsAndStepsAreOnTheAlignedAxis) {
  Align();
  const Json beta = View()["hosts"][1];
  EXPECT_EQ(beta["at_ns"], 50 * kMs);
  ASSERT_EQ(beta["knots"].size(), 3U);
  EXPECT_EQ(beta["knots"][2]["t_ns"], 100 * kMs);
  EXPECT_EQ(beta["steps"], Json::array({{{"t_ns", 20 * kMs}, {"size_ns", 700 * kUs}}}));
}

TEST_F(Clocks, TheReferenceIsItsOwnMeasure) {
  Align();
  const Json alpha = View()["hosts"][0];
  EXPECT_EQ(alpha["offset_ns"], 0);
  EXPECT_EQ(alpha["method"], "shared");
  EXPECT_TRUE(alpha["uncertainty_ns"].is_null());
}

TEST_F(Clocks, AComponentSaysBelowWhatItsWorstPairCannotBeTold) {
  Align();
  const Json view = View();
  ASSERT_EQ(view["components"].size(), 1U);
  EXPECT_EQ(view["components"][0]["not_resolvable_below_ns"], 4'200);
  EXPECT_EQ(view["components"][0]["worst_pair"], Json({0, 2}));
  EXPECT_EQ(view["components"][0]["hosts"], Json({"alpha", "beta"}));
  EXPECT_EQ(view["hosts"][0]["inside_ns"], 2 * kUs);
  EXPECT_EQ(view["hosts"][1]["inside_ns"], 3 * kUs);
}

TEST_F(Clocks, DevicesAreListedWhereOneReadsAnotherTime) {
  Align();
  const Json view = View();
  EXPECT_TRUE(view["hosts"][0]["devices"].empty());
  EXPECT_EQ(view["hosts"][1]["devices"], Json({{{"rank", 2}, {"bias_ns", 0}}, {{"rank", 3}, {"bias_ns", kBias}}}));
}

TEST_F(Clocks, HostsThatShareNothingHaveNoReferenceInCommon) {
  const Json view = View();
  EXPECT_TRUE(view["reference_host"].is_null());
  ASSERT_EQ(view["components"].size(), 2U);
  EXPECT_EQ(view["components"][1]["reference_host"], "beta");
  EXPECT_EQ(view["hosts"][1]["offset_ns"], 0);
  EXPECT_TRUE(view["hosts"][1]["sigma_ns"].is_null());
  EXPECT_EQ(view["hosts"][1]["method"], "shared");
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].reason.find("share no collective"), std::string::npos);
}

TEST_F(Clocks, AClockFoundByEndsIsCalledCoarse) {
  Align();
  DomainClock beta = fixture_.match.clock.ClockOf(DomainId{1});
  beta.method = ClockMethod::kEnds;
  fixture_.match.clock.SetDomainClock(DomainId{1}, beta);
  EXPECT_EQ(View()["hosts"][1]["method"], "ends");
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].reason.find("coarse"), std::string::npos);
}

TEST_F(Clocks, ASideThatNothingBoundsIsNull) {
  Align();
  DomainClock beta = fixture_.match.clock.ClockOf(DomainId{1});
  for (ClockKnot& knot : beta.knots) knot.hi_ns = INT64_MAX;
  fixture_.match.clock.SetDomainClock(DomainId{1}, beta);
  const Json row = View()["hosts"][1];
  EXPECT_TRUE(row["certified_ns"].is_null());
  EXPECT_TRUE(row["knots"][0]["hi_ns"].is_null());
  EXPECT_FALSE(row["knots"][0]["lo_ns"].is_null());
}

}  // namespace
}  // namespace lockstep
