// A run taken through in chapters against the same run taken whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/model/instance_piece.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/report/json.h"
#include "tests/support/run_builder.h"
#include "tests/support/simulator/simulated.h"
#include "tests/unit/analysis/report/chapters/report_totals.h"

namespace lockstep {
namespace {

Json Report(SimulatedRun& run, InstanceSource& instances, const ChapterLimits& limits, bool reversed = false) {
  AnalysisOptions options;
  options.views = {"all"};
  options.instances = -1;
  InlineExecutor executor(reversed);
  auto report = BuildReport(run.run, instances, options, executor, limits);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

Json Report(SimulatedRun& run, const ChapterLimits& limits, bool reversed = false) {
  return Report(run, *run.instances, limits, reversed);
}

// The instances of another source, so many at a time.
class InBlocks final : public InstanceSource {
 public:
  InBlocks(InstanceSource& of, size_t rows) : of_(of), rows_(rows) {}
  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override {
    LOCKSTEP_ASSIGN_OR_RETURN(auto stream, of_.Open(source));
    std::vector<InstanceRow> all;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const auto some, stream->Take());
      if (some.empty()) break;
      all.insert(all.end(), some.begin(), some.end());
    }
    return std::make_unique<Stream>(std::move(all), rows_);
  }

 private:
  class Stream final : public InstanceStream {
   public:
    Stream(std::vector<InstanceRow> all, size_t rows) : all_(std::move(all)), rows_(rows) {}
    absl::StatusOr<std::vector<InstanceRow>> Take() override {
      const size_t first = next_;
      next_ = std::min(all_.size(), first + rows_);
      return std::vector(all_.begin() + static_cast<int64_t>(first), all_.begin() + static_cast<int64_t>(next_));
    }

   private:
    const std::vector<InstanceRow> all_;
    const size_t rows_;
    size_t next_ = 0;
  };

