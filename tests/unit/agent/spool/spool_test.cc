#include "agent/spool/spool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "platform/log.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Hash128 kA = {0, 1};
const Hash128 kB = {0, 2};
const Hash128 kNote = {9, 9};

absl::Status Nothing(uint32_t) { return absl::OkStatus(); }

std::string BodyOf(const Hash128& id, int64_t sequence) { return fmt::format("{}/{}", id.low, sequence); }

// No file can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() { SetLogLevel(LogLevel::kOff); }
  std::unique_ptr<Spool> Open(const Acknowledged& acknowledged = {}) {
    SpoolOptions options = options_;
    options.folder = folder_.path();
    return Spool::Open(options, acknowledged).value();
  }
  static void PutSource(Spool& spool, const Hash128& id, int64_t batches, size_t padding = 0) {
    ASSERT_EQ(spool.Put(FrameKind::kContext, id, 0, "context"), absl::OkStatus());
    for (int64_t i = spool.Range(id).second; i < batches; ++i) {
      ASSERT_EQ(spool.Put(FrameKind::kBatch, id, i, BodyOf(id, i) + std::string(padding, ' ')), absl::OkStatus());
    }
  }
  std::vector<std::string> Segments() {
    std::vector<std::string> names;
    const std::vector<std::string> all = NamesIn(folder_.path()).value();
    for (const std::string& name : all) {
      if (name.ends_with(".spool")) {
        names.push_back(name);
      }
    }
    return names;
  }
  std::string BytesOf(const std::string& name) {
    std::ifstream file(folder_.path() + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::string AwayPath() const { return folder_.path() + ".away"; }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.path() + "/" + name, std::ios::binary | std::ios::trunc) << bytes;
  }

  const TempDir folder_ = TempDir::Create("", "lockstep-spool-test-").value();
  SpoolOptions options_;
};

TEST_F(SpoolTest, WhatWasPutIsThereAfterARestart) {
  PutSource(*Open(), kA, 3);
  const auto spool = Open();
  EXPECT_EQ(spool->damage().places, 0);
  EXPECT_THAT(spool->Sendable(10), ElementsAre(kA));
  EXPECT_EQ(spool->Range(kA), std::pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kA, 2).value(), "1/2");
  EXPECT_EQ(spool->Read(FrameKind::kContext, kA, 0).value(), "context");
}

TEST_F(SpoolTest, WantsTheNextBatchOfAKnownSourceOnly) {
  const auto spool = Open();
  EXPECT_FALSE(spool->Wants(kA, 0)) << "no context yet";
  PutSource(*spool, kA, 2);
  EXPECT_FALSE(spool->Wants(kA, 1));
  EXPECT_TRUE(spool->Wants(kA, 2));
  EXPECT_FALSE(spool->Wants(kA, 3));
}

TEST_F(SpoolTest, WhatIsNotWantedIsNotWritten) {
  const auto spool = Open();
  PutSource(*spool, kA, 2);
  const int64_t before = spool->State().bytes;
  EXPECT_EQ(spool->Put(FrameKind::kBatch, kA, 1, "again"), absl::OkStatus());
  EXPECT_EQ(spool->State().bytes, before);
}

TEST_F(SpoolTest, AcknowledgedBatchesAreNotSentAgainAfterARestart) {
  PutSource(*Open(), kA, 5);
  const auto spool = Open({{kA, 2}});
  EXPECT_EQ(spool->Range(kA), std::pair(int64_t{3}, int64_t{5}));
  EXPECT_EQ(spool->State().unsent, 2);
  EXPECT_THAT(spool->damage().lost, IsEmpty());
}

TEST_F(SpoolTest, AReleasedSourceTakesNothingMore) {
  const auto spool = Open();
  PutSource(*spool, kA, 2);
  spool->Release(kA);
  EXPECT_FALSE(spool->Wants(kA, 2));
  EXPECT_EQ(spool->State().unsent, 0);
}

