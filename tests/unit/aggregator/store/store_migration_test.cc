// Stores of every older schema are taken over whole; what cannot be used is refused untouched, with the way out.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/store/dump/store_dump.h"
#include "aggregator/store/sqlite/schema.h"
#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/model/source_extent.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class MigrationTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "store-migration-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_.emplace(*std::move(dir));
  }

  // A file made by the statements of a fixture, and then these.
  std::string Make(int64_t version, const std::string& more = "") {
    const std::string sql = ReadAll(fmt::format("tests/unit/aggregator/store/fixtures/schema_{}.sql", version));
    EXPECT_FALSE(sql.empty()) << "no fixture for schema " << version;
    std::string path = fmt::format("{}/{}_{}.db", dir_->path(), version, ++files_);
    absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadWriteCreate);
    EXPECT_TRUE(db.ok()) << db.status();
    const absl::Status made = db->Execute(sql + more);
    EXPECT_TRUE(made.ok()) << made;
    return path;
  }

  static std::string Dump(const std::string& path) {
    std::string text;
    const absl::Status dumped = DumpStore(path, [&](std::string_view piece) {
      text += piece;
      return absl::OkStatus();
    });
    EXPECT_TRUE(dumped.ok()) << dumped;
    return text;
  }

  static int64_t Ask(const std::string& path, const std::string& sql) {
    absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadWriteCreate);
    absl::StatusOr<Statement> statement = db->Prepare(sql);
    EXPECT_TRUE(statement.ok()) << statement.status();
    EXPECT_TRUE(*statement->Step());
    return statement->Int(0);
  }

  static void ExpectRefusedUntouched(const std::string& path, absl::StatusCode code, const std::string& way_out) {
    const std::string before = ReadAll(path);
    const auto store = SqliteStore::Open(path);
    EXPECT_EQ(store.status().code(), code) << store.status();
    EXPECT_THAT(std::string(store.status().message()), testing::AllOf(HasSubstr(path), HasSubstr(way_out)));
    EXPECT_EQ(ReadAll(path), before);
  }

  std::optional<TempDir> dir_;
  int files_ = 0;
};

TEST_F(MigrationTest, EverySchemaHasAFixture) {
  for (int64_t version = 1; version <= kStoreSchemaVersion; ++version) {
    EXPECT_EQ(Ask(Make(version), "PRAGMA user_version"), version);
  }
}

TEST_F(MigrationTest, AnOlderStoreIsTakenOverWithAllItHolds) {
  const std::string newest = Dump(Make(kStoreSchemaVersion));
  for (int64_t version = 1; version < kStoreSchemaVersion; ++version) {
    const std::string path = Make(version);
    ASSERT_TRUE(SqliteStore::Open(path).ok());
    EXPECT_EQ(Ask(path, "PRAGMA user_version"), kStoreSchemaVersion);
    EXPECT_TRUE(Dump(path) == newest) << "schema " << version;
  }
}

TEST_F(MigrationTest, ARunOfAnOlderStoreIsLoadedAndGoesOn) {
  for (int64_t version = 1; version <= kStoreSchemaVersion; ++version) {
    const auto store = SqliteStore::Open(Make(version)).value();
    const absl::StatusOr<LoadedRun> loaded = store->LoadRun("old");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_EQ(loaded->data.sources.size(), 1U);
    const SourceData& source = loaded->data.sources[0];
    EXPECT_TRUE(source.complete);
    EXPECT_EQ(source.instance_count, 6);
    EXPECT_EQ(source.kernels.size(), 13U);
    EXPECT_EQ(source.steps.size(), 2U);
    EXPECT_EQ(source.step_kernels.size(), 26U);
    ASSERT_EQ(loaded->data.files.size(), 1U);
    EXPECT_EQ(loaded->data.files[0].status, "used");
    SourceContext another = source.context;
    another.source_id = {1, 2};
    EXPECT_TRUE(store->PutSource("old", another).ok());
    EXPECT_TRUE(store->DropRun("old").ok());
  }
}

TEST_F(MigrationTest, WhatIsKeptBesideARunIsAddedForRunsOfOlderStores) {
  const FileNote note = {"sim/t/rank0.json.gz", "kineto", "used"};
  for (int64_t version = 1; version <= kStoreSchemaVersion; ++version) {
    const std::string path = Make(version);
    const auto store = SqliteStore::Open(path).value();
    EXPECT_EQ(Ask(path, "SELECT sources FROM run"), 1);
    EXPECT_EQ(Ask(path, "SELECT names FROM run"), 24);
    EXPECT_EQ(Ask(path, "SELECT files FROM run"), 1);
    EXPECT_THAT(store->Lacking("old", {{FileNoteId(note), 1}, {{4, 4}, 1}}).value(),
                testing::ElementsAre(Hash128{4, 4}))
        << "schema " << version;
  }
}

TEST_F(MigrationTest, ANewerStoreIsRefusedUntouched) {
  const std::string path = Make(kStoreSchemaVersion, fmt::format("PRAGMA user_version={}", kStoreSchemaVersion + 1));
  ExpectRefusedUntouched(path, absl::StatusCode::kFailedPrecondition, "use the newer program");
}

TEST_F(MigrationTest, AMigrationThatFailsLeavesTheOlderStoreAsItWas) {
  for (int64_t version = 1; version < kStoreSchemaVersion; ++version) {
    const std::string path = Make(
        version,
        "CREATE TABLE IF NOT EXISTS batch_step_kernels (x); CREATE TABLE baseline (x); DROP VIEW v_step; DROP TABLE "
        "step; ALTER TABLE run RENAME TO other;");
    const auto store = SqliteStore::Open(path);
    EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
    EXPECT_THAT(std::string(store.status().message()), testing::AllOf(HasSubstr(path), HasSubstr("move it away")));
    EXPECT_EQ(Ask(path, "PRAGMA user_version"), version);
    EXPECT_EQ(Ask(path, "SELECT count(*) FROM other"), 1);
  }
}

TEST_F(MigrationTest, AStoreWithoutOneOfItsTablesIsRefusedAsDamaged) {
  const std::string path = Make(kStoreSchemaVersion, "DROP TABLE summary;");
  const auto store = SqliteStore::Open(path);
  EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr(".recover"));
}

TEST_F(MigrationTest, AStoreCutAnywhereIsRefusedOrWhole) {
  const std::string whole_path = Make(kStoreSchemaVersion);
  const std::string bytes = ReadAll(whole_path);
  const std::string path = dir_->path() + "/cut.db";
  for (size_t keep = 100; keep < bytes.size(); keep += bytes.size() / 23) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes.substr(0, keep);
    const auto store = SqliteStore::Open(path);
    EXPECT_TRUE(absl::IsDataLoss(store.status()) || absl::IsFailedPrecondition(store.status()))
        << keep << " of " << bytes.size() << ": " << store.status();
    std::remove((path + "-wal").c_str());
    std::remove((path + "-shm").c_str());
  }
}

}  // namespace
}  // namespace lockstep
