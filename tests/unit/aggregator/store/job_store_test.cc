// One conformance suite for every backend of JobStore.
#include "aggregator/store/job_store.h"

#include <absl/status/status.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aggregator/store/memory/memory_store.h"
#include "aggregator/store/memory/run_assembly.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/received_batch.h"
#include "analysis/model/row_values.h"
#include "platform/temp_dir.h"
#include "proto/batch_codec.h"
#include "tests/unit/proto/batch_samples.h"

namespace lockstep {
namespace {

using samples::MakeContext;
using samples::MakeStream;
using testing::ElementsAre;
using testing::HasSubstr;

Hash128 HashOfBatch(const Batch& batch) { return HashOf(EncodeBatch(batch)); }

class JobStoreTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "store-test-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_.emplace(*std::move(dir));
    store_ = NewStore("runs.db");
    ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  }

  std::unique_ptr<JobStore> NewStore(const std::string& file, const StoreLimits& limits = {},
                                     const Clock& clock = SystemClock()) {
    if (GetParam() == "memory_of_rows") return std::make_unique<MemoryStore>(clock, limits);
    absl::StatusOr<std::unique_ptr<JobStore>> store =
        OpenStore(GetParam(), {.path = dir_->path() + "/" + file, .clock = &clock, .limits = limits});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  Hash128 Announce(uint64_t seed, std::string path = "") {
    SourceContext context = MakeContext(seed);
    if (!path.empty()) context.path = std::move(path);
    EXPECT_TRUE(store_->PutSource("run", context).ok());
    return context.source_id;
  }

  absl::Status Put(const Hash128& source, const Batch& batch) {
    const std::string body = EncodeBatch(batch);
    const absl::StatusOr<ReceivedBatch> received = DecodeForStore(body);
    const bool as_sent = received.ok() && GetParam() != "memory_of_rows";
    return store_->PutBatch("run", source, HashOf(body), as_sent ? *received : ReceivedBatch(batch));
  }
  void PutAll(const Hash128& source, const std::vector<Batch>& stream) {
    for (const Batch& batch : stream) {
      const absl::Status status = Put(source, batch);
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  LoadedRun Load(const std::string& run = "run") {
    absl::StatusOr<LoadedRun> loaded = store_->LoadRun(run);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *std::move(loaded);
  }
  RunInfo Info() {
    const absl::StatusOr<std::vector<RunInfo>> infos = store_->ListRuns();
    EXPECT_TRUE(infos.ok()) << infos.status();
    EXPECT_EQ(infos->size(), 1u);
    EXPECT_EQ(store_->IsComplete("run").value(), infos->front().state != RunState::kOpen);
    return infos->front();
  }

  std::optional<TempDir> dir_;
  std::unique_ptr<JobStore> store_;
};

std::vector<InstanceRow> Drain(InstanceSource& source, size_t index) {
  absl::StatusOr<std::unique_ptr<InstanceStream>> stream = source.Open(index);
  EXPECT_TRUE(stream.ok()) << stream.status();
  std::vector<InstanceRow> rows;
  while (true) {
    absl::StatusOr<std::span<const InstanceRow>> block = (*stream)->Next();
    EXPECT_TRUE(block.ok()) << block.status();
    if (!block.ok() || block->empty()) return rows;
    rows.insert(rows.end(), block->begin(), block->end());
  }
}

// Everything a person could see of a run, as bytes: equal bytes, equal runs.
std::string Fingerprint(LoadedRun& loaded) {
  std::string bytes;
  for (const std::string& name : loaded.data.names) bytes += name + "\n";
  for (size_t i = 0; i < loaded.data.sources.size(); ++i) {
    const SourceData& source = loaded.data.sources[i];
    v1::SourceContext context;
    ToProto(source.context, &context);
    bytes += context.SerializeAsString();
    Batch batch;
    batch.instances = Drain(*loaded.instances, i);
    EXPECT_EQ(static_cast<int64_t>(batch.instances.size()), source.instance_count);
    batch.communicators = source.communicators;
    batch.steps = source.steps;
    batch.buckets = source.buckets;
    batch.kernels = source.kernels;
    batch.step_kernels = source.step_kernels;
    batch.memory = source.memory;
    batch.apis = source.apis;
    batch.ranges = source.ranges;
    batch.launches = source.launches;
    batch.summary = source.summary;
    bytes += EncodeBatch(batch);
  }
  for (const FileNote& note : loaded.data.files) bytes += note.path + note.status + note.reason + "\n";
  return bytes;
}

TEST_P(JobStoreTest, ARunThatWasNeverOpenedIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(store_->LoadRun("other").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->FinishRun("other")));
  EXPECT_TRUE(absl::IsNotFound(store_->MarkAnalysed("other")));
  EXPECT_TRUE(absl::IsNotFound(store_->PutSource("other", MakeContext(1)).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->PutFileNote("other", {})));
}

TEST_P(JobStoreTest, AnUnannouncedSourceIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(Put({1, 2}, MakeStream(1, 1, 1)[0])));
}

TEST_P(JobStoreTest, ANewSourceHasNothingDurable) {
  const absl::StatusOr<StoredSource> stored = store_->PutSource("run", MakeContext(1));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->last_sequence, -1);
  EXPECT_FALSE(stored->complete);
}

TEST_P(JobStoreTest, ContentHashesTellTheBatchesOfEachSource) {
  EXPECT_TRUE(absl::IsNotFound(store_->ContentHashes("other").status()));
  const Hash128 empty = Announce(2);
  const Hash128 filled = Announce(1);
  const std::vector<Batch> stream = MakeStream(1, 1, 3);
  PutAll(filled, stream);
  ContentHash want;
  for (const Batch& batch : stream) want.Add(HashOfBatch(batch));
  const std::map<Hash128, Hash128> wanted = {{empty, ContentHash().Finish()}, {filled, want.Finish()}};
  EXPECT_EQ(store_->ContentHashes("run").value(), wanted);
}