TEST_F(SpoolTest, ARewoundSourceIsTakenAgainFromThere) {
  const auto spool = Open();
  PutSource(*spool, kA, 4);
  spool->Acknowledge(kA, 2);
  spool->Rewind(kA, 0);
  PutSource(*spool, kA, 4);
  EXPECT_EQ(spool->Range(kA), std::pair(int64_t{1}, int64_t{4}));
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kA, 1).value(), "1/1");
}

// --- begun anew: whenever the agent is killed (it never says goodbye to its spool), batches of two kinds never mix ---

TEST_F(SpoolTest, AfterAKillARewoundSourceHasNothingOfWhatItWasBefore) {
  {
    const auto spool = Open();
    PutSource(*spool, kA, 4);
    PutSource(*spool, kB, 2);
    spool->Rewind(kA, -1);
    ASSERT_EQ(spool->Put(FrameKind::kContext, kA, 0, "new context"), absl::OkStatus());
    ASSERT_EQ(spool->Put(FrameKind::kBatch, kA, 0, "new"), absl::OkStatus());
  }
  for (int restart = 0; restart < 2; ++restart) {
    const auto spool = Open();
    EXPECT_EQ(spool->Range(kA), std::pair(int64_t{0}, int64_t{1}));
    EXPECT_EQ(spool->Read(FrameKind::kContext, kA, 0).value(), "new context");
    EXPECT_EQ(spool->Read(FrameKind::kBatch, kA, 0).value(), "new");
    EXPECT_EQ(spool->Range(kB), std::pair(int64_t{0}, int64_t{2}));
    EXPECT_EQ(spool->damage().places, 0);
    EXPECT_THAT(spool->damage().lost, IsEmpty());
  }
}

TEST_F(SpoolTest, AKillAfterEveryRecordLeavesOneKindOfBatchesOnly) {
  std::vector<size_t> ends;  // of the segment, after each record
  {
    const auto spool = Open();
    const auto put = [&](FrameKind kind, int64_t sequence, const std::string& body) {
      ASSERT_EQ(spool->Put(kind, kA, sequence, body), absl::OkStatus());
      ends.push_back(BytesOf(Segments()[0]).size());
    };
    put(FrameKind::kContext, 0, "old");
    for (int64_t i = 0; i < 3; ++i) put(FrameKind::kBatch, i, "old");
    spool->Rewind(kA, -1);
    put(FrameKind::kContext, 0, "new");
    for (int64_t i = 0; i < 2; ++i) put(FrameKind::kBatch, i, "new");
  }
  const std::string name = Segments()[0];
  const std::string bytes = BytesOf(name);
  const size_t before_rewind = ends[3];
  for (size_t size = ends[0]; size <= bytes.size(); ++size) {
    Write(name, bytes.substr(0, size));
    const auto spool = Open();
    const auto context = spool->Read(FrameKind::kContext, kA, 0);
    const auto [first, next] = spool->Range(kA);
    for (int64_t i = first; i < next; ++i) {
      ASSERT_EQ(spool->Read(FrameKind::kBatch, kA, i).value(), context.value()) << size;
    }
    if (size == before_rewind) {
      ASSERT_EQ(next, 3) << "a kill before the rewind costs nothing";
    }
  }
}

TEST_F(SpoolTest, ARewindIsSafeBeforeTheContextThatFollowsIt) {
  std::vector<std::string> at_syncs;
  options_.sync = [&](const DurableFile& file) {
    at_syncs.push_back(file.ReadAt(0, file.size()).value());
    return file.Sync();
  };
  const auto spool = Open();
  PutSource(*spool, kA, 1);
  spool->Rewind(kA, -1);
  at_syncs.clear();
  ASSERT_EQ(spool->Put(FrameKind::kContext, kA, 0, "new context"), absl::OkStatus());
  ASSERT_EQ(at_syncs.size(), 2U);
  EXPECT_EQ(at_syncs[0].find("new context"), std::string::npos);
  EXPECT_NE(at_syncs[1].find("new context"), std::string::npos);
  EXPECT_GT(at_syncs[0].size(), BytesOf(Segments()[0]).find("1/0") + 3) << "the rewind";
}

