#include "agent/held_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

class HeldFileTest : public testing::Test {
 protected:
  void SetUp() override { Write("content"); }

  void Write(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }
  // As of a minute later, when the file has come to rest.
  [[nodiscard]] std::optional<Hash128> Key(const CondenseFileOptions& options = {}) const {
    return HeldFileKey(path_, options, SystemClock().UnixNs() + 60 * kNsPerS);
  }

  const TempDir dir_ = TempDir::Create("", "held-file-").value();
  const std::string path_ = dir_.path() + "/rank0.json";
};

TEST_F(HeldFileTest, AFileThatNobodyTouchedKeepsItsKey) {
  ASSERT_TRUE(Key());
  EXPECT_EQ(Key(), Key());
}

TEST_F(HeldFileTest, AnyChangeOfTheFileChangesItsKey) {
  std::set<Hash128> keys = {*Key()};
  Write("CONTENT");
  EXPECT_TRUE(keys.insert(*Key()).second) << "other bytes, same size";
  std::ofstream(path_, std::ios::app) << " ";
  EXPECT_TRUE(keys.insert(*Key()).second) << "longer";
  std::filesystem::last_write_time(path_, std::filesystem::last_write_time(path_) - std::chrono::hours(1));
  EXPECT_TRUE(keys.insert(*Key()).second) << "said to be older";
  std::filesystem::copy_file(path_, path_ + ".copy");
  std::filesystem::rename(path_ + ".copy", path_);
  EXPECT_TRUE(keys.insert(*Key()).second) << "another file in its place";
}

// A change in the middle of a large file that puts size and time of change back shows by the time of the inode.
TEST_F(HeldFileTest, AChangeThatHidesItselfShows) {
  Write(std::string(300'000, 'x'));
  struct stat before {};
  ASSERT_EQ(::stat(path_.c_str(), &before), 0);
  const std::optional<Hash128> key = Key();
  struct stat after = before;
  while (after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
    std::fstream file(path_);
    file.seekp(150'000);
    file << 'y';
    file.close();
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
    ASSERT_EQ(::stat(path_.c_str(), &after), 0);
  }
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_NE(Key(), key);
}

TEST_F(HeldFileTest, WhatChangesWhatAFileGivesChangesItsKey) {
  const std::vector<std::function<void(CondenseFileOptions&)>> changes = {
      [](CondenseFileOptions& options) { options.read.step_range = "step"; },
      [](CondenseFileOptions& options) { options.host = "step"; },
      [](CondenseFileOptions& options) { options.rank_map = {{.path = "rank0.json", .rank = 1}}; },
      [](CondenseFileOptions& options) { options.rank_map = {{.path = "rank0.json", .rank = 2}}; },
      [](CondenseFileOptions& options) { options.rank_map = {{.path = "rank0.json", .pid = 1, .rank = 2}}; },
      [](CondenseFileOptions& options) { options.rank_map = {{.path = "rank0.json", .device = 1, .rank = 2}}; },
      [](CondenseFileOptions& options) { options.rank_map = {{.path = "rank0.json", .rank = 2, .host = "a"}}; },
  };
  std::set<Hash128> keys = {*Key()};
  for (const auto& change : changes) {
    CondenseFileOptions options;
    change(options);
    EXPECT_TRUE(keys.insert(*Key(options)).second);
  }
  CondenseFileOptions same;
  same.tmp_dir = "elsewhere";
  same.sort_memory_bytes = 1;
  EXPECT_EQ(Key(same), Key());
}

TEST_F(HeldFileTest, WhatARankMapSaysOfOtherFilesDoesNotMatter) {
  CondenseFileOptions mapped;
  mapped.rank_map = {{.path = "rank0.json", .rank = 1}};
  CondenseFileOptions longer = mapped;
  longer.rank_map.push_back({.path = "rank1.json", .rank = 0});
  EXPECT_EQ(Key(longer), Key(mapped));
}

TEST_F(HeldFileTest, AnotherPathIsAnotherFile) {
  std::filesystem::create_hard_link(path_, dir_.path() + "/rank1.json");
  const int64_t later_ns = SystemClock().UnixNs() + 60 * kNsPerS;
  EXPECT_NE(HeldFileKey(dir_.path() + "/rank1.json", {}, later_ns), Key());
}

TEST_F(HeldFileTest, WhatIsNotToBeRecognisedHasNoKey) {
  EXPECT_FALSE(HeldFileKey(path_, {}, SystemClock().UnixNs())) << "changed just now";
  EXPECT_FALSE(HeldFileKey(path_, {}, 0)) << "changed in the future";
  const int64_t later_ns = SystemClock().UnixNs() + 60 * kNsPerS;
  EXPECT_FALSE(HeldFileKey(dir_.path(), {}, later_ns)) << "a folder";
  EXPECT_FALSE(HeldFileKey(path_ + ".not-there", {}, later_ns));
  const std::string report = dir_.path() + "/a.nsys-rep";
  std::ofstream(report) << "x";
  EXPECT_FALSE(HeldFileKey(report, {}, later_ns));
  const std::string database = dir_.path() + "/a.sqlite";
  std::ofstream(database) << "x";
  EXPECT_TRUE(HeldFileKey(database, {}, later_ns));
  std::ofstream(database + "-wal") << "x";
  EXPECT_FALSE(HeldFileKey(database, {}, later_ns)) << "more of it stands in a journal";
  CondenseFileOptions selected;
  selected.selection.nvtx = "range";
  EXPECT_FALSE(Key(selected));
}

SentFile Sent() {
  SentFile sent;
  sent.report = {.path = "a.json", .format = "kineto", .status = "used", .reason = "why", .offset = 7, .sources = 2};
  sent.report.drops.count[1] = 3;
  sent.note = NoteOf(sent.report, "node0");
  sent.sources = {{.id = {1, 2}, .batches = 5}, {.id = {3, 4}, .batches = 1}};
  sent.announced = {{"a.json", "node0", {{3, RankSource::kRankMap}, {4, RankSource::kFileName}}, {}},
                    {"a.json", "", {}, {}}};
  return sent;
}

TEST(GivenByFile, IsReadBackAsItWas) {
  const SentFile sent = Sent();
  const std::optional<GivenByFile> given = UnpackGiven("a.json", PackGiven(sent));
  ASSERT_TRUE(given);
  EXPECT_EQ(given->report.path, "a.json");
  EXPECT_EQ(given->report.format, "kineto");
  EXPECT_EQ(given->report.status, "used");
  EXPECT_EQ(given->report.reason, "why");
  EXPECT_EQ(given->report.offset, 7);
  EXPECT_EQ(given->report.sources, 2);
  EXPECT_EQ(given->report.drops.count, sent.report.drops.count);
  const std::vector<SourceExtent> want = {{FileNoteId(sent.note), 0}, sent.sources[0], sent.sources[1]};
  EXPECT_EQ(given->extents, want);
  EXPECT_EQ(given->announced, sent.announced);
}

TEST(GivenByFile, OfAFileThatWasNotWhollyUsedNothingIsKept) {
  for (const char* status : {"partial", "refused", "skipped"}) {
    SentFile sent = Sent();
    sent.report.status = status;
    EXPECT_EQ(PackGiven(sent), "");
  }
}

TEST(GivenByFile, WhatIsCutIsNothing) {
  const std::string packed = PackGiven(Sent());
  for (size_t keep = 0; keep < packed.size(); ++keep) {
    EXPECT_FALSE(UnpackGiven("a.json", packed.substr(0, keep))) << keep;
  }
}

}  // namespace
}  // namespace lockstep
