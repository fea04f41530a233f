#include "agent/pipeline/external_sorter.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

namespace lockstep {
namespace {

struct Record {
  int64_t key = 0;
  int64_t payload[7] = {};
  friend bool operator==(const Record&, const Record&) = default;
};
struct ByKey {
  bool operator()(const Record& a, const Record& b) const {
    return std::tie(a.key, a.payload[0]) < std::tie(b.key, b.payload[0]);
  }
};

std::vector<Record> RandomRecords(size_t n) {
  std::mt19937_64 random(n);
  std::vector<Record> records(n);
  for (size_t i = 0; i < n; ++i) {
    records[i].key = static_cast<int64_t>(random() % 1000);
    records[i].payload[0] = static_cast<int64_t>(i);
    records[i].payload[1 + i % 6] = static_cast<int64_t>(random() >> (random() % 64));
  }
  return records;
}

// As a trace has them: of each of some processes a few ascending streams, side by side in time.
std::vector<Record> NearlySorted(size_t n, size_t streams) {
  std::mt19937_64 random(n);
  std::vector<Record> records(n);
  for (size_t i = 0; i < n; ++i) {
    const size_t stream = random() % streams;
    records[i].key = static_cast<int64_t>(stream % 2);
    records[i].payload[0] = static_cast<int64_t>((i - stream * 40) * 128 + stream);
    records[i].payload[2] = static_cast<int64_t>(stream);
  }
  return records;
}

void ExpectSorted(std::vector<Record> records, int64_t memory_bytes, bool spills) {
  ExternalSorter<Record, ByKey> sorter(testing::TempDir(), memory_bytes);
  for (const Record& record : records) ASSERT_TRUE(sorter.Add(record).ok());
  ASSERT_TRUE(sorter.Finish().ok());
  EXPECT_EQ(sorter.spilled_bytes() > 0, spills);
  std::sort(records.begin(), records.end(), ByKey());
  Record got;
  for (const Record& want : records) {
    const auto more = sorter.Next(got);
    ASSERT_TRUE(more.ok() && *more);
    ASSERT_EQ(got, want);
  }
  EXPECT_FALSE(*sorter.Next(got));
  ASSERT_TRUE(sorter.Rewind().ok());
  for (const Record& want : records) {
    ASSERT_TRUE(*sorter.Next(got));
    ASSERT_EQ(got, want);
  }
  EXPECT_FALSE(*sorter.Next(got));
}

void ExpectSorted(size_t n, int64_t memory_bytes, bool spills) { ExpectSorted(RandomRecords(n), memory_bytes, spills); }

TEST(ExternalSorter, OneRunIsSortedInMemory) { ExpectSorted(1'000, 1 << 20, false); }
TEST(ExternalSorter, ManyRunsAreMergedFromDisk) { ExpectSorted(50'000, 1024 * sizeof(Record), true); }
TEST(ExternalSorter, AnExactlyFullBufferNeedsNoDisk) { ExpectSorted(1'024, 1024 * sizeof(Record), false); }
TEST(ExternalSorter, WhatOrderingTakesIsPartOfTheBudget) {
  using Sorter = ExternalSorter<Record, ByKey>;
  EXPECT_EQ(Sorter::kBytesARecord, sizeof(Record) + 2 * sizeof(uint32_t));
  ExpectSorted(4'096, int64_t{4'096} * Sorter::kBytesARecord, false);
  ExpectSorted(4'097, int64_t{4'096} * Sorter::kBytesARecord, true);
}
TEST(ExternalSorter, StreamsSideBySideAreMerged) {
  for (const size_t streams : {1, 2, 7, 12, 100}) {
    ExpectSorted(NearlySorted(1'000, streams), 1 << 20, false);
    ExpectSorted(NearlySorted(50'000, streams), 1024 * sizeof(Record), true);
  }
}
TEST(ExternalSorter, RunsThatFollowOneAnotherAreOne) {
  std::vector<Record> records(10'000);
  for (size_t i = 0; i < records.size(); ++i) records[i].key = static_cast<int64_t>(i / 3);
  ExpectSorted(records, 1024 * sizeof(Record), true);
}
TEST(ExternalSorter, DescendingRecordsAreSorted) {
  std::vector<Record> records = NearlySorted(10'000, 1);
  std::reverse(records.begin(), records.end());
  ExpectSorted(records, 1024 * sizeof(Record), true);
}
TEST(ExternalSorter, NothingGivesNothing) { ExpectSorted(0, 1 << 20, false); }

TEST(ExternalSorter, AFolderThatIsNotThereIsAnErrorThatNamesIt) {
  ExternalSorter<Record, ByKey> sorter("/nonexistent-folder", 1);
  absl::Status status;
  for (int i = 0; i < 3'000 && status.ok(); ++i) status = sorter.Add({});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(status.message()).find("/nonexistent-folder"), std::string::npos);
  EXPECT_NE(std::string(status.message()).find("--tmp"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
