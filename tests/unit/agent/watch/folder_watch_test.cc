#include "agent/watch/folder_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class FolderWatchTest : public testing::Test {
 protected:
  FolderWatch Watch(const std::string& pattern = "") {
    return FolderWatch({.folders = folders_,
                        .pattern = pattern,
                        .is_news = [this](const FileKey& key) { return !taken_.contains(key.path); },
                        .times = {.seen_quiet_ns = 1'000'000, .closed_quiet_ns = 1'000'000}});
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Write(const std::string& name) { std::ofstream(Path(name)) << "text"; }
  // What is finished, in the end, when so many are.
  std::vector<std::string> Await(FolderWatch& watch, size_t files) {
    std::vector<std::string> all;
    for (int i = 0; i < 1000 && all.size() < files; ++i) {
      for (const std::string& path : watch.Next(100'000'000)) {
        taken_.insert(path);
        all.push_back(path);
      }
    }
    return all;
  }

  const TempDir folder_ = TempDir::Create("", "lockstep-folder-test-").value();
  std::vector<std::string> folders_ = {folder_.path()};
  std::set<std::string> taken_;
};

TEST_F(FolderWatchTest, FindsWhatIsThereAndWhatComes) {
  Write("a");
  FolderWatch watch = Watch();
  EXPECT_THAT(Await(watch, 1), ElementsAre(Path("a")));
  Write("b");
  EXPECT_THAT(Await(watch, 1), ElementsAre(Path("b")));
}

TEST_F(FolderWatchTest, AFileHasOnePathHoweverItsFolderIsNamed) {
  std::filesystem::create_directories(Path("x/y"));
  std::filesystem::create_directory_symlink(Path("x"), Path("link"));
  folders_ = {Path("x") + "/", Path("x"), Path("link"), Path("x/y")};
  FolderWatch watch = Watch();
  Write("x/y/a");
  Write("x/b");
  const std::string top = std::filesystem::canonical(folder_.path()).string();
  EXPECT_THAT(Await(watch, 2), UnorderedElementsAre(top + "/x/y/a", top + "/x/b"));
  Write("x/y/c");
  EXPECT_THAT(Await(watch, 1), ElementsAre(top + "/x/y/c"));
  EXPECT_THAT(watch.Next(20'000'000), IsEmpty());
  EXPECT_EQ(taken_.size(), 3U);
}

TEST_F(FolderWatchTest, FindsFilesInFoldersThatAppear) {
  FolderWatch watch = Watch();
  Await(watch, 0);
  EXPECT_THAT(watch.Next(0), IsEmpty());
  std::filesystem::create_directories(Path("x/y"));
  Write("x/y/a");
  EXPECT_THAT(Await(watch, 1), ElementsAre(Path("x/y/a")));
  Write("x/y/b");
  EXPECT_THAT(Await(watch, 1), ElementsAre(Path("x/y/b")));
}

TEST_F(FolderWatchTest, TakesOnlyNamesThatFit) {
  for (const char* name : {"a.json.gz", "b.txt", ".hidden.json.gz", "c.json.gz", "d.json.gz-journal"}) {
    Write(name);
  }
  FolderWatch watch = Watch("*.json.gz*");
  EXPECT_THAT(Await(watch, 2), UnorderedElementsAre(Path("a.json.gz"), Path("c.json.gz")));
  EXPECT_THAT(watch.Next(10'000'000), IsEmpty());
}

TEST_F(FolderWatchTest, PassesOverWhatIsNoNews) {
  Write("a");
  Write("b");
  taken_.insert(Path("a"));
  FolderWatch watch = Watch();
  EXPECT_THAT(Await(watch, 1), ElementsAre(Path("b")));
}

TEST_F(FolderWatchTest, ADatabaseIsTakenOnceItsJournalIsGone) {
  Write("a.sqlite");
  Write("a.sqlite-wal");
  FolderWatch watch = Watch();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(watch.Next(2'000'000), IsEmpty());
  }
  std::filesystem::remove(Path("a.sqlite-wal"));
  EXPECT_THAT(Await(watch, 1), ElementsAre(Path("a.sqlite")));
}

TEST(KeyOf, TellsFilesOnly) {
  const TempDir folder = TempDir::Create("", "lockstep-folder-test-").value();
  EXPECT_EQ(KeyOf(folder.path()), std::nullopt);
  EXPECT_EQ(KeyOf(folder.path() + "/none"), std::nullopt);
  std::ofstream(folder.path() + "/f") << "12345";
  EXPECT_EQ(KeyOf(folder.path() + "/f")->size_bytes, 5);
}

}  // namespace
}  // namespace lockstep
