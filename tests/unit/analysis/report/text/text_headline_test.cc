#include "analysis/report/text/text_headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/report/text/text_page.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string HeadlineOf(const report::Summary& summary) {
  TextPage page({.width = 1'000});
  WriteHeadline(summary, report::Run{.ranks = 8}, page);
  WriteWhoLooksLate(summary, page);
  return page.Take();
}

// Rank 6 is named, and saves 1.1 %.
report::Summary NamedRank6() {
  report::Summary summary;
  summary.wait_total_ns = 129'000'000;
  summary.culprits = {report::Culprit{.scope = "rank", .id = "6", .ranks = {6}, .caused_wait_total_ns = 1'270'000}};
  summary.culprits.front().saving_ratio = 0.011;
  return summary;
}

TEST(Headline, WhoMayCostMoreThanTheOneNamedIsToldBesideIt) {
  report::Summary summary = NamedRank6();
  summary.looks_late = report::LooksLate{.scope = "rank", .id = "7", .steps = 30, .saving_ratio = 0.026};
  EXPECT_THAT(HeadlineOf(summary), HasSubstr("Whether rank 7 makes the others wait as well, and more, is not known "
                                             "after 30 steps: each step may be 2.6 % shorter"));
}

TEST(Headline, WhoLooksLateAndSavesLessThanTheOneNamedIsLeftToItsView) {
  report::Summary summary = NamedRank6();
  summary.looks_late = report::LooksLate{.scope = "rank", .id = "7", .steps = 30, .saving_ratio = 0.01};
  EXPECT_THAT(HeadlineOf(summary), Not(HasSubstr("rank 7")));
}

TEST(Headline, TheOneNamedIsNotToldTwice) {
  report::Summary summary = NamedRank6();
  summary.looks_late = report::LooksLate{.scope = "rank", .id = "6", .steps = 30, .saving_ratio = 0.026};
  EXPECT_THAT(HeadlineOf(summary), Not(HasSubstr("is not known")));
}

}  // namespace
}  // namespace lockstep
