#include "analysis/metrics/match/chapter_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/model/instance_row.h"
#include "tests/support/run_builder.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

struct Read {
  std::vector<std::vector<RowRange>> own;  // [chapter][rank], in the source's rows
  std::vector<std::vector<RowRange>> all;
};

class ChapterReaderTest : public testing::Test {
 protected:
  void Begin(size_t ranks) {
    for (size_t r = 0; r < ranks; ++r) {
      sources_.push_back(&builder_.AddRank(static_cast<int32_t>(r)));
      groups_.push_back(sources_.back()->Group("0", {0, 1}));
    }
  }
  static ClockModel OneClock(size_t ranks) {
    ClockModel clock;
    for (size_t r = 0; r < ranks; ++r) clock.SetDomain(static_cast<int32_t>(r), DomainId{0});
    return clock;
  }
  void Collective(size_t rank, int64_t start_ns, int64_t duration_ns) {
    sources_[rank]->Collective(groups_[rank], CollectiveOp::kAllReduce, start_ns, duration_ns);
  }

  Read ReadAll(int64_t chapter_rows) {
    BuiltRun built = builder_.Build();
    const RankResolution ranks = ResolveRanks(built.run, {});
    const ClockModel clock = OneClock(ranks.ranks.size());
    InlineExecutor executor;
    ChapterReader reader(built.run, ranks, {0, chapter_rows, 1});
    EXPECT_TRUE(reader.Open(built.instances, built.run, false).ok());
    EXPECT_TRUE(reader.ReadFirst(executor).ok());
    Read out;
    int64_t reached = INT64_MIN;
    while (*reader.ReadNext(clock, executor)) {
      EXPECT_GT(reader.to().ns, reached);
      reached = reader.to().ns;
      out.own.emplace_back();
      out.all.emplace_back();
      for (size_t r = 0; r < ranks.ranks.size(); ++r) Note(built, reader, ranks.ranks[r].source, r, out);
    }
    rows_.clear();
    for (const ResolvedRank& rank : ranks.ranks) rows_.push_back(built.instances.rows()[rank.source]);
    return out;
  }

  // Every row is some chapter's own, once.
  void ExpectTiled(const Read& read) const {
    for (size_t r = 0; r < rows_.size(); ++r) {
      int64_t next = 0;
      for (size_t c = 0; c < read.own.size(); ++c) {
        EXPECT_EQ(read.own[c][r].first, next) << "rank " << r << " chapter " << c;
        next = read.own[c][r].last;
        EXPECT_LE(read.all[c][r].first, read.own[c][r].first);
        EXPECT_GE(read.all[c][r].last, read.own[c][r].last);
      }
      EXPECT_EQ(next, static_cast<int64_t>(rows_[r].size())) << "rank " << r;
    }
  }

  RunBuilder builder_;
  std::vector<SourceBuilder*> sources_;
  std::vector<uint32_t> groups_;
  std::vector<std::vector<InstanceRow>> rows_;  // by rank

 private:
  static void Note(BuiltRun& built, ChapterReader& reader, size_t source, size_t rank, Read& out) {
    const int64_t first = reader.rows()->FirstRow(source);
    int64_t row = first;
    auto stream = reader.rows()->Open(source);
    for (auto block = *(*stream)->Next(); !block.empty(); block = *(*stream)->Next()) {
      for (const InstanceRow& it : block) EXPECT_EQ(it, built.instances.rows()[source][static_cast<size_t>(row++)]);
    }
    const RowRange own = reader.own()[rank];
    out.own.back().push_back({first + own.first, first + own.last});
    out.all.back().push_back({first, row});
  }
};

