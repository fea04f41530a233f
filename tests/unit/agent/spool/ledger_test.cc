#include "agent/spool/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "platform/log.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Hash128 kSource = {0, 1};
const Hash128 kOther = {0, 2};
const Hash128 kPrint = {7, 7};

FileKey KeyFor(const std::string& path, int64_t size_bytes = 10) {
  return {.path = path, .size_bytes = size_bytes, .modified_ns = 5, .inode = 3};
}
Hash128 Print() { return kPrint; }

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() { SetLogLevel(LogLevel::kOff); }
  absl::StatusOr<std::unique_ptr<Ledger>> TryOpen(const std::string& run = "run") {
    return Ledger::Open(path_, run, [this](const std::string& path) { return path != gone_; });
  }
  std::unique_ptr<Ledger> Open() { return TryOpen().value(); }
  static void Spool(Ledger& ledger, const std::string& path, std::vector<SpooledSource> sources) {
    ledger.Take(KeyFor(path), kPrint);
    ledger.Spooled(path, std::move(sources));
  }

  const TempDir folder_ = TempDir::Create("", "lockstep-ledger-test-").value();
  const std::string path_ = folder_.path() + "/ledger";
  std::string gone_;
};

TEST_F(LedgerTest, ASpooledFileIsNotNewsAfterARestart) {
  Spool(*Open(), "a", {{kSource, 3}});
  const auto ledger = Open();
  EXPECT_FALSE(ledger->IsNews(KeyFor("a"), Print));
  EXPECT_TRUE(ledger->IsNews(KeyFor("b"), Print));
}

TEST_F(LedgerTest, AFileInWorkIsNewsAfterARestartOnly) {
  {
    const auto ledger = Open();
    ledger->Take(KeyFor("a"), kPrint);
    EXPECT_FALSE(ledger->IsNews(KeyFor("a"), Print));
    EXPECT_THAT(ledger->LeftInWork(), IsEmpty());
  }
  const auto ledger = Open();
  EXPECT_TRUE(ledger->IsNews(KeyFor("a"), Print));
  EXPECT_THAT(ledger->LeftInWork(), ElementsAre("a"));
}

TEST_F(LedgerTest, AChangedFileIsNews) {
  const auto ledger = Open();
  Spool(*ledger, "a", {});
  EXPECT_TRUE(ledger->IsNews(KeyFor("a", 11), Print));
}

TEST_F(LedgerTest, AnotherInodeIsNewsIfTheContentIsAnother) {
  const auto ledger = Open();
  Spool(*ledger, "a", {});
  FileKey moved = KeyFor("a");
  moved.inode = 99;
  EXPECT_FALSE(ledger->IsNews(moved, Print));
  EXPECT_TRUE(ledger->IsNews(moved, [] { return Hash128{1, 1}; }));
}

TEST_F(LedgerTest, AFailedFileIsNews) {
  const auto ledger = Open();
  ledger->Take(KeyFor("a"), kPrint);
  ledger->Failed("a", "no room");
  EXPECT_TRUE(ledger->IsNews(KeyFor("a"), Print));
}

TEST_F(LedgerTest, AFileIsDeliveredWithItsLastSource) {
  {
    const auto ledger = Open();
    Spool(*ledger, "a", {{kSource, 3}, {kOther, 1}});
    ledger->Acknowledge(kSource, kAllAcknowledged);
    EXPECT_EQ(ledger->StateOf("a"), FileState::kSpooled);
  }
  {
    const auto ledger = Open();
    ledger->Acknowledge(kOther, 0);
    EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
  }
  const auto ledger = Open();
  EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
  EXPECT_THAT(ledger->acknowledged(), IsEmpty());
}

TEST_F(LedgerTest, AFileWhoseSourcesWereAcknowledgedBeforeIsDeliveredAtOnce) {
  const auto ledger = Open();
  ledger->Acknowledge(kSource, kAllAcknowledged);
  Spool(*ledger, "a", {{kSource, 3}});
  EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
}

