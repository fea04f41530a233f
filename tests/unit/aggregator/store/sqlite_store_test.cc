// What is particular to the SQLite store: durability, its file, its views.
#include "aggregator/store/sqlite/sqlite_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "aggregator/store/sqlite/row_fields.h"
#include "aggregator/store/sqlite/schema.h"
#include "aggregator/store/sqlite/schema_sql.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/received_batch.h"
#include "analysis/model/row_values.h"
#include "platform/temp_dir.h"
#include "proto/batch_codec.h"
#include "tests/unit/proto/batch_samples.h"

namespace lockstep {
namespace {

using samples::MakeContext;
using samples::MakeStream;
using testing::HasSubstr;

// Without what schemas 4 to 9 added.
const std::string kAsBeforeSchemaFour =
    "DROP TABLE baseline; DROP INDEX source_of_run; DROP INDEX file_note_by_id; ALTER TABLE file_note DROP COLUMN "
    "note_id; "
    "ALTER TABLE run DROP COLUMN sources; ALTER TABLE run DROP COLUMN names; ALTER TABLE run DROP COLUMN files; "
    "DROP TABLE batch_step_kernels; DROP TABLE held_file; DROP TABLE answer; DROP TABLE batch_instances; "
    "ALTER TABLE run DROP COLUMN changed_unix_ns;";

class SqliteStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "sqlite-store-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_.emplace(*std::move(dir));
    path_ = dir_->path() + "/runs.db";
  }

