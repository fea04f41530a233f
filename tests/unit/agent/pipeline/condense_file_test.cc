// The node's side on real traces, against what HolisticTraceAnalysis and an independent reader computed on them.
#include "agent/pipeline/condense_file.h"
#include "analysis/condense/activity.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

const std::string kData = "../shared/data/kineto/";

#define LOCKSTEP_NEED_TRACES()                                                                      \
  if (!std::filesystem::exists(kData)) {                                                            \
    GTEST_SKIP() << "SKIPPED LOUDLY: the real traces at ../shared/data are absent, nothing tested"; \
  }

struct Collected : BatchConsumer {
  struct Source {
    SourceContext context;
    std::vector<Batch> batches;
  };
  std::map<std::string, Source> sources;

  absl::Status BeginSource(const SourceContext& source) override {
    sources[source.source_id.Hex()].context = source;
    return absl::OkStatus();
  }
  absl::Status Consume(const SourceContext& source, Batch batch) override {
    sources[source.source_id.Hex()].batches.push_back(std::move(batch));
    return absl::OkStatus();
  }
  [[nodiscard]] const Source& Only() const { return sources.begin()->second; }
};

Collected Condense(const std::string& path, int64_t sort_memory = int64_t{48} << 20) {
  Collected collected;
  CondenseFileOptions options;
  options.tmp_dir = testing::TempDir();
  options.sort_memory_bytes = sort_memory;
  const auto report = CondenseFile(path, options, collected);
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) {
    EXPECT_EQ(report->status, "used") << report->reason;
  }
  return collected;
}

struct Selected {
  IntervalMeasure measure;
  int64_t span_ns = 0;
};

Selected Select(const Collected::Source& source, int64_t first, int64_t last) {
  std::vector<StepRow> rows;
  for (const Batch& batch : source.batches) {
    for (const StepRow& row : batch.steps) {
      if (row.step >= first && row.step <= last) rows.push_back(row);
    }
  }
  Selected selected;
  int64_t from = INT64_MAX;
  int64_t to = INT64_MIN;
  for (const StepRow& row : rows) {
    selected.measure.Add(row.tile);
    if (first != INT64_MIN) selected.measure.Subtract(row.foreign);
    from = std::min(from, row.first_start_ns == kNoTime ? from : row.first_start_ns);
    to = std::max(to, row.last_end_ns);
  }
  if (first != INT64_MIN) {
    selected.measure.Subtract(rows.front().before);
    selected.measure.Add(rows.back().after);
  }
  selected.span_ns = to - from;
  return selected;
}

Selected Whole(const Collected::Source& source) { return Select(source, INT64_MIN, INT64_MAX); }

int64_t InstancesIn(const Collected::Source& source, int64_t first, int64_t last) {
  int64_t count = 0;
  for (const Batch& batch : source.batches) {
    for (const InstanceRow& row : batch.instances) count += row.step >= first && row.step <= last ? 1 : 0;
  }
  return count;
}

TEST(CondenseFile, DlrmRanksEqualTheReferenceBreakdown) {
  LOCKSTEP_NEED_TRACES();
  std::ifstream file("../shared/reference/hta_reproduction.json");
  const nlohmann::json reference = nlohmann::json::parse(file)["sets"]["dlrm_8rank"];
  int ranks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kData + "param_dlrm_8rank_v100/kineto")) {
    const Collected collected = Condense(entry.path());
    const auto& source = collected.Only();
    const nlohmann::json& want = reference[std::to_string(source.context.claims.front().rank)];
    const Selected whole = Whole(source);
    EXPECT_EQ(whole.measure.span_ns, want["span_ns"]);
    EXPECT_EQ(whole.measure.compute_ns, want["compute_ns"]);
    EXPECT_EQ(whole.measure.comm_ns, want["comm_ns"]);
    EXPECT_EQ(whole.measure.copy_ns, want["copy_ns"]);
    EXPECT_EQ(whole.measure.overlap_ns, want["overlap_ns"]);
    EXPECT_EQ(whole.measure.idle_ns(), want["idle_ns"]);
    EXPECT_EQ(source.context.collectives, 8);
    ++ranks;
  }
  EXPECT_EQ(ranks, 8);
}