TEST_P(JobStoreTest, ContextsAloneAreThoseOfTheLoadedRun) {
  EXPECT_TRUE(absl::IsNotFound(store_->LoadContexts("other").status()));
  EXPECT_TRUE(store_->LoadContexts("run")->empty());
  Announce(2);
  PutAll(Announce(1), MakeStream(1, 1, 3));
  const std::vector<SourceContext> contexts = store_->LoadContexts("run").value();
  const LoadedRun loaded = Load();
  ASSERT_EQ(contexts.size(), 2U);
  for (size_t i = 0; i < contexts.size(); ++i) {
    const SourceContext& want = loaded.data.sources.at(i).context;
    EXPECT_EQ(contexts[i].source_id, want.source_id);
    EXPECT_EQ(contexts[i].path, want.path);
    EXPECT_EQ(contexts[i].options, want.options);
  }
}

TEST_P(JobStoreTest, AKnownSourceTellsWhereToGoOn) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(1, 3, 10);
  ASSERT_TRUE(Put(source, stream[0]).ok());
  ASSERT_TRUE(Put(source, stream[1]).ok());
  EXPECT_EQ(store_->PutSource("run", MakeContext(1))->last_sequence, 1);
  ASSERT_TRUE(Put(source, stream[2]).ok());
  EXPECT_TRUE(store_->PutSource("run", MakeContext(1))->complete);
}

TEST_P(JobStoreTest, WhatWasPutIsLoadedEqual) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(1, 1, 200);
  PutAll(source, stream);
  LoadedRun loaded = Load();
  const SourceData& data = loaded.data.sources.at(0);
  const Batch& batch = stream[0];
  EXPECT_EQ(data.context.source_id, source);
  EXPECT_TRUE(data.complete);
  // The first source's names keep their ids in the run's dictionary.
  ASSERT_EQ(loaded.data.names.size(), batch.names.size());
  for (size_t i = 0; i < batch.names.size(); ++i) EXPECT_EQ(loaded.data.names[i], batch.names[i].text);
  EXPECT_EQ(data.communicators, batch.communicators);
  EXPECT_EQ(data.steps, batch.steps);
  EXPECT_EQ(data.buckets, batch.buckets);
  EXPECT_EQ(data.step_kernels, batch.step_kernels);
  EXPECT_EQ(*batch.summary, data.summary);
  EXPECT_TRUE(Drain(*loaded.instances, 0) == batch.instances);
}

TEST_P(JobStoreTest, TheRowsOfAllBatchesComeInOrder) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(7, 4, 100);
  PutAll(source, stream);
  LoadedRun loaded = Load();
  std::vector<InstanceRow> expected;
  for (const Batch& batch : stream) {
    expected.insert(expected.end(), batch.instances.begin(), batch.instances.end());
  }
  EXPECT_TRUE(Drain(*loaded.instances, 0) == expected);
}