  std::unique_ptr<SqliteStore> OpenFile() {
    absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  static void Fill(SqliteStore& store, uint64_t seed, const std::vector<Batch>& stream) {
    ASSERT_TRUE(store.OpenRun("run", -1).ok());
    ASSERT_TRUE(store.PutSource("run", MakeContext(seed)).ok());
    for (const Batch& batch : stream) {
      const absl::Status status = store.PutBatch("run", MakeContext(seed).source_id, HashOf(EncodeBatch(batch)), batch);
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  // First column of the first row, as a person with the sqlite3 tool would ask.
  std::string Ask(const std::string& sql) {
    absl::StatusOr<Database> db = Database::Open(path_, Database::Mode::kReadWriteCreate);
    EXPECT_TRUE(db.ok()) << db.status();
    absl::StatusOr<Statement> statement = db->Prepare(sql);
    EXPECT_TRUE(statement.ok()) << statement.status();
    const absl::StatusOr<bool> row = statement->Step();
    EXPECT_TRUE(row.ok() && *row) << sql;
    return std::string(statement->Text(0));
  }

  void Change(const std::string& sql) {
    absl::StatusOr<Database> db = Database::Open(path_, Database::Mode::kReadWriteCreate);
    ASSERT_TRUE(db.ok()) << db.status();
    const absl::Status done = db->Execute(sql);
    ASSERT_TRUE(done.ok()) << done;
  }

  void WriteFile(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string ReadFile() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string Refusal(absl::StatusCode code) {
    const absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path_);
    EXPECT_EQ(store.status().code(), code) << store.status();
    return std::string(store.status().message());
  }

  std::optional<TempDir> dir_;
  std::string path_;
};

TEST_F(SqliteStoreTest, WhatWasAcknowledgedIsThereAfterReopening) {
  const std::vector<Batch> stream = MakeStream(1, 3, 50);
  Fill(*OpenFile(), 1, {stream[0], stream[1]});
  const std::unique_ptr<SqliteStore> store = OpenFile();
  EXPECT_EQ(store->PutSource("run", MakeContext(1))->last_sequence, 1);
  absl::StatusOr<LoadedRun> loaded = store->LoadRun("run");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->data.sources[0].instance_count, 100);
}

TEST_F(SqliteStoreTest, WhatWasAcknowledgedSurvivesACopyOfTheFilesMidway) {
  // A crash leaves the database and its log as they are: a copy of both must hold every acknowledged batch.
  const std::unique_ptr<SqliteStore> store = OpenFile();
  Fill(*store, 1, MakeStream(1, 3, 50));
  const std::string copy = dir_->path() + "/copy.db";
  std::ofstream(copy, std::ios::binary) << ReadFile();
  std::ofstream(copy + "-wal", std::ios::binary) << std::ifstream(path_ + "-wal", std::ios::binary).rdbuf();
  absl::StatusOr<std::unique_ptr<SqliteStore>> crashed = SqliteStore::Open(copy);
  ASSERT_TRUE(crashed.ok()) << crashed.status();
  EXPECT_TRUE((*crashed)->PutSource("run", MakeContext(1))->complete);
}

TEST_F(SqliteStoreTest, KernelViewHasExactTotals) {
  const std::vector<Batch> stream = MakeStream(4, 3, 5);
  Fill(*OpenFile(), 1, stream);
  Sketch all;
  for (const Batch& batch : stream) {
    for (const KernelRow& row : batch.kernels) {
      for (const auto& [index, sketch] : row.slices) all.Merge(sketch);
    }
  }
  EXPECT_EQ(Ask("SELECT sum(instances) FROM v_kernel"), std::to_string(all.count()));
  EXPECT_EQ(Ask("SELECT sum(total_ns) FROM v_kernel"), std::to_string(all.sum()));
  EXPECT_EQ(Ask("SELECT max(max_ns) FROM v_kernel"), std::to_string(all.max()));
  EXPECT_EQ(Ask("SELECT count(*) FROM v_kernel WHERE name LIKE 'kernel number %'"), Ask("SELECT count(*) FROM kernel"));
}

TEST_F(SqliteStoreTest, CollectiveViewHasExactTotals) {
  const std::vector<Batch> stream = MakeStream(4, 3, 80);
  Fill(*OpenFile(), 1, stream);
  int64_t total = 0;
  int64_t all_reduces = 0;
  for (const Batch& batch : stream) {
    for (const InstanceRow& row : batch.instances) {
      total += row.duration_ns;
      all_reduces += row.op == CollectiveOp::kAllReduce ? 1 : 0;
    }
  }
  EXPECT_EQ(Ask("SELECT sum(total_ns) FROM v_collective"), std::to_string(total));
  EXPECT_EQ(Ask("SELECT sum(instances) FROM v_collective WHERE op = 'all_reduce'"), std::to_string(all_reduces));
}

TEST_F(SqliteStoreTest, StepViewShowsTheWindowsIdentity) {
  const std::vector<Batch> stream = MakeStream(4, 2, 5);
  Fill(*OpenFile(), 1, stream);
  int64_t exposed = 0;
  for (const Batch& batch : stream) {
    for (const StepRow& row : batch.steps) exposed += row.tile.exposed_comm_ns();
  }
  EXPECT_EQ(Ask("SELECT sum(exposed_comm_ns) FROM v_step"), std::to_string(exposed));
  EXPECT_EQ(Ask("SELECT count(*) FROM v_step"), "8");
}

TEST_F(SqliteStoreTest, ViewsShowTheResolvedRankOnceItIsKnown) {
  const std::unique_ptr<SqliteStore> store = OpenFile();
  Fill(*store, 1, MakeStream(1, 1, 1));
  EXPECT_EQ(Ask("SELECT count(*) FROM v_kernel WHERE rank IS NOT NULL"), "0");
  ASSERT_TRUE(store->PutRanks("run", {{MakeContext(1).source_id, 5}}).ok());
  EXPECT_EQ(Ask("SELECT DISTINCT rank FROM v_kernel"), "5");
}

TEST_F(SqliteStoreTest, DroppingARunLeavesNoRows) {
  const std::unique_ptr<SqliteStore> store = OpenFile();
  Fill(*store, 1, MakeStream(1, 2, 20));
  ASSERT_TRUE(store->PutFileNote("run", {"a", "", "used"}).ok());
  ASSERT_TRUE(store->DropRun("run").ok());
  for (const std::string_view table : kStoreTables) {
    EXPECT_EQ(Ask(fmt::format("SELECT count(*) FROM {}", table)), "0") << table;
  }
}

TEST_F(SqliteStoreTest, KernelsOfStepsFromBeforeSchemaEightComeBeforeThoseThatFollow) {
  const std::vector<Batch> stream = MakeStream(1, 2, 20);
  const auto store = OpenFile();
  Fill(*store, 1, stream);
  std::vector<StepKernelRow> older = stream[0].step_kernels;
  ASSERT_GT(older.size(), 1U);
  ASSERT_FALSE(stream[1].step_kernels.empty());
  std::string as_before = "DELETE FROM batch_step_kernels WHERE sequence = 0;";
  for (size_t i = 0; i < older.size(); ++i) {
    const std::string step = older[i].step == kNoStep ? "NULL" : fmt::format("{}", older[i].step);
    as_before += fmt::format("INSERT INTO step_kernel SELECT id, 0, {}, {}, {}, {}, {} FROM source;", i, step,
                             older[i].name, older[i].instances, older[i].total_ns);
  }
  const std::vector<StepKernelRow> want = store->LoadRun("run")->data.sources[0].step_kernels;
  Change(as_before);
  EXPECT_EQ(store->LoadRun("run")->data.sources[0].step_kernels, want);
  EXPECT_EQ(want.size(), older.size() + stream[1].step_kernels.size());
}

TEST_F(SqliteStoreTest, TheRoomOfADroppedRunGoesBackToTheDisk) {
  const auto store = OpenFile();
  Fill(*store, 1, MakeStream(1, 8, 2000));
  ASSERT_TRUE(store->OpenRun("other", -1).ok());
  ASSERT_TRUE(store->Reclaim().ok());  // the log is in the file now
  const size_t full = ReadFile().size();
  ASSERT_TRUE(store->DropRun("run").ok());
  ASSERT_TRUE(store->Reclaim().ok());
  EXPECT_LT(ReadFile().size(), full / 2);
  EXPECT_EQ(store->ListRuns().value().size(), 1U);
}

TEST_F(SqliteStoreTest, TheRunsShareOutTheFile) {
  const auto store = OpenFile();
  Fill(*store, 1, MakeStream(1, 8, 2000));
  ASSERT_TRUE(store->OpenRun("other", -1).ok());
  ASSERT_TRUE(store->Reclaim().ok());
  int64_t bytes = 0;
  const auto usage = store->Usage();
  for (const RunUsage& run : *usage) {
    bytes += run.bytes;
  }
  EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(ReadFile().size()), 8.0);
}

TEST_F(SqliteStoreTest, ARunOfAnOlderSchemaIsAsOldAsItsTakeover) {
  Fill(*OpenFile(), 1, MakeStream(1, 2, 10));
  Change(kAsBeforeSchemaFour + "PRAGMA user_version=3");
  const int64_t before_ns = SystemClock().UnixNs() - 1'000'000'000;  // the file knows whole seconds
  const int64_t changed_ns = OpenFile()->Usage().value().at(0).changed_unix_ns;
  EXPECT_GE(changed_ns, before_ns);
  EXPECT_LE(changed_ns, SystemClock().UnixNs());
}

TEST_F(SqliteStoreTest, WhatIsCountedOfARunIsWhatItHas) {
  const std::vector<Batch> stream = MakeStream(1, 3, 10);
  const std::unique_ptr<SqliteStore> store = OpenFile();
  ASSERT_TRUE(store->OpenRun("other", -1).ok());
  ASSERT_TRUE(store->PutSource("other", MakeContext(1)).ok());
  Fill(*store, 1, stream);
  Fill(*store, 2, stream);  // the same names once more
  Fill(*store, 1, stream);  // all of it was there
  for (const char* status : {"used", "partial"}) ASSERT_TRUE(store->PutFileNote("run", {"a", "kineto", status}).ok());
  EXPECT_EQ(Ask("SELECT group_concat(sources || ' ' || names || ' ' || files) FROM run ORDER BY name"),
            fmt::format("1 0 0,2 {} 1", Ask("SELECT count(*) FROM name")));
  EXPECT_NE(Ask("SELECT count(*) FROM name"), "0");
  Batch damaged = stream[0];
  damaged.names.push_back({7, HashOf("new"), "new"});  // not the id that comes next
  ASSERT_TRUE(store->PutSource("run", MakeContext(3)).ok());
  ASSERT_FALSE(store->PutBatch("run", MakeContext(3).source_id, HashOf("x"), damaged).ok());
  EXPECT_EQ(Ask("SELECT sources || ' ' || (names = (SELECT count(*) FROM name)) FROM run WHERE name = 'run'"), "3 1");
}

TEST_F(SqliteStoreTest, AFullDiskIsToldWithTheFileAndNothingHalfWritten) {
  const std::unique_ptr<SqliteStore> store = OpenFile();
  const std::vector<Batch> stream = MakeStream(1, 2, 2'000);
  Fill(*store, 1, {stream[0]});
  ASSERT_TRUE(store->LimitSize(4'096).ok());
  const absl::Status status = store->PutBatch("run", MakeContext(1).source_id, HashOf("x"), stream[1]);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  EXPECT_THAT(std::string(status.message()), HasSubstr("make room"));
  EXPECT_EQ(store->PutSource("run", MakeContext(1))->last_sequence, 0);
  ASSERT_TRUE(store->LimitSize(1 << 30).ok());
  EXPECT_TRUE(store->PutBatch("run", MakeContext(1).source_id, HashOf("x"), stream[1]).ok());
}

TEST_F(SqliteStoreTest, ABatchIsAcknowledgedOnlyOnceItIsOnTheDisk) {
  int calls = 0;
  const auto count = [&calls] {
    ++calls;
    return absl::OkStatus();
  };
  const std::unique_ptr<SqliteStore> store = *SqliteStore::OpenWithSync(path_, count);
  ASSERT_TRUE(store->OpenRun("run", -1).ok());
  for (const Batch& batch : MakeStream(1, 3, 50)) {
    ASSERT_TRUE(store->PutSource("run", MakeContext(1)).ok());
    const int before = calls;
    ASSERT_TRUE(store->PutBatch("run", MakeContext(1).source_id, HashOf(EncodeBatch(batch)), batch).ok());
    EXPECT_EQ(calls, before + 1);
    // Again: it is there.
    ASSERT_TRUE(store->PutBatch("run", MakeContext(1).source_id, HashOf(EncodeBatch(batch)), batch).ok());
    EXPECT_EQ(calls, before + 1);
  }
}

TEST_F(SqliteStoreTest, WhatTheDiskDoesNotKeepIsNeitherAcknowledgedNorTold) {
  bool fails = false;
  const auto sync = [&fails] { return fails ? absl::UnknownError("EIO") : absl::OkStatus(); };
  const std::vector<Batch> stream = MakeStream(1, 2, 50);
  const Hash128 id = MakeContext(1).source_id;
  {
    const std::unique_ptr<SqliteStore> store = *SqliteStore::OpenWithSync(path_, sync);
    Fill(*store, 1, {stream[0]});
    fails = true;
    const absl::Status status = store->PutBatch("run", id, HashOf(EncodeBatch(stream[1])), stream[1]);
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("start the aggregator again"));
    fails = false;  // too late: nobody knows what was lost
    EXPECT_FALSE(store->PutBatch("run", id, HashOf(EncodeBatch(stream[1])), stream[1]).ok());
    EXPECT_FALSE(store->PutSource("run", MakeContext(1)).ok());
    EXPECT_FALSE(store->Lacking("run", {{.id = id, .batches = 2}}).ok());
  }
  const std::unique_ptr<SqliteStore> store = OpenFile();
  EXPECT_GE(store->PutSource("run", MakeContext(1))->last_sequence, 0);
  EXPECT_TRUE(store->PutBatch("run", id, HashOf(EncodeBatch(stream[1])), stream[1]).ok());
}

// What was written without waiting for the disk is there after a crash of the process, and perhaps not after one of the
// machine: an aggregator that starts tells of it only once it is safe.
TEST_F(SqliteStoreTest, WhatAnEarlierProcessLeftInTheLogIsPutOnTheDiskFirst) {
  const std::string left = dir_->path() + "/left.db";
  {
    const std::unique_ptr<SqliteStore> store = OpenFile();
    Fill(*store, 1, MakeStream(1, 2, 50));
    std::filesystem::copy_file(path_, left);
    std::filesystem::copy_file(path_ + "-wal", left + "-wal");
  }
  ASSERT_GT(std::filesystem::file_size(left + "-wal"), 0U);
  const std::unique_ptr<SqliteStore> store = *SqliteStore::Open(left);
  EXPECT_EQ(std::filesystem::file_size(left + "-wal"), 0U);
  EXPECT_EQ(store->PutSource("run", MakeContext(1))->last_sequence, 1);
}

TEST_F(SqliteStoreTest, ATextFileIsRefusedUntouched) {
  const std::string text(5'000, 'x');
  WriteFile(text);
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition), HasSubstr("no lockstep store"));
  EXPECT_EQ(ReadFile(), text);
}

TEST_F(SqliteStoreTest, ADatabaseOfSomethingElseIsRefusedUntouched) {
  {
    absl::StatusOr<Database> db = Database::Open(path_, Database::Mode::kReadWriteCreate);
    ASSERT_TRUE(db->Execute("CREATE TABLE StringIds (id INTEGER, value TEXT)").ok());
  }
  const std::string before = ReadFile();
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition), HasSubstr("no lockstep store"));
  EXPECT_EQ(ReadFile(), before);
}

