#include "agent/spool/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    ASSERT_EQ(ledger.Take(KeyFor(path), kPrint), absl::OkStatus());
    ASSERT_EQ(ledger.Spooled(path, std::move(sources)), absl::OkStatus());
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
    ASSERT_EQ(ledger->Take(KeyFor("a"), kPrint), absl::OkStatus());
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
  ASSERT_EQ(ledger->Take(KeyFor("a"), kPrint), absl::OkStatus());
  ASSERT_EQ(ledger->Failed("a", "no room"), absl::OkStatus());
  EXPECT_TRUE(ledger->IsNews(KeyFor("a"), Print));
}

TEST_F(LedgerTest, AFileIsDeliveredWithItsLastSource) {
  {
    const auto ledger = Open();
    Spool(*ledger, "a", {{kSource, 3}, {kOther, 1}});
    ASSERT_EQ(ledger->Acknowledge(kSource, kAllAcknowledged), absl::OkStatus());
    EXPECT_EQ(ledger->StateOf("a"), FileState::kSpooled);
  }
  {
    const auto ledger = Open();
    ASSERT_EQ(ledger->Acknowledge(kOther, 0), absl::OkStatus());
    EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
  }
  const auto ledger = Open();
  EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
  EXPECT_THAT(ledger->acknowledged(), IsEmpty());
}

TEST_F(LedgerTest, AFileWhoseSourcesWereAcknowledgedBeforeIsDeliveredAtOnce) {
  const auto ledger = Open();
  ASSERT_EQ(ledger->Acknowledge(kSource, kAllAcknowledged), absl::OkStatus());
  Spool(*ledger, "a", {{kSource, 3}});
  EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
}

TEST_F(LedgerTest, ADeliveredFileTakenAgainIsDeliveredAtOnce) {
  const auto ledger = Open();
  Spool(*ledger, "a", {{kSource, 3}});
  ASSERT_EQ(ledger->Acknowledge(kSource, kAllAcknowledged), absl::OkStatus());
  Spool(*ledger, "a", {{kSource, 3}});
  EXPECT_EQ(ledger->StateOf("a"), FileState::kDelivered);
  const auto nothing_kept = [](const Hash128&, int64_t) { return false; };
  EXPECT_THAT(ledger->ForgetUnless(nothing_kept).value(), IsEmpty());
}

TEST_F(LedgerTest, WhatIsAcknowledgedIsKnownAfterARestart) {
  {
    const auto ledger = Open();
    Spool(*ledger, "a", {{kSource, 3}});
    ASSERT_EQ(ledger->Acknowledge(kSource, 2), absl::OkStatus());
  }
  {
    const auto ledger = Open();
    Spool(*ledger, "b", {{kOther, 9}});
    ASSERT_EQ(ledger->Acknowledge(kOther, 4), absl::OkStatus());
    ASSERT_EQ(ledger->Acknowledge(kOther, 3), absl::OkStatus());
  }
  EXPECT_THAT(Open()->acknowledged(), ElementsAre(std::pair(kOther, int64_t{3})));
}

TEST_F(LedgerTest, ForgettingASourceForgetsItsFiles) {
  const auto ledger = Open();
  Spool(*ledger, "a", {{kSource, 3}});
  Spool(*ledger, "b", {{kSource, 3}, {kOther, 1}});
  Spool(*ledger, "c", {{kOther, 1}});
  EXPECT_THAT(ledger->Forget(kSource).value(), ElementsAre("a", "b"));
  EXPECT_TRUE(ledger->IsNews(KeyFor("a"), Print));
  EXPECT_FALSE(Open()->IsNews(KeyFor("c"), Print));
}

TEST_F(LedgerTest, FilesThatAreNotWholeAreForgotten) {
  const auto ledger = Open();
  Spool(*ledger, "acknowledged", {{kSource, 3}});
  ASSERT_EQ(ledger->Acknowledge(kSource, 2), absl::OkStatus());
  Spool(*ledger, "kept", {{kOther, 2}});
  Spool(*ledger, "lost", {{kOther, 5}});
  const auto lost = ledger->ForgetUnless([](const Hash128&, int64_t batches) { return batches <= 2; });
  EXPECT_THAT(lost.value(), ElementsAre("lost"));
}

TEST_F(LedgerTest, ADeliveredFileThatIsGoneIsNotRemembered) {
  Spool(*Open(), "a", {});
  Spool(*Open(), "b", {});
  gone_ = "a";
  const auto ledger = Open();
  EXPECT_EQ(ledger->StateOf("a"), std::nullopt);
  EXPECT_EQ(ledger->StateOf("b"), FileState::kDelivered);
}

TEST_F(LedgerTest, AnotherRunIsRefusedWhileSomethingIsUndelivered) {
  Spool(*Open(), "a", {{kSource, 3}});
  EXPECT_TRUE(absl::IsFailedPrecondition(TryOpen("other").status()));
  ASSERT_EQ(Open()->Acknowledge(kSource, kAllAcknowledged), absl::OkStatus());
  const auto other = TryOpen("other");
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE((*other)->IsNews(KeyFor("a"), Print));
}

TEST_F(LedgerTest, OpeningWritesItAnewWithoutWhatIsOutdated) {
  {
    const auto ledger = Open();
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(ledger->Acknowledge(kSource, i), absl::OkStatus());
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

TEST_F(LedgerTest, InMemoryItKnowsThisProcessOnly) {
  const auto ledger = Ledger::InMemory();
  Spool(*ledger, "a", {});
  EXPECT_FALSE(ledger->IsNews(KeyFor("a"), Print));
  EXPECT_EQ(ledger->Sync(), absl::OkStatus());
}

}  // namespace
}  // namespace lockstep