TEST_F(LedgerTest, ADeliveredFileTakenAgainIsDeliveredAtOnce) {
  const auto ledger = Open();
  Spool(*ledger, "a", {{kSource, 3}});
  ledger->Acknowledge(kSource, kAllAcknowledged);
  Spool(*ledger, "a", {{kSource, 3}});
  EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
  const auto nothing_kept = [](const Hash128&, int64_t) { return false; };
  EXPECT_THAT(ledger->ForgetUnless(nothing_kept), IsEmpty());
}

TEST_F(LedgerTest, WhatIsAcknowledgedIsKnownAfterARestart) {
  {
    const auto ledger = Open();
    Spool(*ledger, "a", {{kSource, 3}});
    ledger->Acknowledge(kSource, 2);
  }
  {
    const auto ledger = Open();
    Spool(*ledger, "b", {{kOther, 9}});
    ledger->Acknowledge(kOther, 4);
    ledger->Acknowledge(kOther, 3);
  }
  EXPECT_THAT(Open()->acknowledged(), ElementsAre(std::pair(kOther, int64_t{3})));
}

TEST_F(LedgerTest, ForgettingASourceForgetsItsFiles) {
  const auto ledger = Open();
  Spool(*ledger, "a", {{kSource, 3}});
  Spool(*ledger, "b", {{kSource, 3}, {kOther, 1}});
  Spool(*ledger, "c", {{kOther, 1}});
  EXPECT_THAT(ledger->Forget(kSource), ElementsAre("a", "b"));
  EXPECT_TRUE(ledger->IsNews(KeyFor("a"), Print));
  EXPECT_FALSE(Open()->IsNews(KeyFor("c"), Print));
}

TEST_F(LedgerTest, FilesThatAreNotWholeAreForgotten) {
  const auto ledger = Open();
  Spool(*ledger, "acknowledged", {{kSource, 3}});
  ledger->Acknowledge(kSource, 2);
  Spool(*ledger, "kept", {{kOther, 2}});
  Spool(*ledger, "lost", {{kOther, 5}});
  const auto lost = ledger->ForgetUnless([](const Hash128&, int64_t batches) { return batches <= 2; });
  EXPECT_THAT(lost, ElementsAre("lost"));
}

TEST_F(LedgerTest, ADeliveredFileThatIsGoneIsRememberedOnlyAsLongAsTheLedgerIsSmall) {
  Spool(*Open(), "a", {});
  gone_ = "a";
  EXPECT_EQ(Open()->StateOf("a"), FileState::kDelivered) << "so that its loss can be told";
  Spool(*Open(), "b", {});
  Spool(*Open(), std::string(2 << 20, 'x'), {});
  const auto ledger = Open();
  EXPECT_EQ(ledger->StateOf("a"), std::nullopt);
  EXPECT_EQ(ledger->StateOf("b"), FileState::kDelivered);
}

TEST_F(LedgerTest, AnotherRunIsRefusedWhileSomethingIsUndelivered) {
  Spool(*Open(), "a", {{kSource, 3}});
  EXPECT_TRUE(absl::IsFailedPrecondition(TryOpen("other").status()));
  Open()->Acknowledge(kSource, kAllAcknowledged);
  const auto other = TryOpen("other");
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE((*other)->IsNews(KeyFor("a"), Print));
}

TEST_F(LedgerTest, OpeningWritesItAnewWithoutWhatIsOutdated) {
  {
    const auto ledger = Open();
    for (int i = 0; i < 100; ++i) {
      ledger->Acknowledge(kSource, i);
    }
  }
  const auto before = std::ifstream(path_, std::ios::ate).tellg();
  Open();
  EXPECT_LT(std::ifstream(path_, std::ios::ate).tellg(), before / 10);
}

// A damaged entry makes a file news again; it never makes one forgotten, and never hides another.
TEST_F(LedgerTest, EveryFlippedByteIsToldAndCostsAtMostItsEntry) {
  {
    const auto ledger = Open();
    Spool(*ledger, "a", {{kSource, 1}});
    Spool(*ledger, "b", {{kOther, 1}});
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const auto ledger = Open();
    ASSERT_GT(ledger->damaged_bytes(), 0) << at;
    ASSERT_LE(ledger->IsNews(KeyFor("a"), Print) + ledger->IsNews(KeyFor("b"), Print), 1) << at;
  }
}

