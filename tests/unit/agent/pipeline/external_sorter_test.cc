#include "agent/pipeline/external_sorter.h"

#include <gtest/gtest.h>

#include <random>

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

void ExpectSorted(size_t n, int64_t memory_bytes, bool spills) {
  std::vector<Record> records = RandomRecords(n);
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

TEST(ExternalSorter, OneRunIsSortedInMemory) { ExpectSorted(1'000, 1 << 20, false); }
TEST(ExternalSorter, ManyRunsAreMergedFromDisk) { ExpectSorted(50'000, 1024 * sizeof(Record), true); }
TEST(ExternalSorter, AnExactlyFullBufferNeedsNoDisk) { ExpectSorted(1'024, 1024 * sizeof(Record), false); }
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