TEST_P(JobStoreTest, ABatchOfManyInstancesIsReadOnBehindItsLastPiece) {
  const std::vector<Batch> stream = MakeStream(1, 2, 1'500);
  PutAll(Announce(1), stream);
  const LoadedRun loaded = Load();
  auto first = loaded.instances->Open(0);
  ASSERT_TRUE(first.ok()) << first.status();
  std::vector<InstanceRow> read;
  do {
    const auto piece = (*first)->Take();
    ASSERT_TRUE(piece.ok()) << piece.status();
    EXPECT_EQ((*first)->InMidst(), read.size() + piece->size() < stream[0].instances.size());
    read.insert(read.end(), piece->begin(), piece->end());
  } while ((*first)->InMidst());
  EXPECT_EQ(read, stream[0].instances);
  auto second = loaded.instances->OpenBehind(0, (*first)->Position());
  ASSERT_TRUE(second.ok()) << second.status();
  const auto piece = (*second)->Take();
  ASSERT_TRUE(piece.ok() && !piece->empty()) << piece.status();
  EXPECT_EQ(piece->front(), stream[1].instances.front());
}

TEST_P(JobStoreTest, InstancesAreReadOnBehindWhatWasReadInAnEarlierSnapshot) {
  const std::vector<Batch> stream = MakeStream(1, 4, 50);
  const Hash128 source = Announce(1);
  PutAll(source, {stream[0], stream[1]});
  const LoadedRun early = Load();
  auto first = early.instances->OpenBehind(0, {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->Position(), InstancePosition());
  std::vector<InstanceRow> read;
  for (auto block = (*first)->Take(); block.ok() && !block->empty(); block = (*first)->Take()) {
    read.insert(read.end(), block->begin(), block->end());
  }
  PutAll(source, {stream[2], stream[3]});
  LoadedRun late = Load();
  auto second = late.instances->OpenBehind(0, (*first)->Position());
  ASSERT_TRUE(second.ok()) << second.status();
  for (auto block = (*second)->Take(); block.ok() && !block->empty(); block = (*second)->Take()) {
    read.insert(read.end(), block->begin(), block->end());
  }
  EXPECT_EQ(read, Drain(*late.instances, 0));
  // What was dropped and sent anew is another stream; one that is shorter, too.
  EXPECT_TRUE(absl::IsFailedPrecondition(early.instances->OpenBehind(0, (*second)->Position()).status()));
  ASSERT_TRUE(store_->DropRun("run").ok());
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  PutAll(Announce(1), MakeStream(2, 4, 50));
  EXPECT_TRUE(absl::IsFailedPrecondition(Load().instances->OpenBehind(0, (*second)->Position()).status()));
}

TEST_P(JobStoreTest, WhatIsLoadedForCollectivesHasTheirRowsCommunicatorsAndSteps) {
  PutAll(Announce(1), MakeStream(1, 3, 50));
  LoadedRun whole = Load();
  absl::StatusOr<LoadedRun> loaded = store_->LoadCollectives("run");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->data.names, whole.data.names);
  EXPECT_EQ(loaded->data.sources[0].communicators, whole.data.sources[0].communicators);
  EXPECT_EQ(loaded->data.sources[0].steps, whole.data.sources[0].steps);
  EXPECT_EQ(Drain(*loaded->instances, 0), Drain(*whole.instances, 0));
  EXPECT_TRUE(absl::IsNotFound(store_->LoadCollectives("other").status()));
}

// What an asker has who loaded that.
HadTables HadOf(const LoadedRun& loaded) {
  HadTables had;
  for (size_t i = 0; i < loaded.tables.size(); ++i) {
    had[loaded.data.sources[i].context.source_id] = loaded.tables[i].until;
  }
  return had;
}

// True: some of it was not loaded again.
bool Join(LoadedRun& earlier, LoadedRun& later) {
  bool some = false;
  for (size_t i = 0; i < later.tables.size(); ++i) {
    if (!later.tables[i].is_rest) continue;
    JoinTables(earlier.data.sources.at(i), &later.data.sources[i]);
    some = true;
  }
  return some;
}

TEST_P(JobStoreTest, TheRestBehindWhatIsThereMakesTheWhole) {
  const std::vector<Batch> stream = MakeStream(1, 4, 50);
  const Hash128 source = Announce(1);
  for (size_t cut = 0; cut < stream.size(); ++cut) {
    LoadedRun earlier = Load();
    PutAll(source, {stream[cut]});
    LoadedRun later = store_->LoadRest("run", HadOf(earlier)).value();
    if (GetParam() == "sqlite") {
      EXPECT_EQ(later.tables[0].until, (InstancePosition{static_cast<int64_t>(cut), HashOfBatch(stream[cut])}));
      EXPECT_EQ(later.data.sources[0].steps, stream[cut].steps);
    }
    EXPECT_EQ(Join(earlier, later), GetParam() == "sqlite" && cut > 0);
    LoadedRun whole = Load();
    EXPECT_TRUE(Fingerprint(later) == Fingerprint(whole)) << "after batch " << cut;
  }
  EXPECT_TRUE(absl::IsNotFound(store_->LoadRest("other", {}).status()));
}

TEST_P(JobStoreTest, TheRestOfASourceWithoutALaterBatchHasItsNewConflictsAlone) {
  const Hash128 source = Announce(1);
  PutAll(source, MakeStream(1, 4, 50));
  LoadedRun earlier = Load();
  EXPECT_TRUE(absl::IsFailedPrecondition(Put(source, MakeStream(2, 1, 5)[0])));
  LoadedRun later = store_->LoadRest("run", HadOf(earlier)).value();
  if (GetParam() == "sqlite") {
    EXPECT_TRUE(later.data.sources[0].kernels.empty());
  }
  EXPECT_EQ(Join(earlier, later), GetParam() == "sqlite");
  LoadedRun whole = Load();
  EXPECT_TRUE(Fingerprint(later) == Fingerprint(whole));
  EXPECT_FALSE(later.data.sources[0].summary == earlier.data.sources[0].summary) << "the conflict is counted";
}

TEST_P(JobStoreTest, OfASourceThatWasSentAnewThereIsNoRest) {
  PutAll(Announce(1), MakeStream(1, 3, 20));
  LoadedRun earlier = Load();
  ASSERT_TRUE(store_->DropRun("run").ok());
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  PutAll(Announce(1), MakeStream(2, 4, 20));
  LoadedRun later = store_->LoadRest("run", HadOf(earlier)).value();
  EXPECT_FALSE(Join(earlier, later));
  LoadedRun whole = Load();
  EXPECT_TRUE(Fingerprint(later) == Fingerprint(whole));
}

TEST_P(JobStoreTest, ABatchThatNeverWasSentIsStoredAsOneThatWas) {
  const std::vector<Batch> stream = MakeStream(7, 4, 100);
  PutAll(Announce(1), stream);
  LoadedRun sent = Load();
  const auto other = NewStore("other.db");
  ASSERT_TRUE(other->OpenRun("run", -1).ok());
  ASSERT_TRUE(other->PutSource("run", MakeContext(1)).ok());
  for (const Batch& batch : stream) {
    ASSERT_TRUE(other->PutBatch("run", MakeContext(1).source_id, HashOfBatch(batch), batch).ok());
  }
  LoadedRun made = other->LoadRun("run").value();
  EXPECT_TRUE(Fingerprint(sent) == Fingerprint(made));
}

// --- limits: what would go beyond is refused with the way out and changes nothing ---

TEST_P(JobStoreTest, ARunBeyondTheLimitIsRefusedAndKnownOnesGoOn) {
  store_ = NewStore("limited.db", {.max_runs = 2});
  ASSERT_TRUE(store_->OpenRun("a", -1).ok());
  ASSERT_TRUE(store_->OpenRun("b", -1).ok());
  const absl::Status refused = store_->OpenRun("c", -1);
  EXPECT_TRUE(absl::IsResourceExhausted(refused) && IsLimit(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::AllOf(HasSubstr("2 runs"), HasSubstr("--prune")));
  EXPECT_EQ(store_->ListRuns()->size(), 2U);
  EXPECT_TRUE(store_->OpenRun("b", -1).ok());
  ASSERT_TRUE(store_->DropRun("a").ok());
  EXPECT_TRUE(store_->OpenRun("c", -1).ok());
}

TEST_P(JobStoreTest, ASourceBeyondTheLimitOfARunIsRefusedAndKnownOnesGoOn) {
  store_ = NewStore("limited.db", {.max_sources = 2});
  for (const std::string run : {"run", "other"}) {
    ASSERT_TRUE(store_->OpenRun(run, -1).ok());
    ASSERT_TRUE(store_->PutSource(run, MakeContext(1)).ok());
  }
  ASSERT_TRUE(store_->PutSource("run", MakeContext(2)).ok());
  const absl::Status refused = store_->PutSource("run", MakeContext(3)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused) && IsLimit(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("2 sources"));
  EXPECT_TRUE(store_->PutSource("run", MakeContext(2)).ok());
  EXPECT_TRUE(store_->PutSource("other", MakeContext(3)).ok());
  EXPECT_EQ(Load().data.sources.size(), 2U);
}

TEST_P(JobStoreTest, ABatchWithNamesBeyondTheLimitOfARunIsRefusedWhole) {
  const std::vector<Batch> stream = MakeStream(1, 3, 4);
  store_ = NewStore("limited.db", {.max_names = 10});  // five a batch
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  const Hash128 source = Announce(1);
  const Hash128 twin = Announce(2);
  ASSERT_TRUE(Put(source, stream[0]).ok());
  ASSERT_TRUE(Put(twin, stream[0]).ok()) << "the same names count once";
  ASSERT_TRUE(Put(source, stream[1]).ok());
  const absl::Status refused = Put(source, stream[2]);
  EXPECT_TRUE(absl::IsResourceExhausted(refused) && IsLimit(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("10 names"));
  EXPECT_EQ(Load().data.sources[0].instance_count + Load().data.sources[1].instance_count, 12);
  EXPECT_EQ(Load().data.names.size(), 10U);
  EXPECT_TRUE(Put(twin, stream[1]).ok());
}

TEST_P(JobStoreTest, ANoteBeyondTheLimitOfARunIsRefusedAndKnownOnesAreReplaced) {
  store_ = NewStore("limited.db", {.max_files = 2});
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  ASSERT_TRUE(store_->PutFileNote("run", {"a", "kineto", "used"}).ok());
  ASSERT_TRUE(store_->PutFileNote("run", {"b", "kineto", "used"}).ok());
  const absl::Status refused = store_->PutFileNote("run", {"c", "kineto", "used"});
  EXPECT_TRUE(absl::IsResourceExhausted(refused) && IsLimit(refused)) << refused;
  EXPECT_TRUE(store_->PutFileNote("run", {"b", "kineto", "partial"}).ok());
  EXPECT_EQ(Load().data.files.size(), 2U);
}

// The distribution of every kernel key, told naively from the batches.
std::map<std::string, std::pair<int64_t, int64_t>> NaiveKernels(const std::vector<Batch>& stream) {
  std::vector<std::string> names;
  std::map<std::string, std::pair<int64_t, int64_t>> totals;
  for (const Batch& batch : stream) {
    for (const NameDef& name : batch.names) names.push_back(name.text);
    for (const KernelRow& row : batch.kernels) {
      auto& [count, sum] = totals[names[row.name]];
      for (const auto& [index, sketch] : row.slices) {
        count += sketch.count();
        sum += sketch.sum();
      }
    }
  }
  return totals;
}

TEST_P(JobStoreTest, KernelRowsOfSeveralBatchesMergeExactly) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(3, 6, 1);
  PutAll(source, stream);
  const LoadedRun loaded = Load();
  std::map<std::string, std::pair<int64_t, int64_t>> totals;
  for (const KernelRow& row : loaded.data.sources[0].kernels) {
    auto& [count, sum] = totals[loaded.data.names[row.name]];
    count += WholeDistribution(row).count();
    sum += WholeDistribution(row).sum();
    EXPECT_LE(row.longest.size(), kMaxExemplars);
  }
  EXPECT_EQ(totals, NaiveKernels(stream));
}

TEST_P(JobStoreTest, AKernelKeyInTwoBatchesIsOneRow) {
  const Hash128 source = Announce(1);
  Batch first;
  first.names.push_back(samples::MakeName(0, "gemm"));
  KernelRow row;
  row.slices.emplace_back(5, Sketch());
  row.slices.back().second.Add(100, 3);
  row.longest = {{10, 100, kNoStep}};
  row.places = {1, 4};
  first.kernels = {row};
  Batch second;
  second.sequence = 1;
  row.slices.emplace_back(6, Sketch());
  row.slices.back().second.Add(900);
  row.longest = {{20, 900, 1}};
  row.places = {2};
  second.kernels = {row};
  ASSERT_TRUE(Put(source, first).ok());
  ASSERT_TRUE(Put(source, second).ok());
  const LoadedRun loaded = Load();
  ASSERT_EQ(loaded.data.sources[0].kernels.size(), 1u);
  const KernelRow& merged = loaded.data.sources[0].kernels[0];
  ASSERT_EQ(merged.slices.size(), 2u);
  EXPECT_EQ(merged.slices[0].second.count(), 6);
  EXPECT_EQ(merged.slices[1].second.max(), 900);
  EXPECT_THAT(merged.longest, ElementsAre(Exemplar{20, 900, 1}, Exemplar{10, 100, kNoStep}));
  EXPECT_THAT(merged.places, ElementsAre(1, 2, 4));
}

TEST_P(JobStoreTest, TheSameBatchAgainChangesNothing) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(1, 2, 30);
  PutAll(source, stream);
  LoadedRun before = Load();
  PutAll(source, stream);
  LoadedRun after = Load();
  EXPECT_EQ(Fingerprint(before), Fingerprint(after));
}

TEST_P(JobStoreTest, AnotherHashForASequenceIsAConflictAndCounted) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(1, 2, 30);
  PutAll(source, stream);
  const absl::Status status = store_->PutBatch("run", source, {1, 1}, stream[0]);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("conflicting_batch"));
  const LoadedRun loaded = Load();
  EXPECT_EQ(loaded.data.sources[0].summary.drops.Of(DropReason::kConflictingBatch), 1);
  EXPECT_EQ(loaded.data.sources[0].instance_count, 60);
}