TEST_F(SpoolTest, ARewindStaysAsLongAsASegmentThatMayHoldWhatItVoids) {
  options_.segment_bytes = 400;
  const auto spool = Open();
  PutSource(*spool, kA, 3, /*padding=*/1);  // beside the stuck one in the first segment
  PutSource(*spool, kB, 1);
  const std::string first = Segments()[0];
  ASSERT_NE(BytesOf(first).find("2/0"), std::string::npos);
  for (int round = 0; round < 3; ++round) {
    spool->Rewind(kA, -1);
    PutSource(*spool, kA, 20);
    spool->Acknowledge(kA, 18);
    ASSERT_EQ(spool->Collect(Nothing), absl::OkStatus());
    ASSERT_EQ(Segments()[0], first) << "held by the other source";
    const auto again = Open();  // the ledger is lost, too
    const auto [begin, end] = again->Range(kA);
    ASSERT_LT(begin, end);
    for (int64_t i = begin; i < end; ++i) {
      ASSERT_EQ(again->Read(FrameKind::kBatch, kA, i).value(), BodyOf(kA, i)) << "a batch of the first kind";
    }
  }
  spool->Release(kA);
  spool->Release(kB);
  ASSERT_EQ(spool->Collect(Nothing, /*thoroughly=*/true), absl::OkStatus());
  EXPECT_THAT(Segments(), IsEmpty()) << "nothing is left that a rewind would void";
}

TEST_F(SpoolTest, ARewindAloneKeepsNoSegment) {
  const auto spool = Open();
  PutSource(*spool, kA, 2);
  spool->Rewind(kA, -1);
  PutSource(*spool, kA, 2);
  spool->Release(kA);
  ASSERT_EQ(spool->Collect(Nothing, /*thoroughly=*/true), absl::OkStatus());
  EXPECT_THAT(Segments(), IsEmpty());
}

TEST_F(SpoolTest, ARewindThatIsMovedVoidsNothingMoreThanBefore) {
  options_.segment_bytes = 2000;
  options_.max_bytes = 12'000;
  const auto spool = Open();
  PutSource(*spool, kA, 3);
  PutSource(*spool, kB, 5, 300);  // most of the first segment, and stuck
  spool->Rewind(kA, -1);
  PutSource(*spool, kA, 4);
  const Hash128 other = {0, 3};
  PutSource(*spool, other, 0);
  for (int64_t i = 0; i < 60; ++i) {
    ASSERT_EQ(spool->Put(FrameKind::kBatch, other, i, std::string(300, 'o')), absl::OkStatus());
    spool->Acknowledge(other, i);
    ASSERT_EQ(spool->Collect(Nothing), absl::OkStatus());
  }
  ASSERT_GT(Segments().back(), "00000005.spool");
  const auto again = Open({{other, 59}});
  EXPECT_EQ(again->Range(kA), std::pair(int64_t{0}, int64_t{4}));
  EXPECT_EQ(again->Range(kB), std::pair(int64_t{0}, int64_t{5}));
  EXPECT_THAT(again->damage().lost, IsEmpty());
}

TEST_F(SpoolTest, ASourceTakenBackAfterItsEndBeginsAnewOnTheDiskToo) {
  options_.segment_bytes = 4000;
  {
    const auto spool = Open();
    PutSource(*spool, kB, 1);
    PutSource(*spool, kA, 4);
    spool->Release(kA);
    spool->TakeBack(kA);
    ASSERT_EQ(spool->Put(FrameKind::kContext, kA, 0, "new context"), absl::OkStatus());
  }
  EXPECT_EQ(Open()->Range(kA), std::pair(int64_t{0}, int64_t{0}));
}