TEST_F(ChapterReaderTest, EveryRowIsOneChaptersOwnWhateverTheRhythm) {
  std::mt19937_64 random(20261123);
  Begin(5);
  for (size_t r = 0; r < 5; ++r) {
    int64_t at = static_cast<int64_t>(r) * 3 * kMs;
    const int count = r == 4 ? 40 : 1'500;  // one has nearly nothing
    for (int i = 0; i < count; ++i) {
      const int64_t duration = static_cast<int64_t>(random() % 900'000);
      Collective(r, at, duration);
      at += duration / (1 + static_cast<int64_t>(random() % 3)) + static_cast<int64_t>(random() % 300'000);
      if (random() % 200 == 0) at += 400 * kMs;
    }
  }
  const Read read = ReadAll(500);
  EXPECT_GE(read.own.size(), 8u);
  ExpectTiled(read);
}

TEST_F(ChapterReaderTest, ACollectiveIsWholeWhereTheRowOfItsLowestRankIs) {
  Begin(2);
  // Rank 1 arrives up to 1.5 ms late, all end together.
  for (int64_t i = 0; i < 2'000; ++i) {
    const int64_t late = i % 7 * 250'000;
    Collective(0, i * 2 * kMs, late + 50'000);
    Collective(1, i * 2 * kMs + late, 50'000);
  }
  const Read read = ReadAll(400);
  ASSERT_GE(read.own.size(), 6u);
  for (size_t c = 0; c < read.own.size(); ++c) {
    EXPECT_LE(read.all[c][1].first, read.own[c][0].first) << c;
    EXPECT_GE(read.all[c][1].last, read.own[c][0].last) << c;
  }
}

TEST_F(ChapterReaderTest, ChaptersHaveRowsOfTheirNeighboursBeforeAndBehind) {
  Begin(2);
  for (int64_t i = 0; i < 2'000; ++i) {
    for (const size_t r : {0, 1}) Collective(r, i * kMs, 500'000);
  }
  const Read read = ReadAll(400);
  ASSERT_GE(read.own.size(), 4u);
  for (size_t c = 0; c < read.own.size(); ++c) {
    const int64_t own = read.own[c][0].last - read.own[c][0].first;
    if (c > 0) {
      EXPECT_GE(read.own[c][0].first - read.all[c][0].first, own / 48) << c;
    }
    if (c + 1 < read.own.size()) {
      EXPECT_GE(read.all[c][0].last - read.own[c][0].last, own / 48) << c;
    }
    EXPECT_LE(read.all[c][0].last - read.all[c][0].first, 3 * own + 64) << c;
  }
}

TEST_F(ChapterReaderTest, ARankWithAHundredTimesTheRowsOfTheOthersMakesNoTinyChapters) {
  Begin(3);
  for (int64_t i = 0; i < 20'000; ++i) {
    Collective(0, i * 10'000, 5'000);
    if (i % 100 == 0) {
      Collective(1, i * 10'000, 5'000);
      Collective(2, i * 10'000, 5'000);
    }
  }
  const Read read = ReadAll(2'000);
  ExpectTiled(read);
  EXPECT_LE(read.own.size(), 40u);
}

TEST_F(ChapterReaderTest, ARankThatIsBusyForAWhileOnlyMakesNoChaptersOfNothing) {
  Begin(2);
  for (int64_t i = 0; i < 4'000; ++i) Collective(0, i * kMs, 10'000);
  // The other one has all of its rows in the first twentieth of the time.
  for (int64_t i = 0; i < 4'000; ++i) Collective(1, i * 50'000, 10'000);
  const Read read = ReadAll(1'000);
  ExpectTiled(read);
  EXPECT_LE(read.own.size(), 24u);
}

TEST_F(ChapterReaderTest, APauseOfAnHourMakesNoChapterOfTheFewRowsBeforeIt) {
  Begin(2);
  for (const size_t r : {0, 1}) {
    for (int64_t i = 0; i < 10; ++i) Collective(r, i * kMs, 10'000);
    for (int64_t i = 0; i < 2'000; ++i) Collective(r, 3'600'000 * kMs + i * kMs, 10'000);
  }
  const Read read = ReadAll(400);
  ExpectTiled(read);
  EXPECT_GE(read.own.front()[0].last, 100);
}

TEST_F(ChapterReaderTest, WhereRanksWaitLongForOneTheWindowsReachAsFar) {
  Begin(2);
  // Rank 1 is late by nine tenths of the rhythm: whatever the cut, rank 0 has begun.
  for (int64_t i = 0; i < 200; ++i) {
    Collective(0, i * 100 * kMs, 90 * kMs);
    for (int64_t k = 0; k < 20; ++k) Collective(1, i * 100 * kMs + 80 * kMs + k * 100'000, 50'000);
  }
  const Read read = ReadAll(300);
  ASSERT_GE(read.own.size(), 5u);
  for (size_t c = 0; c + 1 < read.own.size(); ++c) {
    const int64_t last_own = read.own[c][0].last - 1;  // of rank 0; its partners are rank 1's of the same number
    EXPECT_GE(read.all[c][1].last, last_own * 20 + 20) << c;
  }
}

TEST_F(ChapterReaderTest, AllStartsAtOneInstantAreReadAllTheSame) {
  Begin(2);
  for (int64_t i = 0; i < 3'000; ++i) {
    for (const size_t r : {0, 1}) Collective(r, 5'000, 10);
  }
  ExpectTiled(ReadAll(100));
}

TEST_F(ChapterReaderTest, ARankWithoutInstancesIsNoObstacle) {
  Begin(3);
  for (int64_t i = 0; i < 1'000; ++i) {
    for (const size_t r : {0, 1}) Collective(r, i * kMs, 10'000);
  }
  const Read read = ReadAll(200);
  ExpectTiled(read);
  EXPECT_GE(read.own.size(), 4u);
}

TEST_F(ChapterReaderTest, WhatIsNotInOrderOfTimeIsReadAllTheSame) {
  Begin(2);
  for (int64_t i = 0; i < 600; ++i) {
    for (const size_t r : {0, 1}) Collective(r, i * kMs, 10'000);
  }
  BuiltRun built = builder_.Build();
  std::mt19937_64 random(7);
  for (auto& rows : built.instances.rows()) std::shuffle(rows.begin(), rows.end(), random);
  const RankResolution ranks = ResolveRanks(built.run, {});
  const ClockModel clock = OneClock(2);
  InlineExecutor executor;
  ChapterReader reader(built.run, ranks, {0, 100, 1});
  ASSERT_TRUE(reader.Open(built.instances, built.run, false).ok());
  ASSERT_TRUE(reader.ReadFirst(executor).ok());
  int64_t own = 0;
  while (*reader.ReadNext(clock, executor)) own += reader.own()[0].last - reader.own()[0].first;
  EXPECT_EQ(own, 600);
}

TEST_F(ChapterReaderTest, OfARunThatGrowsSettledIsWhatAllIncompleteRanksHavePassedAndACopyTakesTheRest) {
  Begin(2);
  for (int64_t i = 0; i < 600; ++i) {
    Collective(0, i * kMs, 10'000);
    if (i < 400) Collective(1, i * kMs, 10'000);
  }
  BuiltRun built = builder_.Build();
  for (SourceData& source : built.run.sources) source.complete = false;
  const RankResolution ranks = ResolveRanks(built.run, {});
  const ClockModel clock = OneClock(2);
  InlineExecutor executor;
  ChapterReader reader(built.run, ranks, {0, 100, 1});
  ASSERT_TRUE(reader.Open(built.instances, built.run, true).ok());
  ASSERT_TRUE(reader.ReadFirst(executor).ok());
  EXPECT_TRUE(reader.HasRowsOfAll());
  const int64_t begin = built.instances.rows()[ranks.ranks[0].source].front().start_ns;
  int64_t settled = 0;
  while (*reader.ReadSettled(clock, executor)) {
    EXPECT_LE(reader.to().ns, begin + 400 * kMs);
    settled += reader.own()[0].last - reader.own()[0].first;
  }
  EXPECT_GT(settled, 250);
  EXPECT_LE(settled, 400);
  EXPECT_FALSE(*reader.ReadSettled(clock, executor)) << "asked again";
  ASSERT_TRUE(reader.ReadAll(executor).ok());
  reader.Close();
  ChapterReader rest(reader);
  int64_t own = 0;
  while (*rest.ReadNext(clock, executor)) own += rest.own()[0].last - rest.own()[0].first;
  EXPECT_EQ(settled + own, 600);
  EXPECT_EQ(rest.Taken(), 1'000);
  EXPECT_LT(reader.Taken(), 1'000);
}

TEST_F(ChapterReaderTest, OnlyTheFirstRowsAreThoseOfReadFirstAndNothingBehindThem) {
  Begin(2);
  for (int64_t i = 0; i < 4'000; ++i) {
    for (const size_t r : {0, 1}) Collective(r, i * kMs, 10'000);
  }
  BuiltRun built = builder_.Build();
  const RankResolution ranks = ResolveRanks(built.run, {});
  const ClockModel clock = OneClock(2);
  InlineExecutor executor;
  ChapterReader first(built.run, ranks, {0, 100, 1});
  ASSERT_TRUE(first.Open(built.instances, built.run, false).ok());
  ASSERT_TRUE(first.ReadFirst(executor).ok());
  ChapterReader only(built.run, ranks, {0, 100, 1});
  ASSERT_TRUE(only.Open(built.instances, built.run, false).ok());
  ASSERT_TRUE(only.ReadOnlyFirst(executor).ok());
  for (const ResolvedRank& rank : ranks.ranks) {
    EXPECT_EQ(only.rows()->RowCount(rank.source), first.rows()->RowCount(rank.source));
    auto stream = only.rows()->Open(rank.source);
    ASSERT_TRUE(stream.ok());
    int64_t row = 0;
    for (auto block = (*stream)->Take(); block.ok() && !block->empty(); block = (*stream)->Take()) {
      for (const InstanceRow& it : *block) {
        EXPECT_EQ(it, built.instances.rows()[rank.source][static_cast<size_t>(row++)]);
      }
    }
    EXPECT_EQ(row, 114);  // half a chapter's, and a few
  }
  int64_t own = 0;
  while (*only.ReadNext(clock, executor)) own += only.own()[0].last - only.own()[0].first;
  EXPECT_GE(own, 114);
  EXPECT_LT(own, 4'000) << "the instances were let go of";
}

}  // namespace
}  // namespace lockstep