TEST_P(JobStoreTest, AHoleInTheSequenceIsOutOfRange) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(1, 3, 5);
  ASSERT_TRUE(Put(source, stream[0]).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Put(source, stream[2])));
  EXPECT_TRUE(Put(source, stream[1]).ok());
}

TEST_P(JobStoreTest, ABatchBeyondTheLastIsRefused) {
  const Hash128 source = Announce(1);
  PutAll(source, MakeStream(1, 1, 5));
  Batch more;
  more.sequence = 1;
  EXPECT_TRUE(absl::IsInvalidArgument(Put(source, more)));
}

TEST_P(JobStoreTest, AReferenceToAnUnknownNameIsRefusedAndLeavesNothing) {
  const Hash128 source = Announce(1);
  Batch batch = MakeStream(1, 1, 5)[0];
  batch.instances[2].name = 77;
  EXPECT_TRUE(absl::IsInvalidArgument(Put(source, batch)));
  const LoadedRun loaded = Load();
  EXPECT_EQ(loaded.data.sources[0].instance_count, 0);
  EXPECT_TRUE(loaded.data.names.empty());
  EXPECT_TRUE(loaded.data.sources[0].kernels.empty());
}

TEST_P(JobStoreTest, ATileOfAnInstanceThatDoesNotExistIsRefused) {
  const Hash128 source = Announce(1);
  Batch batch = MakeStream(1, 1, 5)[0];
  batch.instances[2].segment.tiles = {{5, 0, 1}};
  EXPECT_TRUE(absl::IsInvalidArgument(Put(source, batch)));
}