TEST_F(SqliteStoreTest, AStoreOfANewerVersionIsRefused) {
  OpenFile();
  {
    absl::StatusOr<Database> db = Database::Open(path_, Database::Mode::kReadWriteCreate);
    ASSERT_TRUE(db->Execute("PRAGMA user_version=999").ok());
  }
  const std::string words = Refusal(absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(words, HasSubstr("schema 999"));
  EXPECT_THAT(words, HasSubstr("--store"));
}

TEST_F(SqliteStoreTest, ACutStoreIsRefusedAsDamaged) {
  Fill(*OpenFile(), 1, MakeStream(1, 2, 200));
  const std::string bytes = ReadFile();
  WriteFile(bytes.substr(0, bytes.size() / 2));
  std::remove((path_ + "-wal").c_str());
  std::remove((path_ + "-shm").c_str());
  EXPECT_THAT(Refusal(absl::StatusCode::kDataLoss), HasSubstr("damaged"));
}

TEST_F(SqliteStoreTest, AStoreOfASchemaThatNeverWasIsRefused) {
  OpenFile();
  Change("PRAGMA user_version=-1");
  EXPECT_THAT(Refusal(absl::StatusCode::kDataLoss), HasSubstr("schema -1"));
}

TEST_F(SqliteStoreTest, ARunWhoseRowsReferToNamesThatAreNotThereIsToldAsDamaged) {
  Fill(*OpenFile(), 1, MakeStream(1, 2, 200));
  EXPECT_TRUE(OpenFile()->LoadRun("run").ok());
  Change("DELETE FROM source_name");
  const auto loaded = OpenFile()->LoadRun("run");
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss) << loaded.status();
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("not there"));
}

