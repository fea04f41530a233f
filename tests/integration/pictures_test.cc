// The view pictures of a simulated run against its truth and against the views that show the same rank by rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "bench/simulator/command/simulate_command.h"
#include "cli/embedded_cluster.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

constexpr int kRanks = 8;
constexpr int kLateRank = 5;
constexpr int kSteps = 30;

class PicturesOfARun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TempDir folder = TempDir::Create("", "lockstep-pictures-").value();
    const std::string out = folder.path() + "/traces";
    const std::vector<const char*> words = {
        "lockstep-simulate",        "--tp",      "4",     "--dp",     "2", "--steps", "30", "--layers", "4", "--cause",
        "slow_gpu:rank=5,factor=2", "--no-gzip", "--out", out.c_str()};
    const CommandLine command = ParseCommandLine(static_cast<int>(words.size()), words.data());
    ASSERT_TRUE(command.run) << command.message;
    ASSERT_EQ(RunSimulation(command.options, nullptr, nullptr), absl::OkStatus());
    EmbeddedIngest ingest;
    ingest.run = "run";
    for (int rank = 0; rank < kRanks; ++rank) {
      ingest.inputs.files.push_back(out + "/rank" + std::to_string(rank) + ".json");
    }
    ingest.send.condense.tmp_dir = folder.path();
    const auto cluster = EmbeddedCluster::Open({}).value();
    ASSERT_EQ(cluster->Ingest(ingest, {}).status(), absl::OkStatus());
    AnalysisOptions options;
    options.views = {"summary", "skew", "tails", "pace", "stragglers", std::string(kPicturesView)};
    options.instances = -1;
    document_ = std::make_unique<report::Document>(
        report::FromJson<report::Document>(cluster->query().Views("run", options).value()));
    ASSERT_TRUE(document_->pictures);
    options.steps = std::pair<int64_t, int64_t>(3, 5);
    options.ranks = {0, 5};
    restricted_ = std::make_unique<report::Document>(
        report::FromJson<report::Document>(cluster->query().Views("run", options).value()));
  }
  static void TearDownTestSuite() {
    document_ = nullptr;
    restricted_ = nullptr;
  }

  static const report::Pictures& Drawn() { return *document_->pictures; }
  // The code of a cell of a map that is not coarse.
  static int CodeAt(const report::Pictures& pictures, size_t layer, size_t row, size_t column) {
    const report::PictureTile& tile = pictures.layers.at(layer).tiles.at(0);
    std::vector<int> codes;
    for (size_t i = 0; i < tile.cells.size(); ++i) {
      const auto byte = static_cast<unsigned char>(tile.cells[i]);
      if (byte < 0x80) {
        codes.push_back(byte - 0x20);
      } else {
        codes.push_back(((byte & 0x1F) << 6 | (static_cast<unsigned char>(tile.cells[++i]) & 0x3F)) - 0x120);
      }
    }
    return codes.at(row * static_cast<size_t>(tile.columns.value) + column);
  }

  static inline std::unique_ptr<report::Document> document_;
  static inline std::unique_ptr<report::Document> restricted_;
};

TEST_F(PicturesOfARun, TheLateRankIsTheDarkestInEveryStep) {
  ASSERT_EQ(Drawn().ranks.size(), static_cast<size_t>(kRanks));
  ASSERT_EQ(Drawn().columns.kind, "step");
  ASSERT_EQ(Drawn().columns.starts.size(), static_cast<size_t>(kSteps));
  for (size_t step = 0; step < kSteps; ++step) {
    const int late = CodeAt(Drawn(), 0, kLateRank, step);
    for (size_t rank = 0; rank < kRanks; ++rank) {
      if (rank == kLateRank) continue;
      EXPECT_LT(CodeAt(Drawn(), 0, rank, step), late) << rank << " in step " << step;
    }
  }
}

TEST_F(PicturesOfARun, BlameIsThatOfTheHeadline) {
  ASSERT_EQ(document_->summary->culprits.size(), 1U);
  const report::Culprit& culprit = document_->summary->culprits.front();
  EXPECT_EQ(culprit.id, std::to_string(kLateRank));
  EXPECT_EQ(Drawn().blame_ns.at(kLateRank).value, culprit.caused_wait_total_ns.value);
}