TEST_P(JobStoreTest, AnInstanceBeforeTheLastBatchIsRefused) {
  const Hash128 source = Announce(1);
  std::vector<Batch> stream = MakeStream(1, 2, 5);
  ASSERT_TRUE(Put(source, stream[0]).ok());
  stream[1].instances[0].start_ns = stream[0].instances.back().start_ns - 1;
  EXPECT_TRUE(absl::IsInvalidArgument(Put(source, stream[1])));
}

TEST_P(JobStoreTest, OrderOfArrivalChangesNothing) {
  const std::vector<std::vector<Batch>> streams = {MakeStream(1, 3, 40), MakeStream(2, 3, 40), MakeStream(3, 3, 40)};
  std::vector<Hash128> sources;
  for (uint64_t seed = 1; seed <= 3; ++seed) sources.push_back(Announce(seed));
  for (size_t i = 0; i < 3; ++i) PutAll(sources[i], streams[i]);
  for (const char* path : {"a/r10.json", "a/r9.json"}) ASSERT_TRUE(store_->PutFileNote("run", {path, "", "used"}).ok());
  LoadedRun one_after_the_other = Load();
  const std::string expected = Fingerprint(one_after_the_other);

  store_ = NewStore("interleaved.db");
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  for (const char* path : {"a/r9.json", "a/r10.json"}) ASSERT_TRUE(store_->PutFileNote("run", {path, "", "used"}).ok());
  for (uint64_t seed = 3; seed >= 1; --seed) Announce(seed);
  for (size_t sequence = 0; sequence < 3; ++sequence) {
    for (size_t i = 3; i-- > 0;) ASSERT_TRUE(Put(sources[i], streams[i][sequence]).ok());
  }
  LoadedRun interleaved = Load();
  EXPECT_EQ(Fingerprint(interleaved), expected);
}

TEST_P(JobStoreTest, AllBackendsLoadTheSame) {
  std::vector<std::string> fingerprints;
  for (const char* backend : {"sqlite", "memory"}) {
    absl::StatusOr<std::unique_ptr<JobStore>> store = OpenStore(backend, {dir_->path() + "/other.db"});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->OpenRun("run", -1).ok());
    for (uint64_t seed = 1; seed <= 2; ++seed) PutAll(Announce(seed), MakeStream(seed, 4, 60));
    LoadedRun loaded = Load();
    fingerprints.push_back(Fingerprint(loaded));
  }
  EXPECT_EQ(fingerprints[0], fingerprints[1]);
}

TEST_P(JobStoreTest, SourcesComeInOrderOfTheirId) {
  for (uint64_t seed = 1; seed <= 8; ++seed) Announce(seed);
  const LoadedRun loaded = Load();
  ASSERT_EQ(loaded.data.sources.size(), 8u);
  for (size_t i = 1; i < 8; ++i) {
    EXPECT_LT(loaded.data.sources[i - 1].context.source_id, loaded.data.sources[i].context.source_id);
  }
}

TEST_P(JobStoreTest, NamesOfEqualHashAreOneInTheRun) {
  Batch batch;
  batch.names.push_back(samples::MakeName(0, "shared"));
  for (uint64_t seed = 1; seed <= 2; ++seed) ASSERT_TRUE(Put(Announce(seed), batch).ok());
  EXPECT_THAT(Load().data.names, ElementsAre("shared"));
}

TEST_P(JobStoreTest, InstanceNamesAreTranslatedToTheRunsDictionary) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Batch batch;
    batch.names.push_back(samples::MakeName(0, seed == 1 ? "b" : "a"));
    batch.names.push_back(samples::MakeName(1, seed == 1 ? "a" : "b"));
    batch.communicators.emplace_back();
    batch.instances.resize(1);
    batch.instances[0].name = seed == 1 ? 1 : 0;
    ASSERT_TRUE(Put(Announce(seed), batch).ok());
  }
  LoadedRun loaded = Load();
  ASSERT_EQ(loaded.data.names.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto rows = Drain(*loaded.instances, i);
    EXPECT_EQ(loaded.data.names.at(rows.at(0).name), "a");
  }
}

