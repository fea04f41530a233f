// What `lockstep analyze --store` leaves in the store when it does not come to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "bench/simulator/command/simulate_command.h"
#include "cli/embedded_cluster.h"
#include "platform/clock.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kRun = "run";

class UnfinishedRun : public testing::Test {
 protected:
  void SetUp() override {
    const std::string out = folder_.path() + "/traces";
    const std::vector<const char*> words = {"lockstep-simulate", "--tp", "2",         "--steps", "20",
                                            "--layers",          "8",    "--no-gzip", "--out",   out.c_str()};
    const CommandLine command = ParseCommandLine(static_cast<int>(words.size()), words.data());
    ASSERT_TRUE(command.run) << command.message;
    ASSERT_EQ(RunSimulation(command.options, nullptr, nullptr), absl::OkStatus());
    traces_ = {out + "/rank0.json", out + "/rank1.json"};
    Open();
  }
  // A store that was written to is opened again, as by the next command.
  void Open() {
    cluster_ = nullptr;
    cluster_ = EmbeddedCluster::Open({.store_path = folder_.path() + "/runs.db"}).value();
  }

  absl::StatusOr<IngestOutcome> Ingest(const std::vector<std::string>& files) {
    return cluster_->Ingest(What(files), stop_.get_token());
  }
  // Stops as soon as a file is being read and the store has the run.
  absl::StatusOr<IngestOutcome> IngestAndStop(const std::vector<std::string>& files) {
    EmbeddedIngest what = What(files);
    what.send.progress = [this](const SendProgress&) {
      const int64_t latest_ns = SystemClock().MonotonicNs() + int64_t{60} * 1'000'000'000;
      while (Runs().empty() && SystemClock().MonotonicNs() < latest_ns) std::this_thread::yield();
      had_run_ = !Runs().empty();
      stop_.request_stop();
    };
    return cluster_->Ingest(what, stop_.get_token());
  }
  [[nodiscard]] std::vector<std::string> Runs() const {
    const std::vector<RunInfo> runs = cluster_->store().ListRuns().value();
    std::vector<std::string> names;
    for (const RunInfo& run : runs) names.push_back(run.name);
    return names;
  }

  std::vector<std::string> traces_;
  bool had_run_ = false;
  const TempDir folder_ = TempDir::Create("", "lockstep-unfinished-").value();
  std::unique_ptr<EmbeddedCluster> cluster_;

 private:
  [[nodiscard]] EmbeddedIngest What(const std::vector<std::string>& files) const {
    EmbeddedIngest what;
    what.run = kRun;
    what.inputs = ListInputs(files);
    what.send.condense.tmp_dir = folder_.path();
    what.send.jobs = 1;
    return what;
  }

  std::stop_source stop_;
};

TEST_F(UnfinishedRun, IsNotKeptAfterAStop) {
  const auto stopped = IngestAndStop(traces_);
  EXPECT_TRUE(absl::IsCancelled(stopped.status())) << stopped.status();
  EXPECT_TRUE(had_run_) << "it was stopped too early to show anything";
  EXPECT_THAT(Runs(), IsEmpty());
  Open();
  EXPECT_THAT(Runs(), IsEmpty());
}

TEST_F(UnfinishedRun, StaysIfItWasThereBefore) {
  const auto first = Ingest({traces_[0]});
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_TRUE(first->is_new);
  Open();
  EXPECT_TRUE(absl::IsCancelled(IngestAndStop(traces_).status()));
  EXPECT_THAT(Runs(), ElementsAre(kRun));
}

TEST_F(UnfinishedRun, IsNotKeptWithoutAUsableFile) {
  const std::string path = folder_.path() + "/notes.json";
  std::ofstream(path) << "these are notes\n";
  const auto done = Ingest({path});
  ASSERT_EQ(done.status(), absl::OkStatus());
  EXPECT_THAT(Runs(), IsEmpty());
}

TEST_F(UnfinishedRun, IsNewOnlyTheFirstTime) {
  EXPECT_TRUE(Ingest(traces_).value().is_new);
  Open();
  EXPECT_FALSE(Ingest(traces_).value().is_new);
  EXPECT_THAT(Runs(), ElementsAre(kRun));
}

}  // namespace
}  // namespace lockstep
