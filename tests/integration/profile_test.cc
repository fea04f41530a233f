// The view profile of a simulated run against the views that show the same rank by rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "bench/simulator/command/simulate_command.h"
#include "cli/bundle.h"
#include "cli/embedded_cluster.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

class Profile : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TempDir folder = TempDir::Create("", "lockstep-profile-").value();
    const std::string out = folder.path() + "/traces";
    const std::vector<const char*> words = {"lockstep-simulate", "--tp", "4",         "--steps", "12",
                                            "--layers",          "4",    "--no-gzip", "--out",   out.c_str()};
    const CommandLine command = ParseCommandLine(static_cast<int>(words.size()), words.data());
    ASSERT_TRUE(command.run) << command.message;
    ASSERT_EQ(RunSimulation(command.options, nullptr, nullptr), absl::OkStatus());
    EmbeddedIngest ingest;
    ingest.run = "run";
    for (int rank = 0; rank < 4; ++rank) ingest.inputs.files.push_back(out + "/rank" + std::to_string(rank) + ".json");
    ingest.send.condense.tmp_dir = folder.path();
    const auto cluster = EmbeddedCluster::Open({}).value();
    ASSERT_EQ(cluster->Ingest(ingest, {}).status(), absl::OkStatus());
    AnalysisOptions options;
    options.views = AllViews();
    options.views.emplace_back(kProfileView);
    json_ = std::make_unique<Json>(cluster->query().Views("run", options).value());
    document_ = std::make_unique<report::Document>(report::FromJson<report::Document>(*json_));
  }
  static void TearDownTestSuite() {
    document_ = nullptr;
    json_ = nullptr;
  }

  static inline std::unique_ptr<Json> json_;
  static inline std::unique_ptr<report::Document> document_;
};

TEST_F(Profile, SumsTheStepsOfAllRanksButTheLast) {
  ASSERT_EQ(document_->profile->steps.size(), 11U);
  std::map<int64_t, report::ProfileStep> sums;
  for (const report::StepRow& row : *document_->steps) {
    report::ProfileStep& sum = sums[row.step];
    sum.span_total_ns.value += row.span_ns.value;
    sum.compute_ns.value += row.compute_ns.value;
    sum.exposed_wait_ns.value += row.exposed_wait_ns.value;
    sum.exposed_transfer_ns.value += row.exposed_transfer_ns.value;
    sum.idle_host_ns.value += row.idle.host_ns.value;
  }
  for (const report::ProfileStep& step : document_->profile->steps) {
    const report::ProfileStep& sum = sums.at(step.step);
    EXPECT_EQ(step.span_total_ns, sum.span_total_ns);
    EXPECT_EQ(step.compute_ns, sum.compute_ns);
    EXPECT_EQ(step.exposed_wait_ns, sum.exposed_wait_ns);
    EXPECT_EQ(step.exposed_transfer_ns, sum.exposed_transfer_ns);
    EXPECT_EQ(step.idle_host_ns, sum.idle_host_ns);
    EXPECT_EQ(step.compute_ns + step.exposed_wait_ns + step.exposed_transfer_ns + step.exposed_unresolved_ns +
                  step.copy_only_ns + step.opaque_only_ns + step.idle_host_ns + step.idle_launch_ns +
                  step.idle_dependency_ns + step.idle_other_ns,
              step.span_total_ns.value);
  }
}

TEST_F(Profile, CallsTheTimeBetweenTheLastRanksStartsTheStepsTime) {
  std::map<int64_t, int64_t> starts;  // when the last rank begins a step
  std::map<int64_t, int64_t> spans;   // the longest of a step
  for (const report::StepRow& row : *document_->steps) {
    starts[row.step] = std::max(starts[row.step], row.start_ns);
    spans[row.step] = std::max(spans[row.step], row.span_ns.value);
  }
  const int64_t first = starts.begin()->first;
  int compared = 0;
  for (const report::ProfileStep& step : document_->profile->steps) {
    const auto next = starts.find(step.step + 1);
    if (step.step == first || next == starts.end()) continue;
    ++compared;
    // The aligned clock may run a little faster or slower than a rank's own.
    const auto truth = static_cast<double>(next->second - starts.at(step.step));
    EXPECT_NEAR(static_cast<double>(step.longest_ns.value), truth, 1e-4 * truth) << step.step;
  }
  EXPECT_GE(compared, 9);
  EXPECT_EQ(document_->profile->steps.front().longest_ns, spans.at(first));
}

TEST_F(Profile, HasTheKernelsOfTheViewKernels) {
  ASSERT_EQ(document_->profile->kernels.size(), document_->kernels->size());
  int64_t by_step_ns = 0;
  for (size_t i = 0; i < document_->kernels->size(); ++i) {
    const report::ProfileKernel& kernel = document_->profile->kernels[i];
    EXPECT_EQ(kernel.name, (*document_->kernels)[i].name);
    EXPECT_EQ(kernel.total_ns, (*document_->kernels)[i].total_ns);
    ASSERT_TRUE(kernel.step_ns) << kernel.name;
    for (const report::Count& ns : *kernel.step_ns) by_step_ns += ns.value;
  }
  int64_t of_steps_ns = 0;
  for (const report::ProfileStep& step : document_->profile->steps) of_steps_ns += step.kernel_time_ns.value;
  EXPECT_EQ(by_step_ns, of_steps_ns);
}

TEST_F(Profile, IsNoPartOfAllViews) {
  EXPECT_EQ(std::count(AllViews().begin(), AllViews().end(), kProfileView), 0);
  EXPECT_TRUE(IsView(kProfileView));
}

TEST_F(Profile, ABundleHasItsFilesAndTheSameBytesTwice) {
  const BundleFiles files = MakeBundle(*json_, std::nullopt).value();
  std::vector<std::string> names;
  for (const auto& [name, content] : files) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"cuda_api_sum.csv", "gpu_kern_sum.csv", "kernel_profile.json",
                                             "manifest.json", "report.json", "summary.txt"}));
  EXPECT_EQ(MakeBundle(*json_, std::nullopt).value(), files);
  EXPECT_TRUE(files.at("gpu_kern_sum.csv").starts_with("Time (%),Total Time (ns),Instances,"));
  const Json manifest = Json::parse(files.at("manifest.json"));
  EXPECT_EQ(manifest["files"].size(), 5U);
  for (const Json& file : manifest["files"]) {
    EXPECT_EQ(file["bytes"], files.at(file["name"].get<std::string>()).size());
    EXPECT_EQ(file["sha256"].get<std::string>().size(), 64U);
  }
  const Json profile = Json::parse(files.at("kernel_profile.json"));
  double shares = 0;
  for (const Json& kernel : profile["top_kernels"]) shares += kernel["share_ratio"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-6);
  EXPECT_EQ(profile["source_paths"].size(), 4U);
}

TEST_F(Profile, ABundleIsNotWrittenOverOtherFiles) {
  const TempDir folder = TempDir::Create("", "lockstep-bundle-").value();
  const BundleFiles files = MakeBundle(*json_, std::nullopt).value();
  EXPECT_EQ(WriteBundle(files, folder.path() + "/new"), absl::OkStatus());
  EXPECT_EQ(WriteBundle(files, folder.path() + "/new"), absl::OkStatus());
  EXPECT_EQ(WriteBundle(files, folder.path()).code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace lockstep