TEST_F(LedgerTest, ItDoesNotGrowWithWhatPassesThroughIt) {
  const auto ledger = Ledger::Open(path_, "run", [](const std::string&) { return false; }).value();
  for (uint64_t i = 0; i < 300; ++i) {
    const std::string path = std::to_string(i) + std::string(8000, 'x');
    Spool(*ledger, path, {{{1, i}, 1}});
    ledger->Acknowledge({1, i}, kAllAcknowledged);
    ledger->Settle({1, i});
  }
  EXPECT_THAT(ledger->acknowledged(), IsEmpty());
  EXPECT_LT(ledger->file_bytes(), 2 << 20) << "of the 7 MB that were written";
}

TEST_F(LedgerTest, AcknowledgingForEverDoesNotGrowTheFile) {
  const auto ledger = Open();
  Spool(*ledger, "a", {{kSource, 1'000'000}});
  for (int64_t i = 0; i < 100'000; ++i) {
    ledger->Acknowledge(kSource, i);
    if (i % 1000 == 0) {
      ASSERT_EQ(ledger->Sync(), absl::OkStatus());
    }
  }
  EXPECT_LT(ledger->file_bytes(), 2 << 20);
  EXPECT_THAT(Open()->acknowledged(), ElementsAre(std::pair(kSource, int64_t{99'999})));
}

TEST_F(LedgerTest, WhatAnUndeliveredFileNeedsIsNotSettled) {
  const auto ledger = Open();
  Spool(*ledger, "a", {{kSource, 3}, {kOther, 1}});
  ledger->Acknowledge(kSource, kAllAcknowledged);
  ledger->Settle(kSource);
  ledger->Acknowledge(kOther, kAllAcknowledged);
  EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
}

TEST_F(LedgerTest, WhatCouldNotBeWrittenHoldsTheSyncUntilItIs) {
  const auto ledger = Open();
  Spool(*ledger, "a", {{kSource, 3}});
  const std::string away = folder_.path() + ".away";
  std::filesystem::rename(folder_.path(), away);
  for (int64_t i = 0; i < 40'000; ++i) {  // so that it wants to be written anew
    ledger->Acknowledge(kSource, i);
  }
  EXPECT_EQ(ledger->Sync(), absl::OkStatus()) << "the open file is as good as before";
  std::filesystem::rename(away, folder_.path());
  const rlimit small{.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  ledger->Acknowledge(kSource, kAllAcknowledged);
  EXPECT_FALSE(ledger->Sync().ok());
  EXPECT_FALSE(ledger->Sync().ok());
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(ledger->Sync(), absl::OkStatus());
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(Open()->StateOf("a"), FileState::kDelivered);
}

TEST_F(LedgerTest, WhatWasGivenIsKnownAfterARestartAndCanBeTakenBack) {
  {
    const auto ledger = Open();
    Spool(*ledger, "a", {{kSource, 3}, {kPrint, 1}});
    ledger->Acknowledge(kSource, kAllAcknowledged);
    ledger->Acknowledge(kPrint, kAllAcknowledged);
    Spool(*ledger, "b", {{kOther, 5}});
    ledger->Acknowledge(kOther, 3);
  }
  const auto ledger = Open();
  EXPECT_THAT(ledger->Given(), ElementsAre(SourceExtent{kSource, 3}, SourceExtent{kPrint, 1})) << "not half a source";
  EXPECT_THAT(ledger->TakeBack(kPrint), ElementsAre("a"));
  EXPECT_TRUE(ledger->IsNews(KeyFor("a"), Print));
  Spool(*ledger, "a", {{kSource, 3}, {kPrint, 1}});
  EXPECT_EQ(ledger->StateOf("a"), FileState::kSpooled);
}

TEST_F(LedgerTest, TheNumbersOfSegmentsAreRemembered) {
  Open()->UsedSegments(7);
  Open()->UsedSegments(3);
  EXPECT_EQ(Open()->last_segment(), 7U);
}

TEST_F(LedgerTest, InMemoryItKnowsThisProcessOnly) {
  const auto ledger = Ledger::InMemory();
  Spool(*ledger, "a", {});
  EXPECT_FALSE(ledger->IsNews(KeyFor("a"), Print));
  EXPECT_EQ(ledger->Sync(), absl::OkStatus());
}

}  // namespace
}  // namespace lockstep
