#include "platform/sqlite.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

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

}  // namespace
}  // namespace lockstep
