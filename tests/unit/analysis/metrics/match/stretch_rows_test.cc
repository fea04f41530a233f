#include "analysis/metrics/match/stretch_rows.h"

#include <gtest/gtest.h>

#include "analysis/model/instance_row.h"
#include "tests/support/run_builder.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

class StretchRowsTest : public testing::Test {
 protected:
  // Rank r has a collective every (r + 1) ms.
  StretchRowsTest() {
    for (int32_t r = 0; r < 2; ++r) {
      SourceBuilder& source = builder_.AddRank(r);
      const uint32_t group = source.Group("0", {0, 1});
      for (int64_t i = 0; i < 2'000 / (r + 1); ++i) {
        source.Collective(group, CollectiveOp::kAllReduce, i * (r + 1) * kMs, kMs / 2);
      }
      clock_.SetDomain(r, DomainId{0});
    }
    built_ = builder_.Build();
    for (SourceData& source : built_.run.sources) {
      source.instance_count = static_cast<int64_t>(built_.instances.rows()[&source - built_.run.sources.data()].size());
    }
    ranks_ = ResolveRanks(built_.run, {});
  }

  // All rows as one chapter of rank 0 and one of rank 1.
  StretchRows::Result Take(AlignedTime from, int64_t rows, AlignedTime to = AlignedTime{INT64_MAX}) {
    StretchRows stretch(built_.run, ranks_, from, rows);
    for (const size_t rank : {size_t{0}, size_t{1}}) {
      EXPECT_TRUE(stretch.Add(built_.instances, {RowRange{}, RowRange{}}, {rank}, clock_, to).ok());
    }
    return stretch.Finish(clock_);
  }

  [[nodiscard]] std::vector<InstanceRow> RowsOf(const StretchRows::Result& result, size_t rank) const {
    auto stream = result.rows->Open(ranks_.ranks[rank].source);
    return *(*stream)->Take();
  }

  RunBuilder builder_;
  BuiltRun built_;
  RankResolution ranks_;
  ClockModel clock_;
};

TEST_F(StretchRowsTest, BeginsAtItsMomentAndNumbersRowsAsTheSourceDoes) {
  const StretchRows::Result result = Take(AlignedTime{500 * kMs}, 300);
  const std::vector<InstanceRow> rows = RowsOf(result, 0);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().start_ns, 500 * kMs);
  EXPECT_EQ(result.rows->FirstRow(ranks_.ranks[0].source), 500);
  EXPECT_EQ(result.rows->FirstRow(ranks_.ranks[1].source), 250);
}

TEST_F(StretchRowsTest, EndsWhereTheFirstRankHasNoMoreThatWereKept) {
  const StretchRows::Result result = Take(AlignedTime{500 * kMs}, 300);
  // 64 and two thirds of 300, a ms each; of the other one 64 and a third, two ms each: more time.
  EXPECT_EQ(RowsOf(result, 0).size(), 264u);
  EXPECT_EQ(RowsOf(result, 0).back().start_ns, 763 * kMs);
  EXPECT_EQ(RowsOf(result, 1).back().start_ns, 762 * kMs);
  EXPECT_EQ(result.count, 264 + 132);
}

TEST_F(StretchRowsTest, GoesToTheEndWhereTheRanksEnd) {
  const StretchRows::Result result = Take(AlignedTime{1'900 * kMs}, 300);
  EXPECT_EQ(RowsOf(result, 0).back().start_ns, 1'999 * kMs);
  EXPECT_EQ(RowsOf(result, 1).back().start_ns, 1'998 * kMs);
}

TEST_F(StretchRowsTest, TakesNothingOfChaptersBefore) {
  EXPECT_EQ(Take(AlignedTime{500 * kMs}, 300, AlignedTime{400 * kMs}).count, 0);
}

}  // namespace
}  // namespace lockstep