TEST_P(JobStoreTest, OfEqualCopiesTheLeastPathIsKeptWhicheverComesFirst) {
  Announce(1, "b/rank10.json");
  Announce(1, "b/rank9.json");
  Announce(2, "b/rank9.json");
  Announce(2, "b/rank10.json");
  const RunData run = Load().data;
  for (const SourceData& source : run.sources) EXPECT_EQ(source.context.path, "b/rank9.json");
}

TEST_P(JobStoreTest, OfEqualCopiesTheMoreTrustedClaimIsKeptWhicheverComesFirst) {
  SourceContext mapped = MakeContext(1);
  mapped.path = "z.json";
  mapped.claims = {{3, RankSource::kRankMap}};
  SourceContext named = MakeContext(1);
  named.path = "a.json";
  named.claims = {{5, RankSource::kFileName}};
  for (const bool mapped_first : {true, false}) {
    ASSERT_TRUE(store_->DropRun("run").ok());
    ASSERT_TRUE(store_->OpenRun("run", -1).ok());
    ASSERT_TRUE(store_->PutSource("run", mapped_first ? mapped : named).ok());
    ASSERT_TRUE(store_->PutSource("run", mapped_first ? named : mapped).ok());
    EXPECT_EQ(Load().data.sources[0].context.path, "z.json") << mapped_first;
  }
}

TEST_P(JobStoreTest, TheSameFileWithOtherClaimsReplacesTheContext) {
  SourceContext context = MakeContext(1);
  context.claims = {{3, RankSource::kRankMap}};
  ASSERT_TRUE(store_->PutSource("run", context).ok());
  context.claims = {{4, RankSource::kAssumed}};
  ASSERT_TRUE(store_->PutSource("run", context).ok());
  EXPECT_EQ(Load().data.sources[0].context.claims, context.claims);
}

TEST_P(JobStoreTest, FileNotesComeInNaturalOrderAndReplaceEachOther) {
  for (const char* path : {"rank_10.json", "rank_9.json", "rank_1.json"}) {
    ASSERT_TRUE(store_->PutFileNote("run", {path, "kineto", "used"}).ok());
  }
  FileNote note = {"rank_9.json", "kineto", "partial", "cut", 17, {}};
  note.drops.Add(DropReason::kTruncatedTail);
  ASSERT_TRUE(store_->PutFileNote("run", note).ok());
  const LoadedRun loaded = Load();
  ASSERT_EQ(loaded.data.files.size(), 3u);
  EXPECT_EQ(loaded.data.files[0].path, "rank_1.json");
  EXPECT_EQ(loaded.data.files[1], note);
  EXPECT_EQ(loaded.data.files[2].path, "rank_10.json");
}

TEST_P(JobStoreTest, EqualPathsOnTwoHostsAreTwoFiles) {
  for (const char* host : {"node1", "node0"}) {
    FileNote note = {"/tmp/rank.json", "kineto", "used"};
    note.host = host;
    ASSERT_TRUE(store_->PutFileNote("run", note).ok());
  }
  const LoadedRun loaded = Load();
  ASSERT_EQ(loaded.data.files.size(), 2u);
  EXPECT_EQ(loaded.data.files[0].host, "node0");
  EXPECT_EQ(loaded.data.files[1].host, "node1");
}

TEST_P(JobStoreTest, ARunIsCompleteOnceTheExpectedRanksAre) {
  ASSERT_TRUE(store_->OpenRun("run", 2).ok());
  PutAll(Announce(1), MakeStream(1, 1, 1));
  EXPECT_EQ(Info().state, RunState::kOpen);
  const Hash128 second = Announce(2);
  const std::vector<Batch> stream = MakeStream(2, 2, 1);
  ASSERT_TRUE(Put(second, stream[0]).ok());
  EXPECT_EQ(Info().state, RunState::kOpen);
  ASSERT_TRUE(Put(second, stream[1]).ok());
  const RunInfo info = Info();
  EXPECT_EQ(info.state, RunState::kComplete);
  EXPECT_EQ(info.sources, 2);
  EXPECT_EQ(info.complete_sources, 2);
  EXPECT_EQ(info.expected_ranks, 2);
}

TEST_P(JobStoreTest, ARunSaysThatItsContentChanged) {
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  const Hash128 source = Announce(1);
  int64_t before = Info().revision;
  for (const Batch& batch : MakeStream(1, 1, 3)) {
    ASSERT_TRUE(Put(source, batch).ok());
    const RunInfo info = Info();
    EXPECT_GT(info.revision, before);
    EXPECT_GT(info.changed_unix_ns, 0);
    before = info.revision;
    ASSERT_TRUE(Put(source, batch).ok());  // again: no change
    EXPECT_EQ(Info().revision, before);
  }
  ASSERT_TRUE(store_->MarkAnalysed("run").ok());
  EXPECT_EQ(Info().revision, before);
  EXPECT_EQ(Load().data.info.revision, before);
}

TEST_P(JobStoreTest, WhichContentThereIsDiffersOnceItChanged) {
  ASSERT_TRUE(store_->DropRun("run").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->ContentOf("run").status()));
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  const Hash128 source = Announce(1);
  std::vector<RunContent> seen = {store_->ContentOf("run").value()};
  const auto expect_another = [&] {
    seen.push_back(store_->ContentOf("run").value());
    EXPECT_NE(seen.back(), seen[seen.size() - 2]);
    EXPECT_EQ(seen.back(), store_->ContentOf("run").value());
  };
  for (const Batch& batch : MakeStream(1, 1, 3)) {
    ASSERT_TRUE(Put(source, batch).ok());
    expect_another();
    ASSERT_TRUE(Put(source, batch).ok());  // again: no change
    EXPECT_EQ(seen.back(), store_->ContentOf("run").value());
  }
  ASSERT_TRUE(store_->OpenRun("run", 7).ok());
  expect_another();
  ASSERT_TRUE(store_->FinishRun("run").ok());
  expect_another();
}

