// What is kept of trace files: by run and path, beside the content.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/store/sqlite/sqlite_store.h"
#include "platform/sqlite.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

class HeldFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "store-held-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_.emplace(*std::move(dir));
    Reopen();
    ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  }

  void Reopen() {
    store_.reset();
    store_ = SqliteStore::Open(path()).value();
  }
  [[nodiscard]] std::string path() const { return dir_->path() + "/runs.db"; }
  [[nodiscard]] std::vector<HeldFile> Held(const std::string& run = "run") { return store_->HeldFiles(run).value(); }

  const HeldFile first_{"a.json", {1, 2}, std::string("gave\0this", 9)};
  const HeldFile second_{"b.json", {3, 4}, "that"};
  std::optional<TempDir> dir_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(HeldFilesTest, WhatWasKeptIsFoundByPathByTheNextProcess) {
  ASSERT_EQ(store_->KeepHeldFiles("run", {second_, first_}), absl::OkStatus());
  Reopen();
  EXPECT_EQ(Held(), (std::vector<HeldFile>{first_, second_}));
}

TEST_F(HeldFilesTest, APathHasOneFileTheLastOne) {
  ASSERT_TRUE(store_->KeepHeldFiles("run", {first_, second_}).ok());
  const HeldFile changed{"a.json", {5, 6}, "other"};
  ASSERT_TRUE(store_->KeepHeldFiles("run", {changed}).ok());
  EXPECT_EQ(Held(), (std::vector<HeldFile>{changed, second_}));
}

TEST_F(HeldFilesTest, ARunKeepsItsOwnAndTakesThemAlong) {
  ASSERT_TRUE(store_->OpenRun("other", -1).ok());
  ASSERT_TRUE(store_->KeepHeldFiles("run", {first_}).ok());
  ASSERT_TRUE(store_->KeepHeldFiles("other", {second_}).ok());
  ASSERT_TRUE(store_->DropRun("run").ok());
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  EXPECT_TRUE(Held().empty());
  EXPECT_EQ(Held("other"), std::vector<HeldFile>{second_});
}

TEST_F(HeldFilesTest, ARunThatIsNotThereHasNoneAndKeepsNone) {
  EXPECT_TRUE(Held("none").empty());
  EXPECT_TRUE(absl::IsNotFound(store_->KeepHeldFiles("none", {first_})));
}

TEST_F(HeldFilesTest, TheyAreNoChangeOfTheRun) {
  const auto before = store_->LoadRun("run").value().content.value();
  ASSERT_TRUE(store_->KeepHeldFiles("run", {first_}).ok());
  const auto after = store_->LoadRun("run").value().content.value();
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_EQ(after.changed_unix_ns, before.changed_unix_ns);
}

TEST_F(HeldFilesTest, AKeyThatWasDamagedIsPassedOver) {
  ASSERT_TRUE(store_->KeepHeldFiles("run", {first_, second_}).ok());
  ASSERT_TRUE(Database::Open(path(), Database::Mode::kReadWriteCreate)
                  ->Execute("UPDATE held_file SET key = x'01' WHERE path = 'a.json'")
                  .ok());
  EXPECT_EQ(Held(), std::vector<HeldFile>{second_});
}

}  // namespace
}  // namespace lockstep
