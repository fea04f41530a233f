#include "analysis/model/source.h"

#include <gtest/gtest.h>

#include "analysis/model/run_data.h"

namespace lockstep {
namespace {

TEST(SourceNames, OfRankSourcesStandInOrderOfTrust) {
  const std::vector<std::string_view> names = {"rank_map",    "metadata",  "mpi",    "nccl_init",
                                               "environment", "file_name", "assumed"};
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(Name(static_cast<RankSource>(i)), names[i]);
}

TEST(SourceNames, OfHostSourcesAreThoseOfTheirValues) {
  const std::vector<std::string_view> names = {"rank_map", "trace", "file_name", "option", "assumed", "unknown"};
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(Name(static_cast<HostSource>(i)), names[i]);
}

TEST(SourceNames, OfRunStatesAreThoseOfTheirValues) {
  EXPECT_EQ(Name(RunState::kOpen), "open");
  EXPECT_EQ(Name(RunState::kComplete), "complete");
  EXPECT_EQ(Name(RunState::kAnalysed), "analysed");
}

TEST(SourceNames, OfForeignValuesAreEmpty) {
  EXPECT_EQ(Name(static_cast<RankSource>(77)), "");
  EXPECT_EQ(Name(static_cast<HostSource>(77)), "");
  EXPECT_EQ(Name(static_cast<RunState>(77)), "");
}

TEST(DropReasons, HaveDistinctNamesAndMergeByAddition) {
  DropCounters a, b;
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    a.Add(static_cast<DropReason>(i), static_cast<int64_t>(i));
    for (size_t j = 0; j < i; ++j) EXPECT_NE(kDropReasonNames[i], kDropReasonNames[j]);
  }
  b.Merge(a);
  b.Merge(a);
  for (size_t i = 0; i < kDropReasonCount; ++i) EXPECT_EQ(b.count[i], 2 * static_cast<int64_t>(i));
}

TEST(DropReasons, RepairsAreNoLosses) {
  DropCounters drops;
  drops.Add(DropReason::kBadUtf8, 5);
  drops.Add(DropReason::kMissingLaunch, 5);
  EXPECT_EQ(drops.Lost(), 0);
  drops.Add(DropReason::kNegativeDuration, 2);
  EXPECT_EQ(drops.Lost(), 2);
}

}  // namespace
}  // namespace lockstep