  InstanceSource& of_;
  const size_t rows_;
};

ChapterLimits Together(int64_t rows) {
  ChapterLimits limits{0, rows, 1};
  limits.sample_rows = rows;
  limits.apart = false;
  return limits;
}

ChapterLimits Apart(int64_t rows) {
  ChapterLimits limits{0, rows, 1};
  limits.sample_rows = rows;
  limits.rows_of_rank_apart = rows / 8;
  limits.least_rows_apart = rows / 4;
  return limits;
}

struct Compared {
  Json whole;
  Json chapters;
};

Compared Compare(const std::vector<std::string>& flags, int64_t chapter_rows) {
  const auto run = Simulated(flags, 20261123);
  return {Report(*run, {}), Report(*run, Together(chapter_rows))};
}

// Instances by what names them in both.
std::map<std::string, const Json*> InstancesOf(const Json& report) {
  std::map<std::string, const Json*> out;
  for (const Json& instance : report["skew"]["instances"]) {
    out[fmt::format("{} {} {}", instance["communicator_id"].dump(), instance["index"].dump(), instance["op"].dump())] =
        &instance;
  }
  return out;
}

void ExpectSameInstances(const Compared& both) {
  const auto whole = InstancesOf(both.whole);
  const auto chapters = InstancesOf(both.chapters);
  ASSERT_EQ(whole.size(), both.whole["skew"]["instances"].size());
  EXPECT_EQ(chapters.size(), both.chapters["skew"]["instances"].size()) << "an index was given twice";
  EXPECT_EQ(chapters.size(), whole.size());
  size_t other = 0;
  for (const auto& [name, instance] : whole) {
    const auto found = chapters.find(name);
    const bool same = found != chapters.end() && (*found->second)["members"].size() == (*instance)["members"].size() &&
                      (*found->second)["seq"] == (*instance)["seq"] && (*found->second)["step"] == (*instance)["step"];
    other += same ? 0 : 1;
  }
  EXPECT_EQ(other, 0u) << "of " << whole.size();
  EXPECT_EQ(TotalOf(both.chapters, "instances"), TotalOf(both.whole, "instances"));
  EXPECT_EQ(TotalOf(both.chapters, "matched"), TotalOf(both.whole, "matched"));
  EXPECT_EQ(both.chapters["quality"]["ranks"], both.whole["quality"]["ranks"]) << "drop counters";
}

// Each chapter measures the clocks anew, from fewer instances.
void ExpectCloseWaiting(const Compared& both) {
  const auto wait = [](const Json& report) { return static_cast<double>(TotalOf(report, "wait_total_ns")); };
  EXPECT_NEAR(wait(both.chapters) / wait(both.whole), 1, 0.03);
}

std::vector<std::string> Named(const Json& report) {
  std::vector<std::string> out;
  for (const Json& straggler : report["stragglers"]) out.push_back(straggler["id"]);
  return out;
}

const std::vector<std::string> kDecode = {
    "--program", "decode",   "--tp", "8",       "--dp", "2",       "--hosts",
    "2",         "--layers", "20",   "--steps", "60",   "--cause", "slow_gpu:rank=3,factor=1.3"};

TEST(Chapters, OfADecodeTellTheSameCollectivesAndTheSameStraggler) {
  const Compared both = Compare(kDecode, 4'000);
  ExpectSameInstances(both);
  ExpectCloseWaiting(both);
  ASSERT_FALSE(Named(both.whole).empty());
  EXPECT_EQ(Named(both.chapters), Named(both.whole));
  EXPECT_EQ(both.chapters["summary"]["verdict"], both.whole["summary"]["verdict"]);
}

TEST(Chapters, DoNotHangOnHowManyInstancesAStoreGivesAtATime) {
  const auto run = Simulated(kDecode, 20261123);
  InBlocks batches(*run->instances, 4'096);
  InBlocks pieces(*run->instances, kInstancesAPiece);
  const ChapterLimits limits = Together(4'000);
  EXPECT_EQ(Report(*run, batches, limits), Report(*run, pieces, limits));
}

TEST(Chapters, OfATrainingTellTheSameCollectives) {
  const Compared both = Compare({"--program", "train", "--tp", "2", "--dp", "2", "--pp", "2", "--hosts", "4", "--steps",
                                 "24", "--layers", "8", "--clock", "offset_ms=5,drift_ppm=5"},
                                4'000);
  ExpectSameInstances(both);
  ExpectCloseWaiting(both);
}

// Three steps a chapter: phases of a pipeline look like clocks that are set, and half of its sends carry no id.
TEST(Chapters, OfAPipelineThatAreShortTellTheSameCollectives) {
  const Compared both = Compare({"--program", "train", "--tp", "4", "--dp", "4", "--pp", "2", "--hosts", "4", "--steps",
                                 "8", "--clock", "offset_ms=5,drift_ppm=5"},
                                24'000);
  EXPECT_EQ(TotalOf(both.chapters, "matched"), TotalOf(both.whole, "matched"));
  ExpectCloseWaiting(both);
  for (const Json& host : both.chapters["clock"]["hosts"]) EXPECT_TRUE(host["steps"].empty()) << host["host"];
}

TEST(Chapters, ByNamesAloneKeepTheGroupsThatTheFirstOneFound) {
  std::vector<std::string> flags = kDecode;
  flags.insert(flags.end(), {"--ids", "names", "--clock", "offset_ms=5,drift_ppm=5"});
  const Compared both = Compare(flags, 8'000);
  EXPECT_EQ(TotalOf(both.chapters, "instances"), TotalOf(both.whole, "instances"));
  EXPECT_NEAR(static_cast<double>(TotalOf(both.chapters, "matched")),
              static_cast<double>(TotalOf(both.whole, "matched")),
              0.005 * static_cast<double>(TotalOf(both.whole, "matched")));
  ExpectCloseWaiting(both);
}

TEST(Chapters, ExposedTimeOfEveryRankIsSplitAlike) {
  const Compared both = Compare(kDecode, 4'000);
  for (size_t i = 0; i < both.whole["overlap"].size(); ++i) {
    const Json& whole = both.whole["overlap"][i];
    const Json& chapters = both.chapters["overlap"][i];
    EXPECT_EQ(chapters["compute_ns"], whole["compute_ns"]);
    const auto exposed = [](const Json& row) {
      return row["exposed_wait_ns"].get<int64_t>() + row["exposed_transfer_ns"].get<int64_t>() +
             row["exposed_unresolved_ns"].get<int64_t>();
    };
    EXPECT_EQ(exposed(chapters), exposed(whole)) << i;
    EXPECT_NEAR(chapters["exposed_wait_ns"].get<double>(), whole["exposed_wait_ns"].get<double>(),
                0.05 * static_cast<double>(exposed(whole)));
  }
}

TEST(Chapters, GiveTheSameBytesWhateverTheOrderOfWork) {
  const auto run = Simulated(kDecode, 20261123);
  EXPECT_EQ(Report(*run, Together(4'000), false), Report(*run, Together(4'000), true));
}

std::string WhichStretch(const Json& report) {
  for (const Json& notice : report["notices"]) {
    std::string reason = notice["reason"].get<std::string>();
    if (reason.starts_with("savings are computed from ")) return reason;
  }
  return "";
}

TEST(Chapters, SayWhichStretchTheWhatIfsAreOf) {
  const auto run = Simulated(kDecode, 20261123);
  EXPECT_NE(WhichStretch(Report(*run, Together(4'000))), "");
  EXPECT_EQ(WhichStretch(Report(*run, {})), "");
}

// Two hosts, each a replica of its own.
TEST(ChaptersOfRanksApart, TellWhatThoseOfAllRanksTell) {
  const auto run = Simulated(kDecode, 20261123);
  const Compared both{Report(*run, Together(4'000)), Report(*run, Apart(4'000))};
  EXPECT_NE(both.whole, both.chapters) << "they were not taken apart";
  ExpectSameInstances(both);
  ExpectCloseWaiting(both);
  EXPECT_EQ(Named(both.chapters), Named(both.whole));
  EXPECT_EQ(both.chapters["summary"]["verdict"], both.whole["summary"]["verdict"]);
}

TEST(ChaptersOfRanksApart, OfSeveralHostsEachAreJoinedByNamesAlone) {
  std::vector<std::string> flags = kDecode;
  flags[7] = "4";  // hosts: two for each replica
  flags.insert(flags.end(), {"--ids", "names", "--clock", "offset_ms=5,drift_ppm=40"});
  const auto run = Simulated(flags, 20261123);
  const Compared both{Report(*run, Together(8'000)), Report(*run, Apart(8'000))};
  EXPECT_NEAR(static_cast<double>(TotalOf(both.chapters, "matched")),
              static_cast<double>(TotalOf(both.whole, "matched")),
              0.005 * static_cast<double>(TotalOf(both.whole, "matched")));
  ExpectCloseWaiting(both);
}

TEST(ChaptersOfRanksApart, GiveTheSameBytesWhateverTheOrderOfWork) {
  const auto run = Simulated(kDecode, 20261123);
  EXPECT_EQ(Report(*run, Apart(4'000), false), Report(*run, Apart(4'000), true));
}

TEST(ChaptersOfRanksApart, AreSampledInTheMiddle) {
  const auto run = Simulated(kDecode, 20261123);
  const std::string told = WhichStretch(Report(*run, Apart(2'000)));
  double length = 0;
  double from = 0;
  double all = 0;
  ASSERT_EQ(
      std::sscanf(told.c_str(), "savings are computed from %lf s of the run's %lf s, beginning %lf s after its start",
                  &length, &all, &from),
      3)
      << told;
  EXPECT_NEAR(from, all / 2, all / 100);
  EXPECT_GT(length, all / 50);
  EXPECT_LT(length, all / 2);
}

// Rows of the first tenth alone: there is no middle.
TEST(ChaptersOfRanksApart, AreSampledAtTheBeginningWhereNothingGoesOnInTheMiddle) {
  const auto run = Simulated(kDecode, 20261123);
  for (SourceData& source : run->run.sources) {
    SourceContext& context = source.context;
    context.last_end_ns = context.first_start_ns + 10 * (context.last_end_ns - context.first_start_ns);
  }
  const std::string told = WhichStretch(Report(*run, Apart(2'000)));
  EXPECT_NE(told.find(", beginning 0 s after its start"), std::string::npos) << told;
}

const Json& Culprit(const Json& report) { return report["summary"]["culprits"].at(0); }

std::shared_ptr<SimulatedRun> OneReplica(const std::string& cause, int seed) {
  return Simulated({"--program", "decode", "--tp", "8", "--layers", "10", "--steps", "200", "--cause", cause}, seed);
}

// Fewer than seven only where the rows of seven are too many.
ChapterLimits SampledBy(int64_t steps) {
  constexpr int64_t kRowsOfStep = 8 * 21;
  ChapterLimits limits = Together(4'000);
  limits.sample_rows = steps * kRowsOfStep / (steps < 7 ? 3 : 1);
  return limits;
}

// Delays that come now and then are many in one stretch of a few steps and few in the next.
TEST(SampleOfARun, TellsWhatMendingSavesInTheWholeRun) {
  for (const std::string cause : {"late_host:rank=3,us=300,p=0.02", "slow_gpu:rank=3,factor=1.3"}) {
    for (int seed = 1; seed <= 4; ++seed) {
      const auto run = OneReplica(cause, seed);
      const Json whole = Report(*run, {});
      ASSERT_GT(Culprit(whole)["saving_ratio"], 0.05) << cause;
      for (const int64_t steps : {8, 20}) {
        const Json part = Report(*run, SampledBy(steps));
        EXPECT_EQ(Culprit(part)["rank"], 3) << cause;
        EXPECT_NEAR(Culprit(part)["saving_ratio"], Culprit(whole)["saving_ratio"],
                    0.15 * Culprit(whole)["saving_ratio"].get<double>())
            << cause << ", seed " << seed << ", " << steps << " steps";
      }
    }
  }
}

// Stalls in every fifth step, and none of them where the run is replayed.
TEST(SampleOfARun, DoesNotHideWhoIsLateElsewhere) {
  int untold = 0;
  for (int seed = 1; seed <= 6; ++seed) {
    const auto run = OneReplica("data_stall:rank=3,p=0.2,ms=3", seed);
    const Json part = Report(*run, SampledBy(3));
    ASSERT_FALSE(part["summary"]["culprits"].empty()) << "seed " << seed;
    EXPECT_EQ(Culprit(part)["rank"], 3) << "seed " << seed;
    if (!Culprit(part)["saving_ratio"].is_null()) continue;
    ++untold;
    EXPECT_EQ(Culprit(part)["saving_reason"], "the replayed part of the run holds too little of it") << "seed " << seed;
  }
  EXPECT_GT(untold, 0);
}

}  // namespace
}  // namespace lockstep
