#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "agent/readers/nsys/nsys_reader.h"
#include "tests/unit/agent/readers/nsys/nsys_fixture.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

class NsysBadInput : public NsysTest {
 protected:
  void Write(const std::string& name, std::string_view bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  // Expects a refusal whose message names the file.
  void ExpectRefused(const std::string& path, absl::StatusCode code, const std::string& words) {
    ReadPath(path);
    EXPECT_EQ(status_.code(), code) << status_.message();
    EXPECT_THAT(std::string(status_.message()), HasSubstr(path));
    EXPECT_THAT(std::string(status_.message()), HasSubstr(words));
  }
  // Bytes of a file of several hundred pages.
  std::string LargeFile() const {
    NsysBuilder file = File(NsysSchema::k3_25, "large.sqlite");
    for (int64_t i = 0; i < 3000; ++i) {
      const NsysPlace place{.correlation = i + 1};
      file.Api("cudaLaunchKernel_v7000", 100 * i, 100 * i + 10, place);
      file.Kernel(fmt::format("kernel {}", i % 50), 100 * i + 20, 100 * i + 90, place);
      file.Nvtx(59, fmt::format("range {}", i), 100 * i, 100 * i + 95, place);
    }
    file.Finish();
    return ReadFileBytes(file.path());
  }
};

TEST_F(NsysBadInput, AMissingFileIsNotFound) {
  ExpectRefused(Path("absent.sqlite"), absl::StatusCode::kNotFound, "cannot open");
}

TEST_F(NsysBadInput, ATextFileIsRefused) {
  Write("text.sqlite", std::string(5000, 'x'));
  ExpectRefused(Path("text.sqlite"), absl::StatusCode::kInvalidArgument, "not a database");
}

TEST_F(NsysBadInput, AnEmptyFileIsRefused) {
  Write("empty.sqlite", "");
  ExpectRefused(Path("empty.sqlite"), absl::StatusCode::kInvalidArgument, "no nsys export");
}

TEST_F(NsysBadInput, AForeignDatabaseIsRefusedWithAdvice) {
  {
    NsysBuilder file(Path("foreign.sqlite"), NsysSchema::k3_25);
    file.Sql("DROP TABLE StringIds; CREATE TABLE invoices (id INTEGER)");
  }
  ExpectRefused(Path("foreign.sqlite"), absl::StatusCode::kInvalidArgument, "nsys export --type sqlite");
}

TEST_F(NsysBadInput, StringIdsAloneMakeNoExport) {
  { const NsysBuilder file(Path("strings.sqlite"), NsysSchema::k3_25); }
  ExpectRefused(Path("strings.sqlite"), absl::StatusCode::kInvalidArgument, "no nsys export");
}

TEST_F(NsysBadInput, AnExportWithoutCudaTablesIsReadAndExplained) {
  NsysBuilder file = File();
  file.Captured("CAPTURE_EVENT_TYPE", "NvtxEvents").Table("ProcessStreams");
  Read(file);
  EXPECT_EQ(result_.outcome, ReadOutcome::kWhole);
  EXPECT_TRUE(sink_.devices.empty());
  EXPECT_THAT(Diagnostics(), HasSubstr("no device activity"));
  EXPECT_THAT(Diagnostics(), HasSubstr("--trace=cuda,nvtx"));
  EXPECT_THAT(Diagnostics(), HasSubstr("ProcessStreams"));
}

TEST_F(NsysBadInput, ATableWithoutANeededColumnIsReportedAndTheRestRead) {
  NsysBuilder file = File();
  file.Sql("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, deviceId INTEGER)").Memset(4, 10, 20, {});
  Read(file);
  EXPECT_EQ(result_.outcome, ReadOutcome::kPartial);
  EXPECT_THAT(result_.reason, HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL"));
  EXPECT_THAT(result_.reason, HasSubstr("no column end"));
  EXPECT_EQ(sink_.devices.size(), 1u);
}

TEST_F(NsysBadInput, AViewInPlaceOfATableIsNotRead) {
  NsysBuilder file = File();
  file.Sql("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS \"end\", 0 AS deviceId");
  Read(file);
  EXPECT_TRUE(sink_.devices.empty());
  EXPECT_EQ(result_.outcome, ReadOutcome::kWhole);
}

TEST_F(NsysBadInput, StringIdsWithoutAKeyStillGiveNames) {
  NsysBuilder file(Path("nokey.sqlite"), NsysSchema::k3_25);
  file.Sql("DROP TABLE StringIds; CREATE TABLE StringIds (id INTEGER, value TEXT)");
  file.Session(kEpoch, 100);
  file.Sql("INSERT INTO StringIds VALUES (900, 'other'), (40, 'gemm')");
  file.Add("CUPTI_ACTIVITY_KIND_KERNEL", {{"start", 1}, {"end", 2}, {"demangledName", 40}});
  Read(file);
  EXPECT_EQ(Name(sink_.devices.at(0).name), "gemm");
}

TEST_F(NsysBadInput, AnEmptyTableChangesNothing) {
  NsysBuilder file = File();
  file.Table("CUPTI_ACTIVITY_KIND_KERNEL").Table("NVTX_EVENTS").Table("CUPTI_ACTIVITY_KIND_RUNTIME");
  Read(file);
  EXPECT_EQ(result_.outcome, ReadOutcome::kWhole);
}

TEST_F(NsysBadInput, AJournalBesideTheFileIsAWarning) {
  NsysBuilder file = File();
  file.Finish();
  Write("file.sqlite-journal", "rows on their way");
  Read(file);
  EXPECT_THAT(Diagnostics(), HasSubstr("journal"));
}

TEST_F(NsysBadInput, ATruncatedFileGivesTheRowsBeforeTheCut) {
  const std::string whole = LargeFile();
  Write("cut.sqlite", std::string_view(whole).substr(0, whole.size() / 2));
  ReadPath(Path("cut.sqlite"));
  ASSERT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(result_.outcome, ReadOutcome::kPartial);
  EXPECT_THAT(result_.reason, HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL was read up to row"));
  EXPECT_GT(sink_.CountOf(DropReason::kTruncatedTail), 0);
  EXPECT_GE(result_.damage_offset, 0);
  ASSERT_GT(sink_.devices.size(), 500u);
  ASSERT_LT(sink_.devices.size(), 3000u);
  for (size_t i = 0; i < sink_.devices.size(); ++i) {
    EXPECT_EQ(sink_.devices[i].start_ns, 100 * static_cast<int64_t>(i) + 20);
  }
}

TEST_F(NsysBadInput, AnyCutGivesAPrefixOrARefusal) {
  const std::string whole = LargeFile();
  size_t last = 0;
  for (size_t size = 0; size < whole.size(); size += whole.size() / 61) {
    Write("cut.sqlite", std::string_view(whole).substr(0, size));
    sink_ = CollectingSink();
    ReadPath(Path("cut.sqlite"));
    if (!status_.ok()) {
      EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument) << status_.message();
      continue;
    }
    EXPECT_EQ(result_.outcome, ReadOutcome::kPartial) << size;
    EXPECT_GE(sink_.devices.size(), last) << size;
    last = sink_.devices.size();
  }
  EXPECT_GT(last, 2500u);
}

TEST_F(NsysBadInput, ADamagedPageLosesTheRestOfItsTableOnly) {
  std::string bytes = LargeFile();
  // The leaf that holds the name of one particular range: overwritten as a whole.
  const size_t page = bytes.find("range 1500") / 4096 * 4096;
  bytes.replace(page, 4096, std::string(4096, '\x7f'));
  Write("damaged.sqlite", bytes);
  ReadPath(Path("damaged.sqlite"));
  ASSERT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(result_.outcome, ReadOutcome::kPartial);
  EXPECT_EQ(sink_.devices.size(), 3000u);
  EXPECT_EQ(sink_.apis.size(), 3000u);
  EXPECT_GT(sink_.hosts.size(), 1000u);
  EXPECT_LT(sink_.hosts.size(), 1501u);
  EXPECT_THAT(result_.reason, HasSubstr("NVTX_EVENTS"));
}

TEST_F(NsysBadInput, FlippedBytesNeverCrash) {
  const std::string whole = LargeFile();
  uint64_t state = 88172645463325252ULL;
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole;
    for (int flip = 0; flip < 40; ++flip) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      bytes[static_cast<size_t>(state % bytes.size())] = static_cast<char>(state >> 56);
    }
    auto db = Database::OpenBytes(bytes);
    ASSERT_TRUE(db.ok());
    sink_ = CollectingSink();
    const auto read = nsys::ReadNsysDatabase(*db, static_cast<int64_t>(bytes.size()), {}, sink_);
    EXPECT_LE(sink_.devices.size(), 3000u);
    if (!read.ok()) {
      EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << read.status().message();
    }
  }
}