TEST_P(JobStoreTest, WithoutExpectedRanksTheClaimedWorldIsExpected) {
  for (uint64_t seed = 0; seed < 3; ++seed) PutAll(Announce(seed), MakeStream(seed, 1, 1));
  EXPECT_EQ(Info().state, RunState::kOpen);  // the contexts claim a world of 4
  PutAll(Announce(3), MakeStream(3, 1, 1));
  EXPECT_EQ(Info().state, RunState::kComplete);
}

TEST_P(JobStoreTest, WhatIsAskedAtAGlanceIsWhatTheStateSays) {
  EXPECT_TRUE(absl::IsNotFound(store_->IsComplete("none").status()));
  ASSERT_TRUE(store_->DropRun("run").ok());
  std::mt19937 random(1);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<uint32_t>(limit)); };
  std::map<bool, int> seen;
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(store_->OpenRun("run", below(5) - 1).ok());
    const uint64_t sources = below(5);
    for (uint64_t seed = 0; seed < sources; ++seed) {
      SourceContext context = MakeContext(seed);
      context.claims.clear();
      if (below(3) > 0) context.claims.push_back({below(4), RankSource::kMetadata});
      context.world_size = below(2) > 0 ? std::optional<int32_t>(below(5)) : std::nullopt;
      ASSERT_TRUE(store_->PutSource("run", context).ok());
      if (below(4) > 0) PutAll(context.source_id, MakeStream(seed, 1, 1));
      ++seen[Info().state != RunState::kOpen];
    }
    if (below(8) == 0) {
      ASSERT_TRUE(store_->FinishRun("run").ok());
    }
    ++seen[Info().state != RunState::kOpen];
    ASSERT_TRUE(store_->DropRun("run").ok());
  }
  EXPECT_GT(seen[false], 100);
  EXPECT_GT(seen[true], 100);
}

TEST_P(JobStoreTest, FinishingByHandCompletesTheRun) {
  Announce(1);
  ASSERT_TRUE(store_->FinishRun("run").ok());
  EXPECT_EQ(Info().state, RunState::kComplete);
  EXPECT_TRUE(Info().finished_by_hand);
}

TEST_P(JobStoreTest, AFinishedRunKeepsItsExpectedRanks) {
  ASSERT_TRUE(store_->OpenRun("run", 4).ok());
  ASSERT_TRUE(store_->FinishRun("run").ok());
  EXPECT_TRUE(store_->OpenRun("run", 4).ok());
  EXPECT_TRUE(store_->OpenRun("run", -1).ok());
  EXPECT_EQ(store_->OpenRun("run", 8).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(JobStoreTest, AnAnalysedRunIsCompleteAgainWhenContentArrives) {
  Announce(1);
  ASSERT_TRUE(store_->FinishRun("run").ok());
  ASSERT_TRUE(store_->MarkAnalysed("run").ok());
  EXPECT_EQ(Info().state, RunState::kAnalysed);
  Announce(1);  // nothing new
  EXPECT_EQ(Info().state, RunState::kAnalysed);
  Announce(2);
  EXPECT_EQ(Info().state, RunState::kComplete);
}

TEST_P(JobStoreTest, ADroppedRunIsGoneAndCanBeginAnew) {
  const Hash128 source = Announce(1);
  PutAll(source, MakeStream(1, 2, 10));
  ASSERT_TRUE(store_->DropRun("run").ok());
  ASSERT_TRUE(store_->DropRun("run").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->LoadRun("run").status()));
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  EXPECT_TRUE(Load().data.sources.empty());
  EXPECT_EQ(store_->PutSource("run", MakeContext(1))->last_sequence, -1);
}

TEST_P(JobStoreTest, RunsAreListedByNameAndDoNotMix) {
  ASSERT_TRUE(store_->OpenRun("a", -1).ok());
  Announce(1);
  const absl::StatusOr<std::vector<RunInfo>> infos = store_->ListRuns();
  ASSERT_TRUE(infos.ok());
  ASSERT_EQ(infos->size(), 2u);
  EXPECT_EQ((*infos)[0].name, "a");
  EXPECT_EQ((*infos)[0].sources, 0);
  EXPECT_EQ((*infos)[1].name, "run");
  EXPECT_EQ((*infos)[1].sources, 1);
}

TEST_P(JobStoreTest, ABaselineIsANameOfOneRunAndGoesWithIt) {
  ASSERT_TRUE(store_->OpenRun("a", -1).ok());
  ASSERT_TRUE(store_->OpenRun("b", -1).ok());
  const auto baselines = [&](size_t run) { return store_->ListRuns().value().at(run).baselines; };
  EXPECT_TRUE(absl::IsNotFound(store_->SetBaseline("main", "none")));
  ASSERT_TRUE(store_->SetBaseline("main", "a").ok());
  ASSERT_TRUE(store_->SetBaseline("h100", "a").ok());
  ASSERT_TRUE(store_->SetBaseline("main", "a").ok());
  EXPECT_THAT(baselines(0), testing::ElementsAre("h100", "main"));
  ASSERT_TRUE(store_->SetBaseline("main", "b").ok());
  EXPECT_THAT(baselines(0), testing::ElementsAre("h100"));
  EXPECT_THAT(baselines(1), testing::ElementsAre("main"));
  EXPECT_THAT(store_->Usage().value().at(1).info.baselines, testing::ElementsAre("main"));
  EXPECT_TRUE(absl::IsNotFound(store_->RemoveBaseline("none")));
  ASSERT_TRUE(store_->RemoveBaseline("main").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->RemoveBaseline("main")));
  EXPECT_THAT(baselines(1), testing::IsEmpty());
  ASSERT_TRUE(store_->DropRun("a").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->RemoveBaseline("h100")));
}