TEST_F(SpoolTest, ANoteIsThereUntilItIsReleased) {
  ASSERT_EQ(Open()->Put(FrameKind::kNote, kNote, 0, "note"), absl::OkStatus());
  const auto spool = Open();
  ASSERT_EQ(spool->NotesAfter(0, 10).size(), 1U);
  EXPECT_EQ(spool->NotesAfter(0, 10)[0].second, kNote);
  EXPECT_EQ(spool->Read(FrameKind::kNote, kNote, 0).value(), "note");
  spool->Release(kNote);
  EXPECT_EQ(spool->State().unsent, 0);
  EXPECT_THAT(spool->NotesAfter(0, 10), IsEmpty());
}

// --- segments ---

TEST_F(SpoolTest, ASegmentGoesOnlyWhenAllOfItIsAcknowledged) {
  options_.segment_bytes = 400;
  const auto spool = Open();
  PutSource(*spool, kA, 20);
  PutSource(*spool, kB, 20);
  const size_t all = Segments().size();
  ASSERT_GT(all, 4U);
  spool->Acknowledge(kA, 18);
  ASSERT_EQ(spool->Collect(Nothing), absl::OkStatus());
  EXPECT_LT(Segments().size(), all);
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kA, 19).value(), "1/19");
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kB, 0).value(), "2/0");
  spool->Release(kA);
  spool->Release(kB);
  ASSERT_EQ(spool->Collect(Nothing, /*thoroughly=*/true), absl::OkStatus());
  EXPECT_THAT(Segments(), IsEmpty());
  EXPECT_EQ(spool->State().bytes, 0);
}

TEST_F(SpoolTest, WhatIsAcknowledgedIsWrittenDownBeforeAnythingIsDeleted) {
  const auto spool = Open();
  PutSource(*spool, kA, 3);
  spool->Release(kA);
  size_t at_the_call = 0;
  const auto look = [&](uint32_t) {
    at_the_call = Segments().size();
    return absl::OkStatus();
  };
  ASSERT_EQ(spool->Collect(look, /*thoroughly=*/true), absl::OkStatus());
  EXPECT_EQ(at_the_call, 1U);
  PutSource(*spool, kB, 1);
  spool->Release(kB);
  EXPECT_FALSE(spool->Collect([](uint32_t) { return absl::InternalError("no"); }, true).ok());
  EXPECT_EQ(Segments().size(), 1U);
}

TEST_F(SpoolTest, OneStuckSourceDoesNotHoldManySegments) {
  options_.segment_bytes = 2000;
  options_.max_bytes = 20'000;
  const auto spool = Open();
  ASSERT_EQ(spool->Put(FrameKind::kContext, kB, 0, "context"), absl::OkStatus());
  PutSource(*spool, kA, 0);
  for (int64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(spool->Put(FrameKind::kBatch, kA, i, std::string(200, 'a')), absl::OkStatus());
    if (i % 10 == 0) {
      ASSERT_EQ(spool->Put(FrameKind::kBatch, kB, i / 10, BodyOf(kB, i / 10)), absl::OkStatus());
    }
    spool->Acknowledge(kA, i);
    ASSERT_EQ(spool->Collect(Nothing), absl::OkStatus());
  }
  EXPECT_LE(spool->State().bytes, options_.max_bytes);
  for (int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(spool->Read(FrameKind::kBatch, kB, i).value(), BodyOf(kB, i));
  }
  const auto again = Open({{kA, 199}});
  EXPECT_EQ(again->Range(kB), std::pair(int64_t{0}, int64_t{20}));
  EXPECT_THAT(again->damage().lost, IsEmpty());
}

TEST_F(SpoolTest, AFullSpoolHoldsProducersBackUntilThereIsRoom) {
  options_.segment_bytes = 1000;
  options_.max_bytes = 4000;
  const auto spool = Open();
  std::thread producer([&] { PutSource(*spool, kA, 100, 200); });
  int64_t acknowledged = -1;
  while (acknowledged < 99) {
    const uint64_t seen = spool->News();
    EXPECT_LE(spool->State().bytes, options_.max_bytes);
    acknowledged = spool->Range(kA).second - 1;
    spool->Acknowledge(kA, acknowledged);
    EXPECT_EQ(spool->Collect(Nothing), absl::OkStatus());
    spool->AwaitNews(seen, 10'000'000);
  }
  producer.join();
  EXPECT_EQ(spool->Range(kA).second, 100);
}