// Unguarded, opening would count rows of this for ever.
TEST_F(SqliteStoreTest, AStoreWhoseTableIsAViewIsRefused) {
  OpenFile();
  Change(
      "DROP TABLE summary; CREATE VIEW summary AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
      "SELECT x AS row, x AS source FROM n WHERE x < 0");
  EXPECT_THAT(Refusal(absl::StatusCode::kDataLoss), HasSubstr("summary"));
}

TEST_F(SqliteStoreTest, TriggersOfAStrangerDoNotFire) {
  OpenFile();
  Change(
      "CREATE TABLE seen (name TEXT); CREATE TRIGGER spy AFTER INSERT ON run BEGIN INSERT INTO seen VALUES (new.name); "
      "END");
  EXPECT_TRUE(OpenFile()->OpenRun("secret", -1).ok());
  EXPECT_EQ(Ask("SELECT count(*) FROM run"), "1");
  EXPECT_EQ(Ask("SELECT count(*) FROM seen"), "0");
}

TEST_F(SqliteStoreTest, AStoreWithVirtualTablesIsRefusedUntouched) {
  OpenFile();
  Change("CREATE VIRTUAL TABLE more USING fts5(text)");
  const std::string before = ReadFile();
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition), HasSubstr("virtual tables"));
  EXPECT_EQ(ReadFile(), before);
}

