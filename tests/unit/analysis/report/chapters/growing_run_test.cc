// A run that is asked about while it grows, against what is told of all of it at once.
#include "analysis/report/growing_run.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/json.h"
#include "tests/support/run_builder.h"
#include "tests/support/simulator/simulated.h"
#include "tests/unit/analysis/report/chapters/report_totals.h"

namespace lockstep {
namespace {

constexpr GrowingLimits kLimits = {.chapters = {0, 4'000, 1}, .most_open_rows = 1 << 20};

using Rows = std::vector<InstanceRow>;

// Blocks of up to 64 rows, in pieces of 16; knows what was read before by its last row.
class PrefixStream final : public InstanceStream {
 public:
  PrefixStream(const Rows& rows, size_t next, size_t end) : rows_(rows), next_(next), end_(end) {}
  absl::StatusOr<std::vector<InstanceRow>> Take() override {
    const size_t last = std::min(end_, next_ + 16);
    Rows block(rows_.begin() + static_cast<int64_t>(next_), rows_.begin() + static_cast<int64_t>(last));
    next_ = last;
    return block;
  }
  [[nodiscard]] bool InMidst() const override { return next_ % 64 != 0 && next_ < end_; }
  [[nodiscard]] InstancePosition Position() const override {
    EXPECT_FALSE(InMidst());
    if (next_ == 0) return {};
    return {static_cast<int64_t>(next_) - 1, ContentOf(rows_[next_ - 1])};
  }
  static Hash128 ContentOf(const InstanceRow& row) { return {static_cast<uint64_t>(row.start_ns), 1}; }

 private:
  const Rows& rows_;
  size_t next_;
  size_t end_;
};

struct Snapshot final : public InstanceSource {
  RunData run;
  std::vector<const Rows*> rows;
  std::vector<size_t> ends;

  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override { return OpenBehind(source, {}); }
  absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) override {
    const auto next = static_cast<size_t>(position.number + 1);
    if (next > ends[source] || (next > 0 && PrefixStream::ContentOf((*rows[source])[next - 1]) != position.content)) {
      return absl::FailedPreconditionError("other rows");
    }
    return std::make_unique<PrefixStream>(*rows[source], next, ends[source]);
  }
};

// A simulated run of 16 ranks as it is stored piece by piece.
class GrowingRunTest : public testing::Test {
 protected:
  void SetUp() override {
    made_ = Simulated({"--program", "decode", "--tp", "8", "--dp", "2", "--hosts", "2", "--steps", "60", "--layers",
                       "20", "--clock", "offset_ms=5,drift_ppm=5", "--cause", "slow_gpu:rank=3,factor=1.3"});
    for (size_t s = 0; s < made_->run.sources.size(); ++s) {
      auto stream = made_->instances->Open(s);
      ASSERT_TRUE(stream.ok());
      Rows& rows = rows_.emplace_back();
      while (true) {
        auto block = (*stream)->Take();
        ASSERT_TRUE(block.ok());
        if (block->empty()) break;
        rows.insert(rows.end(), block->begin(), block->end());
      }
    }
  }

  // All that ended in so many percent of the time; of source `behind` only half as many.
  [[nodiscard]] Snapshot Until(int64_t percent, size_t behind = SIZE_MAX) const {
    Snapshot out;
    out.run = made_->run;
    out.run.info.state = RunState::kOpen;
    for (size_t s = 0; s < out.run.sources.size(); ++s) {
      SourceData& source = out.run.sources[s];
      const int64_t first = source.context.first_start_ns;
      const int64_t part = s == behind ? percent / 2 : percent;
      const int64_t end = first + (source.context.last_end_ns - first) / 100 * part;
      const Rows& rows = rows_[s];
      out.rows.push_back(&rows);
      out.ends.push_back(static_cast<size_t>(
          std::partition_point(rows.begin(), rows.end(), [&](const InstanceRow& r) { return r.end_ns() <= end; }) -
          rows.begin()));
      source.complete = false;
      source.instance_count = static_cast<int64_t>(out.ends.back());
      std::erase_if(source.steps, [&](const StepRow& step) { return step.window_end_ns > end; });
    }
    return out;
  }

  void Without(size_t source, Snapshot& snapshot) const {
    const auto at = static_cast<int64_t>(source);
    snapshot.run.sources.erase(snapshot.run.sources.begin() + at);
    snapshot.rows.erase(snapshot.rows.begin() + at);
    snapshot.ends.erase(snapshot.ends.begin() + at);
  }

  absl::Status Advance(GrowingRun& grown, Snapshot snapshot, const std::function<bool()>& go_on = nullptr) {
    InlineExecutor executor;
    RunData run = snapshot.run;
    return grown.Advance(std::move(run), snapshot, executor, go_on);
  }

  static AnalysisOptions All() {
    AnalysisOptions options;
    options.views = {"all"};
    return options;
  }

  Json ReportOf(const GrowingRun& grown) {
    InlineExecutor executor;
    auto report = grown.Report(All(), executor);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : Json();
  }

  Json WholeOf(Snapshot snapshot) {
    InlineExecutor executor;
    auto report = BuildReport(snapshot.run, snapshot, All(), executor);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : Json();
  }

  std::unique_ptr<SimulatedRun> made_;
  std::vector<Rows> rows_;
};

std::vector<Json> Fields(const Json& rows, const std::string& field) {
  std::vector<Json> out;
  for (const Json& row : rows) out.push_back(row[field]);
  return out;
}

void ExpectSameAnswer(const Json& grown, const Json& whole) {
  for (const char* field : {"name", "state", "ranks", "hosts", "world_size"}) {
    EXPECT_EQ(grown["run"][field], whole["run"][field]);
  }
  EXPECT_EQ(TotalOf(grown, "instances"), TotalOf(whole, "instances"));
  EXPECT_EQ(TotalOf(grown, "matched"), TotalOf(whole, "matched"));
  EXPECT_EQ(grown["quality"]["ranks"], whole["quality"]["ranks"]) << "drop counters";
  EXPECT_EQ(grown["kernels"], whole["kernels"]);
  EXPECT_EQ(Fields(grown["steps"], "span_ns"), Fields(whole["steps"], "span_ns"));
  EXPECT_NEAR(
      static_cast<double>(TotalOf(grown, "wait_total_ns")) / static_cast<double>(TotalOf(whole, "wait_total_ns")), 1,
      0.02);
  EXPECT_EQ(Fields(grown["stragglers"], "id"), Fields(whole["stragglers"], "id"));
  EXPECT_EQ(Fields(grown["summary"]["culprits"], "rank"), Fields(whole["summary"]["culprits"], "rank"));
  EXPECT_EQ(grown["summary"]["verdict"], whole["summary"]["verdict"]);
  ASSERT_EQ(grown["overlap"].size(), whole["overlap"].size());
  for (size_t i = 0; i < whole["overlap"].size(); ++i) {
    const auto part = [&](const Json& report, const char* field) { return report["overlap"][i][field].get<double>(); };
    const double exposed = part(whole, "exposed_wait_ns") + part(whole, "exposed_transfer_ns");
    EXPECT_NEAR(part(grown, "exposed_wait_ns"), part(whole, "exposed_wait_ns"), 0.05 * exposed) << i;
    EXPECT_NEAR(part(grown, "exposed_transfer_ns"), part(whole, "exposed_transfer_ns"), 0.05 * exposed) << i;
  }
}

TEST_F(GrowingRunTest, TellsAtAnyTimeWhatIsToldOfTheWhole) {
  GrowingRun grown(kLimits);
  for (const int64_t percent : {40, 43, 60, 80, 100}) {
    ASSERT_EQ(Advance(grown, Until(percent)), absl::OkStatus());
    const Json report = ReportOf(grown);
    ExpectSameAnswer(report, WholeOf(Until(percent)));
    EXPECT_EQ(report, ReportOf(grown)) << "asked again";
  }
  EXPECT_EQ(grown.begun(), 1);
  EXPECT_GT(grown.taken_rows(), 16'000);
}

// Begin and length of the stretch, as each notice about it tells.
std::vector<std::pair<double, double>> StretchesTold(const Json& report) {
  std::vector<std::pair<double, double>> stretches;
  for (const Json& notice : report["notices"]) {
    double of_s = 0;
    double run_s = 0;
    double from_s = 0;
    const int read = std::sscanf(notice["reason"].get<std::string>().c_str(),
                                 "savings are computed from %lf s of the run's %lf s, beginning %lf s after its start",
                                 &of_s, &run_s, &from_s);
    if (read == 3) stretches.emplace_back(from_s, of_s);
  }
  return stretches;
}

TEST_F(GrowingRunTest, SaysOfWhichStretchTheSavingsAre) {
  GrowingRun grown(kLimits);
  double begin_s = -1;
  for (const int64_t percent : {30, 100}) {
    ASSERT_EQ(Advance(grown, Until(percent)), absl::OkStatus());
    const auto told = StretchesTold(ReportOf(grown));
    ASSERT_EQ(told.size(), 2u) << "of the stragglers and of the imbalance";
    EXPECT_EQ(told[0], told[1]);
    EXPECT_GT(told[0].first, begin_s) << "a later one, since the run is more than twice as long";
    EXPECT_GT(told[0].second, 0);
    begin_s = told[0].first;
  }
}

TEST_F(GrowingRunTest, TakesWhatIsSettledOnce) {
  GrowingRun grown(kLimits);
  ASSERT_EQ(Advance(grown, Until(50)), absl::OkStatus());
  const int64_t taken = grown.taken_rows();
  ASSERT_EQ(Advance(grown, Until(50)), absl::OkStatus());
  EXPECT_EQ(grown.taken_rows(), taken);
  ASSERT_EQ(Advance(grown, Until(90)), absl::OkStatus());
  EXPECT_GT(grown.taken_rows(), taken);
}

TEST_F(GrowingRunTest, ThatWasInterruptedGoesOnWhereItWas) {
  GrowingRun grown(kLimits);
  int chapters = 0;
  ASSERT_EQ(Advance(grown, Until(90), [&] { return ++chapters <= 1; }), absl::OkStatus());
  const int64_t taken = grown.taken_rows();
  EXPECT_GT(taken, 0);
  ASSERT_EQ(Advance(grown, Until(95)), absl::OkStatus());
  EXPECT_GT(grown.taken_rows(), taken);
  EXPECT_EQ(grown.begun(), 1);
  ExpectSameAnswer(ReportOf(grown), WholeOf(Until(95)));
}

TEST_F(GrowingRunTest, WithARankThatCameLateBeginsAnew) {
  GrowingRun grown(kLimits);
  Snapshot lacking = Until(60);
  Without(5, lacking);
  ASSERT_EQ(Advance(grown, std::move(lacking)), absl::OkStatus());
  ASSERT_EQ(Advance(grown, Until(80)), absl::OkStatus());
  EXPECT_EQ(grown.begun(), 2);
  ExpectSameAnswer(ReportOf(grown), WholeOf(Until(80)));
}

TEST_F(GrowingRunTest, WhoseSourceWasReplacedBeginsAnew) {
  GrowingRun grown(kLimits);
  ASSERT_EQ(Advance(grown, Until(60)), absl::OkStatus());
  for (InstanceRow& row : rows_[2]) row.start_ns += 1'000;
  ASSERT_EQ(Advance(grown, Until(80)), absl::OkStatus());
  EXPECT_EQ(grown.begun(), 2);
  ExpectSameAnswer(ReportOf(grown), WholeOf(Until(80)));
}

TEST_F(GrowingRunTest, ThatWasDroppedAndHasLessBeginsAnew) {
  GrowingRun grown(kLimits);
  ASSERT_EQ(Advance(grown, Until(80)), absl::OkStatus());
  ASSERT_EQ(Advance(grown, Until(60)), absl::OkStatus());
  EXPECT_EQ(grown.begun(), 2);
  ExpectSameAnswer(ReportOf(grown), WholeOf(Until(60)));
}

TEST_F(GrowingRunTest, WaitsForARankThatIsBehind) {
  GrowingRun grown(kLimits);
  ASSERT_EQ(Advance(grown, Until(80, 4)), absl::OkStatus());
  int64_t settled = 0;
  for (const size_t end : Until(40).ends) settled += static_cast<int64_t>(end);
  EXPECT_LE(grown.taken_rows(), settled);
  ASSERT_EQ(Advance(grown, Until(80)), absl::OkStatus());
  ExpectSameAnswer(ReportOf(grown), WholeOf(Until(80)));
}

TEST_F(GrowingRunTest, OfWhichTooMuchIsOpenIsNotKept) {
  GrowingRun grown({.chapters = kLimits.chapters, .most_open_rows = 8'000});
  ASSERT_EQ(Advance(grown, Until(40)), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(Advance(grown, Until(100, 4))));
  EXPECT_EQ(grown.taken_rows(), 0);
}

TEST_F(GrowingRunTest, RefusesALayoutThatDoesNotFitItsRanks) {
  GrowingRun grown(kLimits);
  ASSERT_EQ(Advance(grown, Until(60)), absl::OkStatus());
  InlineExecutor executor;
  AnalysisOptions options;
  options.views = {"summary"};
  options.layout = ParallelLayout{.sizes = {{ParallelAxis::kTensor, 3}}, .order = {}};
  EXPECT_TRUE(absl::IsInvalidArgument(grown.Report(options, executor).status()));
}

TEST_F(GrowingRunTest, WithoutRowsOfARankIsNotBegun) {
  GrowingRun grown(kLimits);
  Snapshot silent = Until(60);
  silent.ends[3] = 0;
  silent.run.sources[3].instance_count = 0;
  EXPECT_TRUE(absl::IsUnavailable(Advance(grown, std::move(silent))));
  EXPECT_TRUE(absl::IsUnavailable(Advance(grown, Until(1)))) << "few rows";
  EXPECT_EQ(grown.begun(), 0);
}

TEST(GrowingRun, ServesWhatNothingIsSelectedFor) {
  EXPECT_TRUE(GrowingRun::Serves({.views = {"summary"}, .group_by = GroupBy::kBase, .sort = "x", .limit = 3}));
  EXPECT_FALSE(GrowingRun::Serves({.views = {"summary"}, .ranks = {1}}));
  EXPECT_FALSE(GrowingRun::Serves({.views = {"skew"}, .instances = -1}));
  EXPECT_FALSE(GrowingRun::Serves({.views = {"steps"}, .nvtx = "step"}));
}

// 512 ranks with steps of so many collectives.
RunData Wide(int64_t rows_of_step) {
  constexpr int64_t kSteps = 10;
  RunData run;
  run.sources.resize(512);
  for (SourceData& source : run.sources) {
    source.instance_count = kSteps * rows_of_step;
    source.steps.resize(kSteps);
  }
  return run;
}

TEST(GrowingLimits, HundredsOfRanksOfShortStepsAreKeptFromTheFirstSecondsOn) {
  // 15,000 collectives a second: until then each answer is an analysis of everything.
  EXPECT_LE(GrowingRun::LeastRows(GrowingRun::ChaptersOf({}, Wide(8)), 512), 5 * 15'000);
}

TEST(GrowingLimits, AChapterHasSeveralStepsOrAsManyRowsAsAllowed) {
  for (const int64_t rows : {1, 8, 20, 31}) {
    EXPECT_GE(GrowingRun::ChaptersOf({}, Wide(rows)).least_of_rank, 8 * rows) << rows;
  }
  for (const int64_t rows : {0, 32, 500}) {
    EXPECT_EQ(GrowingRun::ChaptersOf({}, Wide(rows)).least_of_rank, 256) << rows;
    EXPECT_EQ(GrowingRun::ChaptersOf({}, Wide(rows)).chapter_rows, 131'072) << rows;
  }
}

}  // namespace
}  // namespace lockstep