TEST_F(SpoolTest, CloseEndsTheWaitForRoom) {
  options_.max_bytes = 2000;
  const auto spool = Open();
  ASSERT_EQ(spool->Put(FrameKind::kContext, kA, 0, std::string(1900, 'c')), absl::OkStatus());
  std::thread producer(
      [&] { EXPECT_TRUE(absl::IsCancelled(spool->Put(FrameKind::kBatch, kA, 0, std::string(1000, 'b')))); });
  spool->Close();
  producer.join();
}

TEST_F(SpoolTest, ManyProducersShareOneSpool) {
  options_.segment_bytes = 4000;
  {
    const auto spool = Open();
    std::vector<std::thread> producers;
    for (uint64_t id = 1; id <= 6; ++id) {
      producers.emplace_back([&spool, id] { PutSource(*spool, {0, id}, 50); });
    }
    for (std::thread& producer : producers) {
      producer.join();
    }
  }
  const auto spool = Open();
  for (uint64_t id = 1; id <= 6; ++id) {
    EXPECT_EQ(spool->Range({0, id}), std::pair(int64_t{0}, int64_t{50}));
  }
}

// --- damage ---

TEST_F(SpoolTest, EveryTruncationRecoversAllRecordsBeforeIt) {
  PutSource(*Open(), kA, 4);
  const std::string name = Segments()[0];
  const std::string bytes = BytesOf(name);
  const auto record = static_cast<int64_t>((bytes.size() - (36 + 24 + 7)) / 4);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    Write(name, bytes.substr(0, size));
    const int64_t behind_context = static_cast<int64_t>(size) - (36 + 24 + 7);
    const int64_t whole = behind_context < 0 ? 0 : behind_context / record;
    const auto spool = Open();
    ASSERT_EQ(spool->Range(kA).second, whole) << size;
    ASSERT_EQ(spool->damage().places, size == 0 || (behind_context >= 0 && behind_context % record == 0) ? 0 : 1);
    for (int64_t i = 0; i < whole; ++i) {
      ASSERT_EQ(spool->Read(FrameKind::kBatch, kA, i).value(), BodyOf(kA, i));
    }
  }
}

TEST_F(SpoolTest, EveryFlippedByteIsToldAndCostsNoOtherSource) {
  {
    const auto spool = Open();
    PutSource(*spool, kA, 2);
    PutSource(*spool, kB, 2);
  }
  const std::string name = Segments()[0];
  const std::string good = BytesOf(name);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    Write(name, bytes);
    const auto spool = Open();
    ASSERT_EQ(spool->damage().places, 1) << at;
    const auto whole = std::pair(int64_t{0}, int64_t{2});
    ASSERT_EQ((spool->Range(kA) == whole) + (spool->Range(kB) == whole), 1) << at;
  }
}

TEST_F(SpoolTest, BatchesBehindAHoleAreToldAndAskedForAgain) {
  PutSource(*Open(), kA, 4);
  const std::string name = Segments()[0];
  std::string bytes = BytesOf(name);
  const size_t second = bytes.find("1/1");
  bytes[second] = 'x';
  Write(name, bytes);
  const auto spool = Open();
  EXPECT_THAT(spool->damage().lost, ElementsAre(LostBatches{kA, 1, 3}));
  EXPECT_TRUE(spool->Wants(kA, 1));
  PutSource(*spool, kA, 4);
  EXPECT_TRUE(spool->Holds(kA, 4));
}