TEST_F(SqliteStoreTest, AMissingFolderIsToldByName) {
  path_ = dir_->path() + "/no/such/folder/runs.db";
  EXPECT_THAT(Refusal(absl::StatusCode::kNotFound), HasSubstr(path_));
}

TEST_F(SqliteStoreTest, AStoreOfTheFirstSchemaIsTakenOverWithItsSteps) {
  Fill(*OpenFile(), 1, MakeStream(1, 2, 200));
  const std::string steps = Ask("SELECT count(*) FROM step");
  std::string undo;
  for (const std::string& column : StepColumnNames()) {
    const bool is_new = column.starts_with("foreign_") || column.starts_with("sync_") || column.starts_with("alloc_") ||
                        column.starts_with("host_copy_") || column.starts_with("graph_") || column == "launch_ns" ||
                        column == "host_copies" || column == "forward_ns" || column == "backward_ns" ||
                        column == "optimizer_ns";
    if (is_new) undo += "ALTER TABLE step DROP COLUMN " + column + ";";
  }
  Change(undo + kAsBeforeSchemaFour +
         "DROP TABLE file_note; CREATE TABLE file_note (run INTEGER NOT NULL, path TEXT NOT NULL, status TEXT NOT "
         "NULL, reason TEXT NOT NULL, note BLOB NOT NULL, PRIMARY KEY (run, path));"
         "INSERT INTO file_note VALUES (1, 'a.json', 'used', '', x''); PRAGMA user_version=1");
  ASSERT_EQ(Ask("SELECT count(*) FROM pragma_table_info('step') WHERE name = 'sync_ns'"), "0");
  OpenFile();
  EXPECT_EQ(Ask("PRAGMA user_version"), std::to_string(kStoreSchemaVersion));
  EXPECT_EQ(Ask("SELECT count(*) FROM step WHERE sync_ns = 0 AND foreign_span_ns = 0"), steps);
  EXPECT_EQ(Ask("SELECT path || host || status FROM file_note"), "a.jsonused");
  FileNote again = {"a.json", "kineto", "partial"};
  again.host = "node0";
  ASSERT_TRUE(OpenFile()->PutFileNote("run", again).ok());
  EXPECT_EQ(Ask("SELECT group_concat(path || ' ' || host) FROM file_note"), "a.json node0") << "one file, one note";
}

TEST_F(SqliteStoreTest, TheSchemaVersionIsInTheFile) {
  OpenFile();
  EXPECT_EQ(Ask("PRAGMA user_version"), std::to_string(kStoreSchemaVersion));
  EXPECT_EQ(Ask("PRAGMA application_id"), std::to_string(kStoreApplicationId));
  EXPECT_EQ(Ask("PRAGMA journal_mode"), "wal");
}

}  // namespace
}  // namespace lockstep