TEST_F(NsysBadInput, AnErrorOfTheSinkEndsTheReadWithThatError) {
  NsysBuilder file = File();
  file.Kernel("a", 1, 2, {}).Kernel("b", 3, 4, {}).Kernel("c", 5, 6, {});
  file.Finish();
  sink_.FailAfter(1, absl::ResourceExhaustedError("no room to sort"));
  ReadPath(file.path());
  EXPECT_EQ(status_, absl::ResourceExhaustedError("no room to sort"));
  EXPECT_LT(sink_.devices.size(), 3u);
}

TEST_F(NsysBadInput, ReadingCanBeCancelled) {
  NsysBuilder file = File();
  file.Table("CUPTI_ACTIVITY_KIND_RUNTIME");
  file.Sql(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", eventClass, nameId, returnValue) WITH RECURSIVE n(i) "
      "AS "
      "(SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT i, i + 1, 0, 0, 0 FROM n");
  file.Finish();
  ReadPath(file.path(), {.progress = [](int64_t rows, int64_t) { return rows < 100'000; }});
  EXPECT_EQ(status_.code(), absl::StatusCode::kCancelled);
  EXPECT_LT(sink_.apis.size(), 200'000u);
}

TEST_F(NsysBadInput, PathsWithSignsOfUrisAreOpened) {
  NsysBuilder file(Path("100% a?b#c.sqlite"), NsysSchema::k3_25);
  file.Session(kEpoch, 100).Kernel("gemm", 1, 2, {});
  Read(file);
  EXPECT_EQ(sink_.devices.size(), 1u);
}

}  // namespace
}  // namespace lockstep