TEST_F(SpoolTest, AMissingSegmentIsSeenByWhatItHeld) {
  options_.segment_bytes = 200;
  PutSource(*Open(), kA, 10);
  const std::vector<std::string> names = Segments();
  ASSERT_GE(names.size(), 3U);
  ASSERT_EQ(RemoveFile(folder_.path() + "/" + names[1]), absl::OkStatus());
  const auto spool = Open();
  ASSERT_EQ(spool->damage().lost.size(), 1U);
  EXPECT_EQ(spool->damage().lost[0].last, 9);
  EXPECT_FALSE(spool->Holds(kA, 10));
}

TEST_F(SpoolTest, ARecordSpoiltWhileInUseIsAnErrorOfItsReading) {
  const auto spool = Open();
  PutSource(*spool, kA, 2);
  const std::string name = Segments()[0];
  std::string bytes = BytesOf(name);
  bytes.back() = '?';
  Write(name, bytes);
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kA, 0).value(), "1/0");
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kA, 1).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SpoolTest, AReadingThatFailsForWantOfDescriptorsSaysNothingOfTheRecord) {
  const auto spool = Open();
  PutSource(*spool, kA, 2);
  {
    const NoDescriptors none;
    const absl::Status read = spool->Read(FrameKind::kBatch, kA, 0).status();
    EXPECT_TRUE(absl::IsResourceExhausted(read)) << read;
  }
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kA, 0).value(), "1/0");
}

TEST_F(SpoolTest, AFolderThatIsAwayIsNoLossUntilItIsBack) {
  const auto spool = Open();
  PutSource(*spool, kA, 2);
  spool->Release(kA);
  std::filesystem::rename(folder_.path(), AwayPath());
  EXPECT_TRUE(absl::IsNotFound(spool->Read(FrameKind::kBatch, kA, 0).status())) << "released";
  PutSource(*spool, kB, 1);  // its segment is open
  EXPECT_TRUE(absl::IsUnavailable(spool->Read(FrameKind::kBatch, kB, 0).status()));
  // Another folder in its place, as under a disk that is no longer mounted, is not taken for it.
  std::filesystem::create_directory(folder_.path());
  EXPECT_TRUE(absl::IsUnavailable(spool->Read(FrameKind::kBatch, kB, 0).status()));
  std::filesystem::remove(folder_.path());
  std::filesystem::rename(AwayPath(), folder_.path());
  EXPECT_EQ(spool->Read(FrameKind::kBatch, kB, 0).value(), "2/0");
}

TEST_F(SpoolTest, AProducerWaitsForAFolderThatIsAway) {
  options_.segment_bytes = 100;
  const auto spool = Open();
  PutSource(*spool, kA, 1);
  std::filesystem::rename(folder_.path(), AwayPath());
  std::atomic<bool> done{false};
  std::thread producer([&] {
    PutSource(*spool, kA, 4);
    done = true;
  });
  spool->AwaitNews(spool->News(), 50'000'000);
  EXPECT_FALSE(done);
  std::filesystem::rename(AwayPath(), folder_.path());
  producer.join();
  EXPECT_EQ(Open()->Range(kA), std::pair(int64_t{0}, int64_t{4}));
}

// --- a disk that loses what it took ---

TEST_F(SpoolTest, AfterAFailedSyncNothingIsTakenOrDeletedAndWhatWasNotSafeIsCutOff) {
  std::atomic<int> syncs{0};
  std::atomic<bool> fails{false};
  options_.sync = [&](const DurableFile& file) {
    ++syncs;
    return fails ? absl::UnknownError("EIO") : file.Sync();
  };
  const auto spool = Open();
  PutSource(*spool, kA, 2);
  PutSource(*spool, kB, 0);
  const std::string safe = BytesOf(Segments()[0]);
  fails = true;
  EXPECT_FALSE(spool->Put(FrameKind::kBatch, kA, 2, "1/2").ok());
  fails = false;
  const int asked = syncs;
  EXPECT_FALSE(spool->Put(FrameKind::kBatch, kB, 0, "2/0").ok());
  EXPECT_EQ(syncs, asked) << "the system does not tell a failure twice";
  EXPECT_FALSE(spool->failure().ok());
  spool->Release(kA);
  spool->Release(kB);
  EXPECT_FALSE(spool->Collect(Nothing, /*thoroughly=*/true).ok());
  EXPECT_EQ(BytesOf(Segments()[0]), safe);
  EXPECT_EQ(Open()->Range(kA), std::pair(int64_t{0}, int64_t{2}));
}