TEST_P(JobStoreTest, ABaselineIsNoPartOfTheContent) {
  Announce(1);
  ASSERT_TRUE(store_->FinishRun("run").ok());
  ASSERT_TRUE(store_->MarkAnalysed("run").ok());
  ASSERT_TRUE(store_->SetBaseline("main", "run").ok());
  EXPECT_EQ(Info().state, RunState::kAnalysed);
}

TEST_P(JobStoreTest, NamesOfBaselinesAreShortTextAndBounded) {
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  for (const std::string& bad : {std::string(), std::string(201, 'x'), std::string("a\nb"), std::string("a\xFF")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->SetBaseline(bad, "run"))) << bad;
  }
  for (int64_t i = 0; i < kMostBaselines; ++i) ASSERT_TRUE(store_->SetBaseline(std::to_string(i), "run").ok());
  EXPECT_TRUE(IsLimit(store_->SetBaseline("one more", "run")));
  EXPECT_TRUE(store_->SetBaseline("7", "run").ok());
  EXPECT_EQ(Info().baselines.size(), static_cast<size_t>(kMostBaselines));
}

TEST_P(JobStoreTest, UsageTellsWhenContentLastCame) {
  ManualClock clock;
  const auto store = NewStore("timed.db", {}, clock);
  const auto changed = [&] { return store->Usage().value().at(0).changed_unix_ns; };
  clock.Advance(100);
  ASSERT_TRUE(store->OpenRun("run", -1).ok());
  EXPECT_EQ(changed(), 100);
  clock.Advance(100);
  ASSERT_TRUE(store->PutSource("run", MakeContext(1)).ok());
  EXPECT_EQ(changed(), 200);
  clock.Advance(100);
  ASSERT_TRUE(store->OpenRun("run", -1).ok());
  ASSERT_TRUE(store->FinishRun("run").ok());
  ASSERT_TRUE(store->MarkAnalysed("run").ok());
  EXPECT_EQ(changed(), 200) << "nothing was added";
}

TEST_P(JobStoreTest, UsageGrowsWithTheContentOfTheRunAlone) {
  ASSERT_TRUE(store_->OpenRun("empty", -1).ok());
  PutAll(Announce(1), MakeStream(1, 4, 500));
  const auto measured = store_->Usage();
  ASSERT_TRUE(measured.ok());
  const std::vector<RunUsage>& usage = *measured;
  ASSERT_EQ(usage.size(), 2u);
  EXPECT_EQ(usage[0].info.name, "empty");
  EXPECT_EQ(usage[1].info.name, "run");
  EXPECT_GT(usage[1].bytes, 10 * usage[0].bytes);
}

TEST_P(JobStoreTest, RanksMustBelongToKnownSources) {
  const Hash128 source = Announce(1);
  EXPECT_TRUE(store_->PutRanks("run", {{source, 3}}).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->PutRanks("run", {{Hash128{9, 9}, 3}})));
}

TEST_P(JobStoreTest, ALoadedRunIsASnapshot) {
  const Hash128 source = Announce(1);
  const std::vector<Batch> stream = MakeStream(1, 2, 50);
  ASSERT_TRUE(Put(source, stream[0]).ok());
  LoadedRun loaded = Load();
  ASSERT_TRUE(Put(source, stream[1]).ok());
  ASSERT_TRUE(store_->DropRun("run").ok());
  EXPECT_TRUE(Drain(*loaded.instances, 0) == stream[0].instances);
}

TEST_P(JobStoreTest, WritersAndReadersOfManyThreadsAgree) {
  constexpr uint64_t kThreads = 4;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= kThreads; ++seed) {
    threads.emplace_back([&, seed] {
      const Hash128 source = MakeContext(seed).source_id;
      if (!store_->PutSource("run", MakeContext(seed)).ok()) ++failures;
      for (const Batch& batch : MakeStream(seed, 4, 20)) {
        if (!store_->PutBatch("run", source, HashOfBatch(batch), batch).ok()) ++failures;
        absl::StatusOr<LoadedRun> loaded = store_->LoadRun("run");
        if (!loaded.ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  const LoadedRun loaded = Load();
  ASSERT_EQ(loaded.data.sources.size(), kThreads);
  for (const SourceData& source : loaded.data.sources) EXPECT_EQ(source.instance_count, 80);
}

TEST_P(JobStoreTest, InstanceStreamsOfOneSourceMayRunInSeveralThreads) {
  const std::vector<Batch> stream = MakeStream(1, 6, 50);
  PutAll(Announce(1), stream);
  LoadedRun loaded = Load();
  std::vector<size_t> counts(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < counts.size(); ++i) {
    threads.emplace_back([&, i] { counts[i] = Drain(*loaded.instances, 0).size(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(counts, testing::Each(300u));
}

INSTANTIATE_TEST_SUITE_P(Backends, JobStoreTest, testing::Values("sqlite", "memory", "memory_of_rows"),
                         [](const testing::TestParamInfo<std::string>& backend) { return backend.param; });

TEST(OpenStore, AnUnknownBackendIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(OpenStore("clickhouse", {}).status()));
}

TEST(OpenStore, WithoutAPathNothingIsWritten) {
  const absl::StatusOr<std::unique_ptr<JobStore>> store = OpenStore("sqlite", {});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->OpenRun("run", -1).ok());
}

}  // namespace
}  // namespace lockstep
