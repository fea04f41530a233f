#include "agent/pipeline/nsys_export.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

// Puts a pretended nsys alone on the PATH for the time of one test.
class NsysExportTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("nsys_export_" + test);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "tmp");
    old_path_ = ::getenv("PATH");
    ::setenv("PATH", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::setenv("PATH", old_path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void InstallNsys(const std::string& script) {
    const auto program = folder_ / "nsys";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::string Tmp() const { return folder_ / "tmp"; }

  std::filesystem::path folder_;
  std::string old_path_;
};

TEST_F(NsysExportTest, RunsTheInstalledToolAndCleansUp) {
  InstallNsys("while [ $# -gt 0 ]; do [ \"$1\" = --output ] && echo exported > \"$2\"; shift; done");
  std::string path;
  {
    const auto exported = NsysExport::Make("report.nsys-rep", Tmp());
    ASSERT_TRUE(exported.ok()) << exported.status();
    path = exported->path();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::is_empty(Tmp()));
}

TEST_F(NsysExportTest, WithoutTheToolTheMessageSaysHowToExport) {
  const auto exported = NsysExport::Make("report.nsys-rep", Tmp());
  EXPECT_EQ(exported.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(exported.status().message()).find("nsys export --type sqlite"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(Tmp()));
}

TEST_F(NsysExportTest, AFailureOfTheToolIsAnError) {
  InstallNsys("exit 3");
  const auto exported = NsysExport::Make("report.nsys-rep", Tmp());
  EXPECT_EQ(exported.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(exported.status().message()).find("exit code 3"), std::string::npos);
}

TEST(NsysReport, IsToldByItsName) {
  EXPECT_TRUE(IsNsysReport("a/b.nsys-rep"));
  EXPECT_TRUE(IsNsysReport("b.qdrep"));
  EXPECT_FALSE(IsNsysReport("b.sqlite"));
}

}  // namespace
}  // namespace lockstep
