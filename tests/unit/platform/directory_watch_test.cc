#include "platform/directory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kLongNs = 10'000'000'000;

class DirectoryWatchTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(watch_.Add(folder_.path()), absl::OkStatus()); }
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  const TempDir folder_ = TempDir::Create("", "lockstep-watch-test-").value();
  DirectoryWatch watch_ = DirectoryWatch::Create().value();
};

TEST_F(DirectoryWatchTest, TellsAFileWhenItIsClosed) {
  std::ofstream file(Path("a"));
  file << "text" << std::flush;
  EXPECT_THAT(watch_.Wait(0).closed, IsEmpty());
  file.close();
  EXPECT_THAT(watch_.Wait(kLongNs).closed, ElementsAre(Path("a")));
}

TEST_F(DirectoryWatchTest, TellsAFileRenamedIntoPlace) {
  const TempDir elsewhere = TempDir::Create("", "lockstep-watch-test-").value();
  std::ofstream(elsewhere.path() + "/b") << "text";
  std::filesystem::rename(elsewhere.path() + "/b", Path("b"));
  EXPECT_THAT(watch_.Wait(kLongNs).moved_in, ElementsAre(Path("b")));
}

TEST_F(DirectoryWatchTest, TellsThatAFolderHasAppeared) {
  std::filesystem::create_directory(Path("c"));
  EXPECT_TRUE(watch_.Wait(kLongNs).folders_changed);
}

TEST_F(DirectoryWatchTest, AWakeEndsTheWait) {
  watch_.Wake();
  const DirectoryEvents events = watch_.Wait(kLongNs);
  EXPECT_THAT(events.closed, IsEmpty());
}

TEST_F(DirectoryWatchTest, AFolderThatIsNotThereCannotBeWatched) {
  EXPECT_TRUE(absl::IsNotFound(watch_.Add(Path("nothing"))));
}

}  // namespace
}  // namespace lockstep
