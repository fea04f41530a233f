#include "platform/sqlite.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/temp_dir.h"

namespace lockstep {
namespace {

class KeptStatements : public testing::Test {
 protected:
  KeptStatements() : db_(*Database::Open("", Database::Mode::kMemory)) {
    EXPECT_TRUE(db_.Execute("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1), (2), (3)").ok());
    db_.KeepStatements();
  }
  Statement Prepare(const char* sql) {
    absl::StatusOr<Statement> statement = db_.Prepare(sql);
    EXPECT_TRUE(statement.ok()) << statement.status();
    return *std::move(statement);
  }

  Database db_;
};

TEST_F(KeptStatements, StartAnewWithoutTheirBindings) {
  constexpr const char* kSql = "SELECT x, ? FROM t ORDER BY x";
  {
    Statement first = Prepare(kSql);
    first.BindInt(1, 7);
    EXPECT_TRUE(*first.Step());
    EXPECT_TRUE(*first.Step());
    EXPECT_EQ(first.Int(0), 2);
  }
  Statement again = Prepare(kSql);
  EXPECT_TRUE(*again.Step());
  EXPECT_EQ(again.Int(0), 1);
  EXPECT_TRUE(again.IsNull(1));
}

TEST_F(KeptStatements, OfOneTextMayBeUsedTwiceAtOnce) {
  Prepare("SELECT x FROM t ORDER BY x");
  Statement a = Prepare("SELECT x FROM t ORDER BY x");
  Statement b = Prepare("SELECT x FROM t ORDER BY x");
  EXPECT_TRUE(*a.Step());
  EXPECT_TRUE(*a.Step());
  EXPECT_TRUE(*b.Step());
  EXPECT_EQ(a.Int(0), 2);
  EXPECT_EQ(b.Int(0), 1);
}

TEST_F(KeptStatements, FollowAChangeOfTheTables) {
  { EXPECT_TRUE(*Prepare("SELECT * FROM t").Step()); }
  ASSERT_TRUE(db_.Execute("ALTER TABLE t ADD COLUMN y INTEGER DEFAULT 5").ok());
  Statement again = Prepare("SELECT * FROM t");
  EXPECT_TRUE(*again.Step());
  EXPECT_EQ(again.Columns(), 2);
}

TEST_F(KeptStatements, AreOfUseAfterOneFailed) {
  ASSERT_TRUE(db_.Execute("CREATE UNIQUE INDEX one ON t (x)").ok());
  for (int round = 0; round < 2; ++round) {
    Statement insert = Prepare("INSERT INTO t VALUES (?)");
    insert.BindInt(1, 1);
    EXPECT_FALSE(insert.Run().ok());
  }
  Statement insert = Prepare("INSERT INTO t VALUES (?)");
  insert.BindInt(1, 4);
  EXPECT_TRUE(insert.Run().ok());
}

TEST_F(KeptStatements, MayOutliveTheirDatabase) {
  std::optional<Database> moved(std::move(db_));
  absl::StatusOr<Statement> statement = moved->Prepare("SELECT x FROM t");
  ASSERT_TRUE(statement.ok());
  moved.reset();
}

TEST_F(KeptStatements, OfManyTextsAreNotAllKept) {
  for (int i = 0; i < 1'000; ++i) {
    Statement statement = Prepare(("SELECT x + " + std::to_string(i) + " FROM t ORDER BY x").c_str());
    EXPECT_TRUE(*statement.Step());
    EXPECT_EQ(statement.Int(0), 1 + i);
  }
}

std::optional<int64_t> IntegerOf(const RowValues& row, int column) {
  int64_t value = 0;
  return row.ReadInteger(column, value) ? std::optional(value) : std::nullopt;
}

Database WithTable() {
  Database db = *Database::Open("", Database::Mode::kMemory);
  EXPECT_TRUE(
      db.Execute("CREATE TABLE t (number, text); INSERT INTO t VALUES (1, 'one'), (NULL, x'00ff'), (2.5, '3');").ok());
  return db;
}

TEST(VisitRows, HandsOverEachRowInOrderOfItsId) {
  Database db = WithTable();
  std::vector<std::optional<int64_t>> numbers;
  std::vector<std::string> texts;
  std::vector<size_t> blobs;
  ASSERT_TRUE(db.VisitRows("_rowid_, number, text", "t", [&](const RowValues& row) {
                  EXPECT_EQ(IntegerOf(row, 0), static_cast<int64_t>(numbers.size()) + 1);
                  EXPECT_EQ(row.IsNull(1), numbers.size() == 1);
                  numbers.push_back(IntegerOf(row, 1));
                  texts.emplace_back(row.TextIfText(2));
                  blobs.push_back(row.BlobIfBlob(2).size());
                  return true;
                }).ok());
  EXPECT_EQ(numbers, (std::vector<std::optional<int64_t>>{1, std::nullopt, std::nullopt}));
  EXPECT_EQ(texts, (std::vector<std::string>{"one", "", "3"}));
  EXPECT_EQ(blobs, (std::vector<size_t>{0, 2, 0}));
}

TEST(VisitRows, AVisitThatStopsIsNoError) {
  Database db = WithTable();
  int visits = 0;
  EXPECT_TRUE(db.VisitRows("number", "t", [&](const RowValues&) { return ++visits < 2; }).ok());
  EXPECT_EQ(visits, 2);
  EXPECT_TRUE(db.VisitRows("number", "t WHERE number = 7", [&](const RowValues&) { return ++visits < 0; }).ok());
  EXPECT_EQ(visits, 2) << "no row, no visit";
}

TEST(VisitRows, AVisitMayVisitOtherRows) {
  Database db = WithTable();
  int64_t inner = 0;
  int64_t outer = 0;
  ASSERT_TRUE(db.VisitRows("_rowid_", "t", [&](const RowValues& row) {
                  outer += *IntegerOf(row, 0);
                  EXPECT_TRUE(db.VisitRows("_rowid_", "t", [&](const RowValues& other) {
                                  inner += *IntegerOf(other, 0);
                                  return *IntegerOf(other, 0) < 2;
                                }).ok());
                  return true;
                }).ok());
  EXPECT_EQ(outer, 1 + 2 + 3);
  EXPECT_EQ(inner, 3 * (1 + 2));
}

TEST(VisitRows, SurvivesAMoveOfTheDatabase) {
  Database first = WithTable();
  const auto all = [](const RowValues&) { return true; };
  ASSERT_TRUE(first.VisitRows("number", "t", all).ok());
  Database second = std::move(first);
  int visits = 0;
  EXPECT_TRUE(second.VisitRows("number", "t", [&](const RowValues&) { return ++visits > 0; }).ok());
  EXPECT_EQ(visits, 3);
}

TEST(VisitRows, ATableThatIsNotThereIsAnError) {
  Database db = WithTable();
  EXPECT_FALSE(db.VisitRows("number", "missing", [](const RowValues&) { return true; }).ok());
}

TEST(VisitRows, NoViewOfAFileCanCallIt) {
  Database db = WithTable();
  ASSERT_TRUE(db.VisitRows("number", "t", [](const RowValues&) { return true; }).ok());
  ASSERT_TRUE(db.Execute("CREATE VIEW v AS SELECT visit_row(number) AS n FROM t").ok());
  EXPECT_FALSE(db.Execute("SELECT n FROM v").ok());
}

TEST(DatabaseLog, LiesBesideTheFileAndNotBesideALinkToIt) {
  const TempDir dir = *TempDir::Create("", "sqlite-test-");
  const std::string file = dir.path() + "/file.db";
  const std::string link = dir.path() + "/link.db";
  std::filesystem::create_symlink(file, link);
  Database db = *Database::Open(link, Database::Mode::kReadWriteCreate);
  ASSERT_TRUE(db.Execute("PRAGMA journal_mode=WAL; CREATE TABLE t (x)").ok());
  EXPECT_EQ(db.LogPath(), std::filesystem::canonical(file).string() + "-wal");
  EXPECT_TRUE(std::filesystem::exists(db.LogPath()));
}

}  // namespace
}  // namespace lockstep