TEST_F(PicturesOfARun, TheCellsOfARankAddUpToItsBlame) {
  for (size_t rank = 0; rank < kRanks; ++rank) {
    double sum = 0;
    for (size_t step = 0; step < kSteps; ++step) {
      const int code = CodeAt(Drawn(), 0, rank, step);
      if (code >= 2) sum += 1000 * std::exp2((code - 2) / 8.0);
    }
    const auto blame = static_cast<double>(Drawn().blame_ns.at(rank).value);
    if (blame <= 50'000) continue;
    EXPECT_NEAR(sum / blame, 1, 0.05) << rank;  // half a code is 4.4 %
  }
}

TEST_F(PicturesOfARun, LatenessIsTheLargestOfTheStepsCollectives) {
  std::map<std::pair<int64_t, int32_t>, int64_t> largest;
  for (const report::SkewInstance& instance : document_->skew->instances) {
    if (!instance.step || !instance.uncertainty_ns) continue;
    for (const report::SkewMember& member : instance.members) {
      const int64_t late = member.lateness_ns.value_or(0);
      if (late <= 0) continue;
      int64_t& most = largest[{*instance.step, member.rank}];
      most = std::max(most, late > instance.uncertainty_ns->value ? late : int64_t{1});
    }
  }
  ASSERT_FALSE(largest.empty());
  for (size_t step = 0; step < kSteps; ++step) {
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const int64_t late = largest[{static_cast<int64_t>(step), static_cast<int32_t>(rank)}];
      const int code = CodeAt(Drawn(), 1, rank, step);
      if (late <= 1) {
        EXPECT_EQ(code, late) << rank << " in step " << step;  // 1 is also the code of what cannot be resolved
      } else {
        const double expected = 2 + 8 * std::log2(static_cast<double>(late) / 1000);
        EXPECT_NEAR(code, std::max(2.0, expected), 0.51) << rank << " in step " << step;
      }
    }
  }
}

TEST_F(PicturesOfARun, ShowsTheFiftyCollectivesWithTheMostWaiting) {
  std::vector<int64_t> waits;
  for (const report::SkewInstance& instance : document_->skew->instances) {
    int64_t wait = 0;
    for (const report::SkewMember& member : instance.members) wait += member.wait_ns ? member.wait_ns->value : 0;
    waits.push_back(wait);
  }
  ASSERT_GT(waits.size(), 50U);
  std::sort(waits.rbegin(), waits.rend());
  std::vector<int64_t> shown;
  for (const report::PictureInstance& drawn : Drawn().instances) {
    shown.push_back(drawn.wait_total_ns.value);
    EXPECT_EQ(drawn.members.value, static_cast<int64_t>(drawn.instance.members.size()));
  }
  std::sort(shown.rbegin(), shown.rend());
  waits.resize(50);
  EXPECT_EQ(shown, waits);
}

TEST_F(PicturesOfARun, BucketsCountEveryInstanceOfTheTail) {
  ASSERT_FALSE(document_->tails->empty());
  for (size_t i = 0; i < Drawn().tails.size(); ++i) {
    const report::PictureTail& drawn = Drawn().tails[i];
    const report::TailRow& row = document_->tails->at(i);
    EXPECT_EQ(drawn.name, row.name);
    int64_t count = 0;
    for (size_t b = 0; b < drawn.durations.counts.size(); ++b) {
      count += drawn.durations.counts[b].value;
      EXPECT_LT(drawn.durations.lower_ns[b], drawn.durations.upper_ns[b]);
      EXPECT_LE(b == 0 ? -1 : drawn.durations.upper_ns[b - 1], drawn.durations.lower_ns[b]);
    }
    EXPECT_EQ(count, row.fleet_ns.count.value);
  }
}

TEST_F(PicturesOfARun, PaceIsThatOfTheViewPace) {
  const report::PictureOfPace& drawn = Drawn().pace.value();
  EXPECT_EQ(drawn.rows.value, kRanks);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    const auto& busy = document_->pace->ranks.at(rank).busy_ratio;
    ASSERT_EQ(busy.size(), static_cast<size_t>(drawn.buckets.value));
    for (size_t b = 0; b < busy.size(); ++b) {
      const size_t at = rank * busy.size() + b;  // percentages need one byte, but for those of quote and backslash
      if (drawn.busy.size() != kRanks * busy.size()) break;
      EXPECT_NEAR(drawn.busy[at] - 32, 100 * busy[b].value_or(0), 0.51);
    }
  }
}

TEST_F(PicturesOfARun, ASelectionShowsItsRanksAndStepsAndSaysWhatItDoesNotRestrict) {
  const report::Pictures& part = restricted_->pictures.value();
  EXPECT_EQ(part.ranks, (std::vector<int32_t>{0, 5}));
  EXPECT_EQ(part.columns.starts, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(CodeAt(part, 0, 1, 0), CodeAt(Drawn(), 0, kLateRank, 3));
  EXPECT_TRUE(std::any_of(restricted_->notices.begin(), restricted_->notices.end(),
                          [](const report::NoticeRow& notice) { return notice.view == kPicturesView; }));
}

}  // namespace
}  // namespace lockstep
