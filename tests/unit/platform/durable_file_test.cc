#include "platform/durable_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "platform/file_system.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

class DurableFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  const TempDir folder_ = TempDir::Create("", "lockstep-durable-test-").value();
};

TEST_F(DurableFileTest, GoesOnBehindWhatIsThere) {
  {
    auto file = DurableFile::Open(Path("f")).value();
    ASSERT_EQ(file.Append("one"), absl::OkStatus());
    ASSERT_EQ(file.Sync(), absl::OkStatus());
  }
  auto file = DurableFile::Open(Path("f")).value();
  EXPECT_EQ(file.size(), 3);
  ASSERT_EQ(file.Append("two"), absl::OkStatus());
  EXPECT_EQ(file.ReadAt(1, 100).value(), "netwo");
}

TEST_F(DurableFileTest, AMissingFileIsNotMadeByReading) {
  EXPECT_TRUE(absl::IsNotFound(DurableFile::OpenExisting(Path("f")).status()));
}

TEST_F(DurableFileTest, AFullDiskLeavesTheFileAsItWas) {
  auto full = DurableFile::OpenExisting("/dev/full");
  ASSERT_TRUE(full.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(full->Append("x")));
  EXPECT_EQ(full->size(), 0);
}

TEST_F(DurableFileTest, ALockIsHeldByOneUntilItGoes) {
  std::optional<FileLock> first = FileLock::Take(Path("lock")).value();
  EXPECT_TRUE(absl::IsAlreadyExists(FileLock::Take(Path("lock")).status()));
  first.reset();
  EXPECT_TRUE(FileLock::Take(Path("lock")).ok());
}

TEST_F(DurableFileTest, ReplacingGivesTheNewContentAndLeavesNothingElse) {
  ASSERT_EQ(ReplaceFile(Path("f"), "old and long"), absl::OkStatus());
  ASSERT_EQ(ReplaceFile(Path("f"), "new"), absl::OkStatus());
  EXPECT_EQ(ReadSmallFile(Path("f"), 100).value(), "new");
  EXPECT_THAT(NamesIn(folder_.path()).value(), ElementsAre("f"));
}

TEST_F(DurableFileTest, RemovingWhatIsNotThereIsGood) { EXPECT_EQ(RemoveFile(Path("f")), absl::OkStatus()); }

TEST_F(DurableFileTest, AFolderIsMadeWithItsParents) {
  ASSERT_EQ(MakeFolder(Path("a/b/c")), absl::OkStatus());
  EXPECT_EQ(MakeFolder(Path("a/b/c")), absl::OkStatus());
  EXPECT_TRUE(FileLock::Take(Path("a/b/c/lock")).ok());
}

}  // namespace
}  // namespace lockstep