TEST_F(SpoolTest, WhatAKilledAgentLeftUnsyncedIsSyncedBeforeItCounts) {
  options_.segment_bytes = 200;
  PutSource(*Open(), kA, 6);
  std::vector<std::string> synced;
  options_.sync = [&](const DurableFile& file) {
    synced.push_back(std::filesystem::path(file.path()).filename().string());
    return file.Sync();
  };
  Open();
  EXPECT_EQ(synced, Segments());
  options_.sync = [](const DurableFile&) { return absl::UnknownError("EIO"); };
  SpoolOptions options = options_;
  options.folder = folder_.path();
  EXPECT_FALSE(Spool::Open(options, {}).ok());
}

TEST_F(SpoolTest, WhatIsMovedForwardIsSyncedBeforeItsOldPlaceIsDeleted) {
  options_.segment_bytes = 2000;
  options_.max_bytes = 6000;
  std::atomic<bool> fails{false};
  options_.sync = [&](const DurableFile& file) { return fails ? absl::UnknownError("EIO") : file.Sync(); };
  const auto spool = Open();
  PutSource(*spool, kB, 1);
  PutSource(*spool, kA, 12, 300);
  ASSERT_GE(Segments().size(), 2U);
  const std::string first = Segments()[0];
  spool->Acknowledge(kA, 10);
  fails = true;
  EXPECT_FALSE(spool->Collect(Nothing).ok());
  EXPECT_THAT(Segments(), testing::Contains(first));
  fails = false;
  const auto again = Open({{kA, 10}});
  EXPECT_EQ(again->Range(kB), std::pair(int64_t{0}, int64_t{1}));
}

// Two copies of a file at once: the second producer's record is not wanted, as the first one has just written it.
TEST_F(SpoolTest, ARecordThatIsNotWantedIsDurableWhenItsPutReturns) {
  std::atomic<int> syncs{0};
  std::atomic<bool> go{true};
  options_.sync = [&](const DurableFile& file) {
    while (!go) {
      std::this_thread::yield();
    }
    const absl::Status synced = file.Sync();
    ++syncs;
    return synced;
  };
  const auto spool = Open();
  PutSource(*spool, kA, 1);
  go = false;
  const int before = syncs;
  std::thread first([&] { EXPECT_EQ(spool->Put(FrameKind::kBatch, kA, 1, "1/1"), absl::OkStatus()); });
  while (spool->Wants(kA, 1)) {
    std::this_thread::yield();
  }
  std::atomic<int> syncs_at_return{-1};
  std::thread second([&] {
    EXPECT_EQ(spool->Put(FrameKind::kBatch, kA, 1, "1/1"), absl::OkStatus());
    syncs_at_return = syncs.load();
  });
  spool->AwaitNews(spool->News(), 20'000'000);
  EXPECT_EQ(syncs_at_return, -1);
  go = true;
  first.join();
  second.join();
  EXPECT_GT(syncs_at_return, before);
}

TEST_F(SpoolTest, ManyProducersWithoutRoomDoNotKeepEachOtherAwake) {
  options_.max_bytes = 2000;
  const auto spool = Open();
  ASSERT_EQ(spool->Put(FrameKind::kContext, kA, 0, std::string(1900, 'c')), absl::OkStatus());
  std::vector<std::thread> producers;
  for (uint64_t id = 10; id < 14; ++id) {
    producers.emplace_back([&spool, id] {
      EXPECT_TRUE(absl::IsCancelled(spool->Put(FrameKind::kContext, {0, id}, 0, std::string(1000, 'b'))));
    });
  }
  const uint64_t begin = spool->News();
  for (int i = 0; i < 20; ++i) {
    spool->AwaitNews(spool->News(), 10'000'000);
  }
  EXPECT_LE(spool->News() - begin, 8U) << "once a producer, and once a second";
  spool->Close();
  for (std::thread& producer : producers) {
    producer.join();
  }
}