TEST(CondenseFile, NcclDataWholeAndByStepsEqualsTheReference) {
  LOCKSTEP_NEED_TRACES();
  const Collected collected = Condense(kData + "single_rank_hta/nccl_parser_config_nccl_data.json.gz");
  const auto& source = collected.Only();
  const Selected whole = Whole(source);
  EXPECT_EQ(whole.measure.span_ns, 660'551'005);
  EXPECT_EQ(whole.measure.compute_ns, 115'655'847);
  EXPECT_EQ(whole.measure.idle_ns(), 503'050'991);
  EXPECT_EQ(source.context.collectives, 21);
  const Selected steps = Select(source, 4, 5);
  EXPECT_EQ(steps.span_ns, 435'587'561);
  EXPECT_EQ(steps.measure.span_ns, 435'587'561);
  EXPECT_EQ(steps.measure.compute_ns, 76'935'828);
  EXPECT_EQ(steps.measure.idle_ns(), 336'419'714);
  EXPECT_EQ(steps.measure.comm_ns, 24'289'050);
  EXPECT_EQ(steps.measure.overlap_ns, 3'585'679);
  EXPECT_EQ(InstancesIn(source, 4, 5), 14);
}

TEST(CondenseFile, TraceDiffControlWholeAndByStepsEqualsTheReference) {
  LOCKSTEP_NEED_TRACES();
  const Collected collected = Condense(kData + "single_rank_hta/trace_diff_control_control.json.gz");
  const Selected whole = Whole(collected.Only());
  EXPECT_EQ(whole.measure.span_ns, 464'594'000);
  EXPECT_EQ(whole.measure.compute_ns, 281'336'000);
  EXPECT_EQ(whole.measure.idle_ns(), 76'007'000);
  const Selected steps = Select(collected.Only(), 1009, 1013);
  EXPECT_EQ(steps.measure.span_ns, 383'404'000);
  EXPECT_EQ(steps.measure.compute_ns, 234'760'000);
  EXPECT_EQ(steps.measure.idle_ns(), 62'119'000);
  EXPECT_EQ(steps.measure.overlap_ns, 62'313'000);
  EXPECT_EQ(steps.measure.copy_ns, 45'338'000);
}

TEST(CondenseFile, NanosecondTraceByStepsEqualsTheReference) {
  LOCKSTEP_NEED_TRACES();
  const Collected collected =
      Condense(kData + "single_rank_hta/ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz");
  const Selected steps = Select(collected.Only(), 101, 104);
  EXPECT_EQ(steps.measure.span_ns, 384'634'463);
  EXPECT_EQ(steps.measure.compute_ns, 374'738'006);
  EXPECT_EQ(steps.measure.idle_ns(), 6'452'701);
}

TEST(CondenseFile, SpillingToDiskChangesNoBatch) {
  LOCKSTEP_NEED_TRACES();
  const std::string path = kData + "single_rank_hta/nccl_parser_config_nccl_data.json.gz";
  const Collected in_memory = Condense(path);
  const Collected spilled = Condense(path, 64 << 10);
  EXPECT_EQ(in_memory.Only().batches, spilled.Only().batches);
}

// Steps of 1 ms, each with one kernel of 0.6 ms; `start_us`: of the first one.
std::string CycleOfSteps(int64_t start_us, int steps) {
  std::string events;
  for (int step = 0; step < steps; ++step) {
    const int64_t at = start_us + step * 1'000;
    events += fmt::format(
        R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":999}},)"
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":5,"args":{{"correlation":{}}}}},)"
        R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":600,"args":{{"device":0,"stream":7,"correlation":{}}}}},)",
        step, at, at + 10, at, at + 20, at);
  }
  return events;
}

