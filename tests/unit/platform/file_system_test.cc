#include "platform/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/temp_dir.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class ListInputsTest : public testing::Test {
 protected:
  std::string Make(const std::string& name) {
    const fs::path path = fs::path(folder_.path()) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << name;
    return path.string();
  }
  const TempDir folder_ = TempDir::Create("", "lockstep-list-").value();
};

TEST_F(ListInputsTest, AFolderStandsForItsFilesInNaturalOrder) {
  const std::string ten = Make("rank10.json");
  const std::string two = Make("rank2.json");
  const std::string deep = Make("b/rank1.json");
  EXPECT_THAT(ListInputs({folder_.path()}).files, ElementsAre(deep, two, ten));
}

TEST_F(ListInputsTest, AFileGivenTwiceIsListedOnce) {
  const std::string file = Make("a.json");
  EXPECT_THAT(
      ListInputs({file, folder_.path(), folder_.path() + "/../" + fs::path(folder_.path()).filename().string()}).files,
      ElementsAre(file));
}

TEST_F(ListInputsTest, AMissingPathIsAProblemAndTheRestIsListed) {
  const std::string file = Make("a.json");
  const InputFiles found = ListInputs({folder_.path() + "/none", file});
  EXPECT_THAT(found.files, ElementsAre(file));
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].path, folder_.path() + "/none");
  EXPECT_EQ(found.problems[0].reason, "no such file or folder");
}

TEST_F(ListInputsTest, HiddenFilesOfFoldersAreLeftOut) {
  Make(".hidden/a.json");
  Make(".b.json");
  EXPECT_THAT(ListInputs({folder_.path()}).files, IsEmpty());
}

TEST_F(ListInputsTest, ALoopOfLinksEnds) {
  const std::string file = Make("d/a.json");
  fs::create_directory_symlink(folder_.path(), folder_.path() + "/d/up");
  EXPECT_THAT(ListInputs({folder_.path()}).files, ElementsAre(file));
}

TEST_F(ListInputsTest, ALinkToNothingIsAProblem) {
  fs::create_symlink(folder_.path() + "/none", folder_.path() + "/link");
  const InputFiles found = ListInputs({folder_.path()});
  EXPECT_THAT(found.files, IsEmpty());
  EXPECT_EQ(found.problems.size(), 1U);
}

TEST(FreeBytes, OfAPlaceThatIsNotThereIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(FreeBytes("/nowhere/at/all").status()));
}

TEST(ReadSmallFile, RefusesMoreThanTheLimit) {
  const TempDir folder = TempDir::Create("", "lockstep-read-").value();
  const std::string path = folder.path() + "/f";
  std::ofstream(path) << "12345";
  EXPECT_EQ(ReadSmallFile(path, 5).value(), "12345");
  EXPECT_TRUE(absl::IsInvalidArgument(ReadSmallFile(path, 4).status()));
}

TEST(TempDir, IsGoneWithItsContentAfterwards) {
  std::string path;
  {
    const TempDir folder = TempDir::Create("", "lockstep-temp-").value();
    path = folder.path();
    fs::create_directories(path + "/a/b");
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TempDir, SaysWhereItCannotBeMade) {
  const auto folder = TempDir::Create("/nowhere/at/all", "x");
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(std::string(folder.status().message()), testing::HasSubstr("/nowhere/at/all/x"));
}

TEST_F(ListInputsTest, AFolderIsInsideAnotherWhateverLinksItIsNamedBy) {
  Make("a/b/file");
  const std::string top = folder_.path();
  fs::create_directory_symlink(top + "/a", top + "/link");
  EXPECT_TRUE(IsInside(top + "/link/b/", top + "/a/"));
  EXPECT_TRUE(IsInside(top + "/a", top + "/a/b/.."));
  EXPECT_TRUE(IsInside(top + "/a/not/there/", top + "/a"));
  EXPECT_FALSE(IsInside(top + "/ab", top + "/a"));
  EXPECT_FALSE(IsInside(top, top + "/a"));
}

TEST_F(ListInputsTest, FoldersAreEachNamedOnceWithoutThoseInsideOthers) {
  Make("a/b/file");
  Make("a.c/file");
  const std::string top = fs::canonical(folder_.path()).string();
  fs::create_directory_symlink(top + "/a", top + "/link");
  EXPECT_THAT(OutermostFolders({top + "/a/", top + "/a", top + "//a/.", top + "/link", top + "/link/b", top + "/a.c",
                                top + "/a/b/"}),
              ElementsAre(top + "/a", top + "/a.c"));
  EXPECT_THAT(OutermostFolders({"/", top}), ElementsAre("/"));
  EXPECT_THAT(OutermostFolders({top + "/not/there/", top + "/not/there"}), ElementsAre(top + "/not/there"));
}

}  // namespace
}  // namespace lockstep
