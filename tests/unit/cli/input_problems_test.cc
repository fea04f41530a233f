#include "cli/input_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

FileReport File(const std::string& path, const std::string& status, const std::string& reason = "no trace") {
  FileReport file;
  file.path = path;
  file.status = status;
  file.reason = reason;
  return file;
}

TEST(ProblemsOf, NamesEachFileThatLooksLikeATraceAndCountsTheOthers) {
  EXPECT_THAT(ProblemsOf({File("a/rank0.json", "used", "")}, {"a"}), IsEmpty());
  EXPECT_THAT(
      ProblemsOf({File("a/b.json", "refused", "it is damaged"), File("a/README", "skipped")}, {"a"}),
      ElementsAre("a/b.json: refused: it is damaged", "1 other file was not used (--view quality lists all files)"));
}

TEST(ProblemsOf, NamesAFileThatThePersonNamed) {
  EXPECT_THAT(ProblemsOf({File("README", "skipped")}, {"README"}), ElementsAre("README: skipped: no trace"));
}

TEST(ProblemsOf, NamesThePathOnce) {
  EXPECT_THAT(ProblemsOf({File("a.json", "refused", "a.json: permission denied")}, {}),
              ElementsAre("a.json: refused: permission denied"));
}

TEST(ProblemsOf, JoinsFilesWithTheSameProblem) {
  std::vector<FileReport> files;
  for (const char* name : {"1.json", "2.json", "3.json", "4.json", "5.json"}) files.push_back(File(name, "skipped"));
  EXPECT_THAT(ProblemsOf(files, {}), ElementsAre("1.json, 2.json, 3.json and 2 more: skipped: no trace"));
}

TEST(ProblemsOf, AreFewLinesHoweverManyFilesThereAre) {
  std::vector<FileReport> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back(File(std::to_string(i) + ".json", "refused", "reason " + std::to_string(i)));
  }
  EXPECT_THAT(ProblemsOf(files, {}), SizeIs(11));
  EXPECT_THAT(ProblemsOf(files, {}).back(), StartsWith("90 other files were not used"));
}

TEST(ProblemsOf, SayNothingOfTheTruthOfASimulatedRun) {
  const FileReport truth = File("run/truth.json", "skipped");
  EXPECT_THAT(ProblemsOf({truth, File("run/instances.csv.gz", "skipped")}, {"run"}), IsEmpty());
  EXPECT_THAT(ProblemsOf({truth}, {"run"}), SizeIs(1)) << "any file of that name";
  EXPECT_THAT(ProblemsOf({truth, File("run/instances.csv.gz", "skipped")}, {"run/truth.json"}), SizeIs(1));
}

TEST(NoTraceIn, NamesTheFolderAndWhatIsRead) {
  EXPECT_THAT(std::string(NoTraceIn({"traces/"}, {}).message()),
              StartsWith("traces/ holds no trace: there is no file in it; lockstep reads Nsight Systems exports"));
  EXPECT_THAT(std::string(NoTraceIn({"a", "b"}, {.files = {"a/x"}, .problems = {}}).message()),
              StartsWith("a, b hold no trace: lockstep reads"));
  EXPECT_THAT(std::string(NoTraceIn({"a"}, {.files = {}, .problems = {{"a", "no such file or folder"}}}).message()),
              StartsWith("none of the inputs can be read; lockstep reads"));
}

}  // namespace
}  // namespace lockstep
