// Answers are kept about exactly the content that they were computed from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "aggregator/store/sqlite/answers.h"
#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "platform/temp_dir.h"
#include "proto/batch_codec.h"
#include "tests/unit/proto/batch_samples.h"

namespace lockstep {
namespace {

FileNote UsedNote(const std::string& path) {
  FileNote note;
  note.path = path;
  note.status = "used";
  return note;
}

class AnswersTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "store-answers-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_.emplace(*std::move(dir));
    Reopen();
    ASSERT_TRUE(store_->OpenRun("run", -1).ok());
    Fill("run");
  }

  void Reopen() {
    store_.reset();
    store_ = SqliteStore::Open(path()).value();
  }
  [[nodiscard]] std::string path() const { return dir_->path() + "/runs.db"; }

  void Fill(const std::string& run) {
    const SourceContext context = samples::MakeContext(1);
    ASSERT_TRUE(store_->PutSource(run, context).ok());
    const Batch batch = samples::MakeStream(1, 1, 3)[0];
    ASSERT_TRUE(store_->PutBatch(run, context.source_id, HashOf(EncodeBatch(batch)), batch).ok());
  }

  RunContent Content(const std::string& run = "run") { return store_->LoadRun(run).value().content.value(); }
  void Keep(const std::string& text, const Hash128& key = kKey) {
    EXPECT_EQ(store_->KeepAnswers("run", Content(), {{key, text}}), absl::OkStatus());
  }
  std::optional<std::string> Find(const Hash128& key = kKey, const std::string& run = "run") {
    absl::StatusOr<std::optional<std::string>> found = store_->FindAnswer(run, key);
    EXPECT_EQ(found.status(), absl::OkStatus());
    return found.ok() ? *found : std::nullopt;
  }

  static constexpr Hash128 kKey{1, 2};
  std::optional<TempDir> dir_;
  std::unique_ptr<SqliteStore> store_;
};

// So much that several threads pack it.
TEST_F(AnswersTest, ManyLongOnesAreFoundEachUnderItsOwnKey) {
  std::vector<KeptAnswer> answers;
  for (uint64_t i = 0; i < 9; ++i) {
    std::string text = "{";
    while (text.size() < 300'000) text += std::to_string(text.size() * (i + 1)) + ", ";
    answers.push_back({Hash128{3, i}, std::move(text)});
  }
  answers.push_back({kKey, ""});
  ASSERT_EQ(store_->KeepAnswers("run", Content(), answers), absl::OkStatus());
  for (const KeptAnswer& answer : answers) EXPECT_EQ(Find(answer.key), answer.text);
}

TEST_F(AnswersTest, OneThatWasKeptIsFoundAlsoByTheNextProgram) {
  EXPECT_EQ(Find(), std::nullopt);
  Keep("first");
  EXPECT_EQ(Find(), "first");
  Reopen();
  EXPECT_EQ(Find(), "first");
  EXPECT_EQ(Find({1, 3}), std::nullopt) << "another question";
  EXPECT_EQ(Find(kKey, "other"), std::nullopt) << "another run";
  Keep("second");
  EXPECT_EQ(Find(), "second");
}

TEST_F(AnswersTest, NoneOutlivesAChangeOfTheRun) {
  Keep("of one source");
  ASSERT_TRUE(store_->PutSource("run", samples::MakeContext(2)).ok());
  EXPECT_EQ(Find(), std::nullopt);
  Keep("of two sources");
  ASSERT_TRUE(store_->PutFileNote("run", UsedNote("f")).ok());
  EXPECT_EQ(Find(), std::nullopt);
  Keep("with a note");
  ASSERT_TRUE(store_->OpenRun("run", 8).ok());
  EXPECT_EQ(Find(), std::nullopt) << "other ranks are expected";
  Keep("of eight ranks");
  ASSERT_TRUE(store_->FinishRun("run").ok());
  EXPECT_EQ(Find(), std::nullopt) << "nothing more is expected";
  Keep("of a finished run");
  ASSERT_TRUE(store_->MarkAnalysed("run").ok());
  EXPECT_EQ(Find(), "of a finished run");
}

TEST_F(AnswersTest, WhatWasComputedFromOlderContentIsNotKept) {
  const RunContent old = Content();
  ASSERT_TRUE(store_->PutSource("run", samples::MakeContext(2)).ok());
  EXPECT_EQ(store_->KeepAnswers("run", old, {{kKey, "old"}}), absl::OkStatus());
  EXPECT_EQ(Find(), std::nullopt);
}

TEST_F(AnswersTest, ARunMadeAgainUnderTheNameIsAnother) {
  const RunContent old = Content();
  Keep("old");
  ASSERT_TRUE(store_->DropRun("run").ok());
  EXPECT_EQ(Find(), std::nullopt);
  ASSERT_TRUE(store_->OpenRun("run", -1).ok());
  Fill("run");
  EXPECT_EQ(Content().revision, old.revision);
  EXPECT_EQ(store_->KeepAnswers("run", old, {{kKey, "old"}}), absl::OkStatus());
  EXPECT_EQ(Find(), std::nullopt);
}

TEST_F(AnswersTest, TheOldestGoWhenARunHasMuch) {
  std::mt19937_64 random(3);
  std::string noise(static_cast<size_t>(kMaxOfRunBytes / 3), ' ');
  for (char& c : noise) c = static_cast<char>(random());
  for (uint64_t i = 0; i < 4; ++i) Keep(noise, {9, i});
  EXPECT_EQ(Find({9, 0}), std::nullopt);
  EXPECT_EQ(Find({9, 1}), std::nullopt);
  EXPECT_EQ(Find({9, 3}), noise);
  Keep(std::string(noise + noise + noise + noise), {9, 4});
  EXPECT_EQ(Find({9, 4}), std::nullopt) << "too large by itself";
  EXPECT_EQ(Find({9, 3}), noise);
}

TEST_F(AnswersTest, TheyAreNotCountedAsWhatTheRunTakes) {
  const int64_t before = store_->Usage().value()[0].bytes;
  std::string noise(size_t{4} << 20, ' ');
  std::mt19937_64 random(3);
  for (char& c : noise) c = static_cast<char>(random());
  Keep(noise);
  EXPECT_NEAR(static_cast<double>(store_->Usage().value()[0].bytes), static_cast<double>(before), 64'000.0);
}

TEST_F(AnswersTest, ADamagedOneIsNoAnswer) {
  Keep("something");
  ASSERT_TRUE(
      Database::Open(path(), Database::Mode::kReadWriteCreate)->Execute("UPDATE answer SET report = x'07ff'").ok());
  EXPECT_TRUE(absl::IsDataLoss(store_->FindAnswer("run", kKey).status()));
}

}  // namespace
}  // namespace lockstep