TEST(CondenseFile, AProfilerThatWasStartedAgainNumbersItsStepsOnAndTheTimeBetweenIsNotIdle) {
  const std::string path = testing::TempDir() + "/two_cycles.json";
  std::string events = CycleOfSteps(1'000'000, 5) + CycleOfSteps(3'000'000, 5);
  events.pop_back();
  std::ofstream(path) << "{\"traceEvents\": [" << events << "]}";
  const Collected collected = Condense(path);
  std::vector<StepRow> rows;
  for (const Batch& batch : collected.Only().batches) rows.insert(rows.end(), batch.steps.begin(), batch.steps.end());
  std::erase_if(rows, [](const StepRow& row) { return row.step == kNoStep; });
  ASSERT_EQ(rows.size(), 10U);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].step, static_cast<int64_t>(i < 5 ? i : 100 + i - 5));
  }
  IntervalMeasure whole;
  for (const StepRow& row : rows) whole.Add(row.tile);
  EXPECT_EQ(whole.compute_ns, 10 * 600'000);
  EXPECT_EQ(whole.span_ns, 2 * (4 * 1'000'000 + 600'000));
  EXPECT_EQ(whole.idle_ns(), 2 * 4 * 400'000);
  EXPECT_EQ(rows[4].after, IntervalMeasure());
  EXPECT_EQ(rows[5].before, IntervalMeasure());
}

// What is condensed, one by one.
struct CountedActivities : ActivityConsumer {
  struct Source {
    int64_t kernels = 0;
    int64_t memcpys = 0;
    int64_t kernel_time_ns = 0;
    int64_t last_start_ns = INT64_MIN;
    int64_t first_start_ns = INT64_MAX;
  };
  std::map<std::string, Source> sources;
  Source* current = nullptr;

  absl::Status BeginSource(const SourceContext& source, const FileInterner& /*names*/,
                           const std::vector<StepRange>& /*steps*/) override {
    current = &sources[source.source_id.Hex()];
    return absl::OkStatus();
  }
  absl::Status Consume(const ActivityRecord& record) override {
    EXPECT_GE(record.start_ns, current->last_start_ns);
    current->last_start_ns = record.start_ns;
    if (record.type != ActivityType::kDevice) return absl::OkStatus();
    current->first_start_ns = std::min(current->first_start_ns, record.start_ns);
    if (record.kind == DeviceKind::kMemcpy) ++current->memcpys;
    if (record.kind != DeviceKind::kKernel) return absl::OkStatus();
    ++current->kernels;
    current->kernel_time_ns += record.duration_ns;
    return absl::OkStatus();
  }
};

TEST(ReadActivities, GivesTheActivitiesOfTheSourcesThatAreCondensed) {
  LOCKSTEP_NEED_TRACES();
  for (const auto& entry : std::filesystem::directory_iterator(kData + "param_dlrm_8rank_v100/kineto")) {
    const Collected collected = Condense(entry.path());
    CountedActivities counted;
    CondenseFileOptions options;
    options.tmp_dir = testing::TempDir();
    ASSERT_EQ(ReadActivities(entry.path(), options, counted).value().status, "used");
    ASSERT_EQ(counted.sources.size(), collected.sources.size());
    for (const auto& [id, source] : collected.sources) {
      ASSERT_TRUE(counted.sources.contains(id));
      EXPECT_EQ(counted.sources[id].kernels, source.context.kernels);
      EXPECT_EQ(counted.sources[id].memcpys, source.context.memcpys);
      EXPECT_EQ(counted.sources[id].kernel_time_ns, source.context.kernel_time_ns);
      EXPECT_EQ(counted.sources[id].first_start_ns, source.context.first_start_ns);
    }
  }
}

}  // namespace
}  // namespace lockstep
