#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "agent/readers/trace_reader.h"

namespace lockstep {
namespace {

class Detect : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "detect_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  Detection Of(const std::string& bytes, const std::string& name = "file") {
    std::ofstream(dir_ / name, std::ios::binary) << bytes;
    return DetectFormat(dir_ / name);
  }
  // "" when no format claims the bytes.
  std::string FormatOf(const std::string& bytes) {
    const Detection detection = Of(bytes);
    return detection.format == nullptr ? "" : std::string(detection.format->name);
  }

  std::filesystem::path dir_;
};

TEST_F(Detect, KinetoObjectsAreToldByTheirKeys) {
  EXPECT_EQ(FormatOf("\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": ["), "kineto");
  EXPECT_EQ(FormatOf("\xEF\xBB\xBF{\"metadata\":{\"a\":1},\"traceEvents\":["), "kineto");
  EXPECT_EQ(FormatOf("{\"traceEvents\":[]}"), "kineto");
}

TEST_F(Detect, ABareArrayOfEventsIsKineto) {
  EXPECT_EQ(FormatOf("[{\"name\":\"x\",\"ph\":\"M\"},"), "kineto");
  EXPECT_EQ(FormatOf("[1,2]"), "");
}

TEST_F(Detect, AHugeValueBeforeTheEventsIsGivenTheBenefitOfTheDoubt) {
  EXPECT_EQ(FormatOf("{\"distributedInfo\":{\"pg_config\":[" + std::string(100'000, ' ')), "kineto");
}

TEST_F(Detect, SqliteIsNsys) {
  EXPECT_EQ(FormatOf(std::string("SQLite format 3\0", 16) + std::string(84, '\0')), "nsys");
}

TEST_F(Detect, GzipIsLookedInto) {
  const std::string path = dir_ / "trace.bin";
  gzFile file = gzopen(path.c_str(), "wb");
  gzputs(file, "{\"traceEvents\":[{\"ph\":\"X\"}]}");
  gzclose(file);
  const Detection detection = DetectFormat(path);
  ASSERT_EQ(detection.verdict, FileVerdict::kTrace) << detection.reason;
  EXPECT_EQ(detection.format->name, "kineto");
}

TEST_F(Detect, OtherFilesAreNoTracesAndSayWhatTheyAre) {
  struct Case {
    std::string bytes;
    const char* says;
  };
  for (const Case& c : {Case{"", "empty"}, Case{"# notes\n", "neither"}, Case{"{\"a\":1}", "no 'traceEvents'"},
                        Case{"{\"schema\":\"1.0.1\",\"nodes\":[{\"id\":1},", "no 'traceEvents'"},
                        Case{"PK\x03\x04", "zip"}, Case{"\x28\xB5\x2F\xFD....", "zstd"},
                        Case{"\x80\x02}q", "flight recorder"}, Case{std::string(257, 'x') + "ustar", "tar"}}) {
    const Detection detection = Of(c.bytes);
    EXPECT_EQ(detection.verdict, FileVerdict::kNotATrace);
    EXPECT_EQ(detection.format, nullptr);
    EXPECT_NE(detection.reason.find(c.says), std::string::npos) << detection.reason;
  }
}

TEST_F(Detect, AnNsysReportSaysHowToExportIt) {
  EXPECT_NE(Of("binary", "run.nsys-rep").reason.find("nsys export"), std::string::npos);
}

TEST_F(Detect, WhatCannotBeOpenedIsUnreadable) {
  EXPECT_EQ(DetectFormat(dir_ / "none").verdict, FileVerdict::kUnreadable);
  EXPECT_EQ(DetectFormat(dir_).verdict, FileVerdict::kUnreadable);
}

TEST(DetectReal, EveryReferenceFileIsToldByItsContent) {
  constexpr const char* kReference = "../shared/reference/expected.json";
  std::ifstream file(kReference);
  if (!file) GTEST_SKIP() << "SKIPPED: no reference results at " << kReference;
  const nlohmann::json reference = nlohmann::json::parse(file);
  for (const auto& [path, expected] : reference["files"].items()) {
    const Detection detection = DetectFormat("../shared/data/" + path);
    const std::string format = expected["format"];
    const std::string wanted = format == "kineto" ? "kineto" : format == "nsys_sqlite" ? "nsys" : "";
    EXPECT_EQ(detection.format == nullptr ? "" : std::string(detection.format->name), wanted) << path;
  }
}

}  // namespace
}  // namespace lockstep