// --- what else may lie in the folder ---

TEST_F(SpoolTest, AFileThatIsNamedAlmostAsASegmentIsLeftAlone) {
  Write("9.spool", "not ours");
  Write("000000009.spool", "not ours");
  Write("99999999999999.spool", "not ours");
  PutSource(*Open(), kA, 1);
  EXPECT_EQ(BytesOf("9.spool"), "not ours");
  EXPECT_EQ(BytesOf("00000001.spool").substr(0, 4), "LSsp");
  EXPECT_EQ(Open()->damage().places, 0);
}

// Of a file that is delivered the ledger forgets what was acknowledged, and its records may still stand beside others'.
TEST_F(SpoolTest, ASourceOfWhichTheContextAloneIsLeftKeepsNoSegment) {
  PutSource(*Open(), kA, 1, 100);
  PutSource(*Open({{kA, 0}}), kB, 1);
  const std::string name = Segments().at(0);
  std::string bytes = BytesOf(name);
  bytes[bytes.size() - 1] ^= 1;  // the only batch
  Write(name, bytes);
  const auto spool = Open();
  EXPECT_EQ(spool->damage().places, 1);
  EXPECT_THAT(spool->Sendable(10), ElementsAre(kB));
  spool->Release(kB);
  ASSERT_EQ(spool->Collect(Nothing, /*thoroughly=*/true), absl::OkStatus());
  EXPECT_THAT(Segments(), IsEmpty());
}

TEST_F(SpoolTest, ASourceOfWhichTheContextAloneIsLeftIsTakenAgainWhole) {
  ASSERT_EQ(Open()->Put(FrameKind::kContext, kA, 0, "context"), absl::OkStatus());
  PutSource(*Open(), kA, 2);
  const auto spool = Open();
  EXPECT_EQ(spool->Range(kA), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(spool->Read(FrameKind::kContext, kA, 0).value(), "context");
}

TEST_F(SpoolTest, ASegmentsNumberIsNotUsedAgain) {
  options_.first_segment = 8;
  const auto spool = Open();
  PutSource(*spool, kA, 1);
  EXPECT_THAT(Segments(), ElementsAre("00000008.spool"));
  spool->Release(kA);
  uint32_t told = 0;
  const auto before_delete = [&](uint32_t last) {
    told = last;
    return absl::OkStatus();
  };
  ASSERT_EQ(spool->Collect(before_delete, /*thoroughly=*/true), absl::OkStatus());
  EXPECT_EQ(told, 8U);
}

TEST_F(SpoolTest, BatchesBehindOnesThatAreNotThereAreKeptUntilTheAggregatorSpeaks) {
  {
    const auto spool = Open();
    PutSource(*spool, kA, 4);
  }
  const std::string name = Segments()[0];
  std::string bytes = BytesOf(name);
  bytes[bytes.find("1/1")] = 'x';
  Write(name, bytes);
  // Batches 0 and 1 were acknowledged, and the ledger that said so is lost. Of a source the first run is kept.
  EXPECT_EQ(Open({{kA, 0}})->Range(kA), std::pair(int64_t{2}, int64_t{4}));
  EXPECT_THAT(Open({{kA, 0}})->damage().lost, ElementsAre(LostBatches{kA, 1, 1}));
}

TEST_F(SpoolTest, NothingIsWrittenBehindATornTail) {
  PutSource(*Open(), kA, 2);
  const std::string name = Segments()[0];
  Write(name, BytesOf(name) + "torn");
  PutSource(*Open(), kA, 4);
  EXPECT_EQ(Segments().size(), 2U);
  EXPECT_EQ(Open()->Range(kA), std::pair(int64_t{0}, int64_t{4}));
}

}  // namespace
}  // namespace lockstep
