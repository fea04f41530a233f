#include "analysis/report/text/text_no_culprit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Ten milliseconds of waiting, for which enough steps accuse nobody.
report::Summary TenMilliseconds() {
  report::Summary summary;
  summary.wait_total_ns = 10'000'000;
  summary.rank_time_ns = 100'000'000;
  summary.decided = true;
  summary.time_share.exposed_wait_ratio = 0.08;
  summary.time_share.exposed_transfer_ratio = 0.1;
  summary.time_share.exposed_unresolved_ratio = 0.0;
  return summary;
}

std::string TextOf(const report::Summary& summary) {
  report::Run run;
  run.ranks = 4;
  return NoCulpritText({summary, run});
}

TEST(NoCulpritText, EnoughStepsThatAccuseNobodySayNobody) {
  EXPECT_EQ(TextOf(TenMilliseconds()),
            "Nobody in particular makes the others wait: 10 ms of waiting, spread over the ranks.");
}

TEST(NoCulpritText, WaitingThatTheClocksLeaveOpenIsToldWithWhatIsCertain) {
  report::Summary summary = TenMilliseconds();
  summary.certain_wait_ns = 9'500'000;
  EXPECT_EQ(TextOf(summary), "Nobody in particular makes the others wait: 10 ms of waiting, spread over the ranks.");
  summary.certain_wait_ns = 4'000'000;
  EXPECT_EQ(
      TextOf(summary),
      "Nobody in particular makes the others wait: 10 ms of waiting, at least 4 ms of it certain, spread over the "
      "ranks.");
  summary.certain_wait_ns = 0;
  EXPECT_EQ(TextOf(summary),
            "Nobody in particular makes the others wait: 10 ms of waiting, none of it certain, spread over the ranks.");
}

TEST(NoCulpritText, WhereThereMayBeMoreRanksNobodyIsOnlySaidOfThese) {
  report::Summary summary = TenMilliseconds();
  summary.ranks_assumed_all = true;
  EXPECT_THAT(TextOf(summary), HasSubstr("Among these ranks, nobody in particular"));
  EXPECT_TRUE(RestsOnAllRanks(summary));
  summary.culprits.emplace_back();
  EXPECT_FALSE(RestsOnAllRanks(summary)) << "it was named by what is here";
}

TEST(NoCulpritText, CommunicationThatMayBeInTheMissingPartOfAFileIsNotCalledAbsent) {
  report::Summary summary;
  summary.time_share.compute_ratio = 0.7;
  EXPECT_THAT(TextOf(summary), HasSubstr("No waiting is visible"));
  summary.problems = {report::Problem{.gate = "files_whole", .detail = "1 of 2 files could not be used completely"}};
  EXPECT_THAT(TextOf(summary),
              AllOf(HasSubstr("cannot be told"), HasSubstr("1 of 2 files"), Not(HasSubstr("visible"))));
}

TEST(NoCulpritText, TooFewStepsNeverSayNobody) {
  report::Summary summary = TenMilliseconds();
  summary.decided = false;
  EXPECT_THAT(TextOf(summary), AllOf(HasSubstr("not known after so few steps"), Not(HasSubstr("Nobody"))));
  summary.time_share.exposed_wait_ratio = 0.0007;
  EXPECT_THAT(TextOf(summary),
              AllOf(HasSubstr("of which 0.07 % of the GPU time is exposed"), Not(HasSubstr("Nobody"))));
}

TEST(NoCulpritText, WhoLooksLateIsNotNobody) {
  report::Summary summary = TenMilliseconds();
  summary.looks_late =
      report::LooksLate{.scope = "stage", .id = "stage 0", .steps = 30, .steps_needed = 52, .saving_ratio = 0.038};
  EXPECT_THAT(TextOf(summary), AllOf(HasSubstr("Whether stage 0 makes the others wait is not known after 30 steps"),
                                     Not(HasSubstr("Nobody"))));
}

TEST(NoCulpritText, WaitingMostlyForOneRankIsNotCalledSpread) {
  report::Summary summary = TenMilliseconds();
  summary.most_awaited = report::LeftOutCulprit{.rank = 3, .caused_wait_total_ns = 9'000'000};
  EXPECT_THAT(TextOf(summary), AllOf(HasSubstr("in 90.0 % of it rank 3 arrives last, but it did not begin the delay"),
                                     Not(HasSubstr("spread"))));
}

TEST(NoCulpritText, WhatMayBeWaitingIsAnUpperLimit) {
  report::Summary summary = TenMilliseconds();
  summary.wait_total_ns = 0;
  summary.time_share.exposed_wait_ratio = 0;
  summary.time_share.exposed_unresolved_ratio = 0.02;
  EXPECT_THAT(TextOf(summary), HasSubstr("At most 2.0 % of the time may be waiting"));
}

}  // namespace
}  // namespace lockstep
