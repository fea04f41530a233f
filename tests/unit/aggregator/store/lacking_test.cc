// What a store says of what agents gave before, for every backend of JobStore.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/store/job_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "platform/temp_dir.h"
#include "proto/batch_codec.h"
#include "tests/unit/proto/batch_samples.h"

namespace lockstep {
namespace {

using samples::MakeContext;
using samples::MakeStream;
using testing::ElementsAre;
using testing::IsEmpty;

FileNote NoteOn(const std::string& path, const std::string& reason) {
  return {.path = path, .format = "kineto", .status = "used", .reason = reason, .offset = -1, .drops = {}, .host = "h"};
}

class LackingTest : public testing::TestWithParam<std::string> {
 protected:
  LackingTest() { EXPECT_TRUE(store_->OpenRun("run", -1).ok()); }
  Hash128 PutSource(uint64_t seed, size_t batches) {
    const SourceContext context = MakeContext(seed);
    EXPECT_TRUE(store_->PutSource("run", context).ok());
    const std::vector<Batch> stream = MakeStream(seed, 3, 5);
    for (size_t i = 0; i < std::min<size_t>(batches, stream.size()); ++i) {
      EXPECT_TRUE(store_->PutBatch("run", context.source_id, HashOf(EncodeBatch(stream[i])), stream[i]).ok());
    }
    return context.source_id;
  }
  std::vector<Hash128> Lacking(const std::vector<SourceExtent>& extents) {
    return store_->Lacking("run", extents).value();
  }

  const TempDir dir_ = TempDir::Create("", "lacking-test-").value();
  const std::unique_ptr<JobStore> store_ = OpenStore(GetParam(), {dir_.path() + "/runs.db"}).value();
};

TEST_P(LackingTest, ASourceIsThereAsFarAsItsBatchesAre) {
  const Hash128 part = PutSource(1, 1);
  const Hash128 whole = PutSource(2, 1000);
  const Hash128 unknown = {4, 4};
  EXPECT_THAT(Lacking({{part, 1}, {whole, 0}, {whole, 1}, {whole, 1'000'000}}), IsEmpty());
  EXPECT_THAT(Lacking({{unknown, 0}, {part, 2}, {whole, 1}, {part, 0}, {unknown, 1}}),
              ElementsAre(unknown, part, part, unknown));
}

TEST_P(LackingTest, ANoteIsThereIfItIsTheSameOne) {
  const FileNote note = NoteOn("a", "because");
  ASSERT_TRUE(store_->PutFileNote("run", note).ok());
  const FileNote other = NoteOn("a", "another reason");
  EXPECT_THAT(Lacking({{FileNoteId(note), 1}}), IsEmpty());
  EXPECT_THAT(Lacking({{FileNoteId(other), 1}}), ElementsAre(FileNoteId(other)));
  ASSERT_TRUE(store_->PutFileNote("run", other).ok());
  EXPECT_THAT(Lacking({{FileNoteId(note), 1}, {FileNoteId(other), 1}}), ElementsAre(FileNoteId(note)));
}

TEST_P(LackingTest, AskingChangesNothing) {
  PutSource(1, 1);
  const int64_t before = store_->Usage()->front().bytes;
  EXPECT_EQ(Lacking({{{4, 4}, 1}}).size(), 1U);
  EXPECT_EQ(store_->LoadRun("run")->data.sources.size(), 1U);
  EXPECT_EQ(store_->Usage()->front().bytes, before);
}

TEST_P(LackingTest, OfARunThatIsNotThereNothingIsTold) {
  EXPECT_TRUE(absl::IsNotFound(store_->Lacking("other", {{{4, 4}, 1}}).status()));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, LackingTest, testing::Values("sqlite", "memory"));

}  // namespace
}  // namespace lockstep
