// The fuzzer's seeds and its old crashes, read once each in every ordinary test run.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "agent/readers/nsys/nsys_reader.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/nsys_builder.h"

namespace lockstep {
namespace {

std::vector<std::filesystem::path> Corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/nsys")) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(NsysCorpus, EverySeedIsAWholeFileWithDeviceActivity) {
  int seeds = 0;
  for (const std::filesystem::path& path : Corpus()) {
    if (!path.filename().string().starts_with("schema_")) continue;
    SCOPED_TRACE(path);
    ++seeds;
    CollectingSink sink;
    const std::string bytes = ReadFileBytes(path);
    auto db = Database::OpenBytes(bytes);
    ASSERT_TRUE(db.ok());
    const auto read = nsys::ReadNsysDatabase(*db, static_cast<int64_t>(bytes.size()), {}, sink);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->outcome, ReadOutcome::kWhole) << read->reason;
    EXPECT_EQ(sink.devices.size(), 4u);
  }
  EXPECT_EQ(seeds, 6);
}

TEST(NsysCorpus, EveryCutOfASeedIsReadOrRefused) {
  const std::string bytes = ReadFileBytes("tests/fuzz/corpus/nsys/schema_328");
  ASSERT_FALSE(bytes.empty());
  for (size_t size = 0; size < bytes.size(); size += 97) {
    auto db = Database::OpenBytes(std::string_view(bytes).substr(0, size));
    if (!db.ok()) continue;
    CollectingSink sink;
    const auto read = nsys::ReadNsysDatabase(*db, static_cast<int64_t>(size), {}, sink);
    EXPECT_LE(sink.devices.size(), 4u);
    if (read.ok()) {
      EXPECT_EQ(read->outcome, ReadOutcome::kPartial) << size;
    }
  }
}

}  // namespace
}  // namespace lockstep
