// The in-memory run against what the product's readers and condenser make of the written files.
#include "bench/simulator/run/condensed_run.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/received_batch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "agent/pipeline/condense_file.h"
#include "aggregator/store/memory/memory_store.h"
#include "bench/simulator/command/simulate_command.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (fs::temp_directory_path() / "lockstep-condensed-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class StoreConsumer : public BatchConsumer {
 public:
  explicit StoreConsumer(MemoryStore& store) : store_(store) {}
  absl::Status BeginSource(const SourceContext& source) override { return store_.PutSource("r", source).status(); }
  absl::Status Consume(const SourceContext& source, Batch batch) override {
    return store_.PutBatch("r", source.source_id, {.high = 1, .low = static_cast<uint64_t>(batch.sequence)}, batch);
  }

 private:
  MemoryStore& store_;
};

LoadedRun FromFiles(const SimulatorOptions& options) {
  EXPECT_TRUE(RunSimulation(options, {}, {}).ok());
  MemoryStore store;
  EXPECT_TRUE(store.OpenRun("r", -1).ok());
  StoreConsumer consumer(store);
  CondenseFileOptions how;
  how.tmp_dir = testing::TempDir();
  for (const auto& entry : fs::directory_iterator(options.out)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank")) continue;
    const auto report = CondenseFile(entry.path().string(), how, consumer);
    EXPECT_TRUE(report.ok()) << report.status();
    if (report.ok()) {
      EXPECT_EQ(report->status, "used") << name << ": " << report->reason;
    }
  }
  auto loaded = store.LoadRun("r");
  EXPECT_TRUE(loaded.ok());
  return *std::move(loaded);
}

std::vector<InstanceRow> RowsOf(InstanceSource& instances, size_t source) {
  auto stream = instances.Open(source);
  EXPECT_TRUE(stream.ok());
  std::vector<InstanceRow> rows;
  while (true) {
    auto block = (*stream)->Next();
    EXPECT_TRUE(block.ok());
    if (!block.ok() || block->empty()) return rows;
    rows.insert(rows.end(), block->begin(), block->end());
  }
}

std::string TextOf(const LocalCommunicator& c) {
  return fmt::format("{}/{}/{}/{}/{}/{}/{}/{}", c.known, c.group_name, c.group_desc, fmt::join(c.members, ","), c.size,
                     c.comm_hash, c.own_rank, c.elided_unresolved);
}

std::string TextOf(const RunData& run, const SourceData& source, const InstanceRow& row) {
  const Segment& s = row.segment;
  std::string text = fmt::format(
      "{}+{} launch {}..{} seq {} bytes {} step {} graph {}/{} id {}:{} comm {} {} stream {} peer {} root {} op {} "
      "dtype {} library {} segment {} {} {} {} {} {} {} {} slack {}",
      row.start_ns, row.duration_ns, row.launch_start_ns, row.launch_end_ns, row.seq, row.bytes, row.step,
      row.graph_launch, row.graph_position, row.has_comms_id, row.comms_id,
      TextOf(source.communicators[row.communicator]), run.names[row.name], row.stream, row.peer, row.root, Name(row.op),
      Name(row.dtype), Name(row.library), s.begin_ns, s.compute_ns, s.copy_ns, s.other_comm_ns, s.host_ns, s.launch_ns,
      s.dependency_ns, s.rest_ns, s.second_slack_ns);
  for (const OtherCommTile& tile : s.tiles) {
    text += fmt::format(" tile {}@{}+{}", tile.instance, tile.offset_ns, tile.length_ns);
  }
  for (const auto& [gap, length] : row.cover) text += fmt::format(" cover {}+{}", gap, length);
  return text;
}

// What a context says that an analysis uses.
std::string TextOf(const SourceContext& c) {
  std::string text =
      fmt::format("{} device {} world {} host '{}' from {} window {}..{} counts {} {} {} {} {} {} {}", c.format,
                  c.device, c.world_size.value_or(-1), c.host, Name(c.host_source), c.first_start_ns, c.last_end_ns,
                  c.kernels, c.collectives, c.memcpys, c.memsets, c.graph_spans, c.graph_kernels, c.kernel_time_ns);
  for (const RankClaim& claim : c.claims) text += fmt::format(" claim {} {}", claim.rank, Name(claim.source));
  for (const GroupConfig& g : c.groups) {
    text += fmt::format(" group {} {} {} {} {} {}", g.name, g.desc, fmt::join(g.members, ","), g.size, g.comm_hash,
                        g.own_rank);
  }
  return text;
}

std::string TextOf(const RunData& run, const KernelRow& row) {
  std::string text = fmt::format("{} grid {} block {} graph {}", run.names[row.name], fmt::join(row.shape.grid, ","),
                                 fmt::join(row.shape.block, ","), row.from_graph);
  for (const auto& [slice, sketch] : row.slices) {
    text += fmt::format(" {}: {} {} {} {}", slice, sketch.count(), sketch.sum(), sketch.min(), sketch.max());
  }
  return text;
}

std::vector<std::string> KernelsOf(const RunData& run, const SourceData& source) {
  std::vector<std::string> rows;
  for (const KernelRow& row : source.kernels) rows.push_back(TextOf(run, row));
  std::sort(rows.begin(), rows.end());
  return rows;
}

// By what tells the sources of one simulated run apart, whatever their ids.
std::map<std::string, size_t> SourcesOf(const RunData& run) {
  std::map<std::string, size_t> sources;
  for (size_t i = 0; i < run.sources.size(); ++i) {
    const SourceContext& c = run.sources[i].context;
    const std::string name = fs::path(c.path).filename().string();
    EXPECT_TRUE(sources.emplace(fmt::format("{} {} {}", name, c.pid, c.device), i).second);
  }
  return sources;
}

void ExpectSame(const SourceData& a, const SourceData& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) {
    StepRow step = a.steps[i];
    step.name = b.steps[i].name;
    EXPECT_EQ(step, b.steps[i]) << "step " << i;
  }
  EXPECT_EQ(a.buckets, b.buckets);
  EXPECT_EQ(a.step_kernels.size(), b.step_kernels.size());
  EXPECT_EQ(a.summary.drops.count, b.summary.drops.count);
  EXPECT_EQ(a.summary.streams, b.summary.streams);
}

void ExpectSameAsFiles(SimulatorOptions options) {
  const TempFolder folder;
  options.out = folder.path();
  options.gzip = false;
  ASSERT_TRUE(CompleteLayout(options).ok());
  const LoadedRun files = FromFiles(options);
  const auto memory = SimulateCondensed(options, {});
  ASSERT_TRUE(memory.ok()) << memory.status();
  const std::map<std::string, size_t> by_file = SourcesOf(files.data);
  const std::map<std::string, size_t> in_memory = SourcesOf((*memory)->run);
  ASSERT_EQ(by_file.size(), in_memory.size());
  for (const auto& [key, a] : by_file) {
    SCOPED_TRACE(key);
    ASSERT_TRUE(in_memory.contains(key));
    const size_t b = in_memory.at(key);
    const SourceData& of_file = files.data.sources[a];
    const SourceData& of_memory = (*memory)->run.sources[b];
    EXPECT_EQ(TextOf(of_file.context), TextOf(of_memory.context));
    ExpectSame(of_file, of_memory);
    EXPECT_EQ(KernelsOf(files.data, of_file), KernelsOf((*memory)->run, of_memory));
    const std::vector<InstanceRow> rows = RowsOf(*files.instances, a);
    const std::vector<InstanceRow> same = RowsOf(*(*memory)->instances, b);
    ASSERT_EQ(rows.size(), same.size());
    ASSERT_EQ(rows.size(), (*memory)->instance_of_row[b].size());
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(TextOf(files.data, of_file, rows[i]), TextOf((*memory)->run, of_memory, same[i])) << "row " << i;
    }
  }
}

struct Form {
  const char* name;
  IdLevel ids;
  TraceForm form;
  int32_t kineto_version = 2026;
  int32_t nsys_schema_minor = 25;
};
class CondensedRun : public ::testing::TestWithParam<Form> {
 protected:
  static SimulatorOptions Options(ProgramKind program) {
    const Form& form = GetParam();
    SimulatorOptions options{.program = program,
                             .tp = 4,
                             .steps = 3,
                             .layers = 3,
                             .seed = 7,
                             .ids = form.ids,
                             .form = form.form,
                             .kineto_version = form.kineto_version,
                             .nsys_schema_minor = form.nsys_schema_minor};
    options.clock = {.offset_ms = 5, .drift_ppm = 10, .bias_us = 2};
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, CondensedRun,
                         ::testing::Values(Form{"kineto_full", IdLevel::kFull, TraceForm::kKineto},
                                           Form{"kineto_groups", IdLevel::kGroups, TraceForm::kKineto},
                                           Form{"kineto_names", IdLevel::kNames, TraceForm::kKineto},
                                           Form{"kineto_groups_2024", IdLevel::kGroups, TraceForm::kKineto, 2024},
                                           Form{"kineto_full_2021", IdLevel::kFull, TraceForm::kKineto, 2021},
                                           Form{"nsys_full", IdLevel::kFull, TraceForm::kNsys},
                                           Form{"nsys_groups", IdLevel::kGroups, TraceForm::kNsys},
                                           Form{"nsys_names", IdLevel::kNames, TraceForm::kNsys},
                                           Form{"nsys_groups_3_7", IdLevel::kGroups, TraceForm::kNsys, 2026, 7},
                                           Form{"mixed_groups", IdLevel::kGroups, TraceForm::kMixed}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(CondensedRun, OfDecodeEqualsWhatTheReadersMakeOfTheFiles) { ExpectSameAsFiles(Options(ProgramKind::kDecode)); }

TEST_P(CondensedRun, OfTrainingOnTwoHostsEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kTrain);
  options.tp = 2;
  options.dp = 2;
  options.hosts = 2;
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, OfAPipelineEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kPipeline);
  options.tp = 1;
  options.pp = 4;
  options.layers = 4;
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, OfBroadcastsReductionsAndUnequalSequencesEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kTrain);
  options.tp = 1;
  options.dp = 4;
  options.shard = Sharding::kOptimizer;
  options.noise.length_sigma = 0.1;
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, OfFullShardingInAnInterleavedPipelineEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kPipeline);
  options.tp = 1;
  options.pp = 3;
  options.dp = 2;
  options.layers = 6;
  options.micro_batches = 3;
  options.interleave = 2;
  options.shard = Sharding::kFull;
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, OfExpertsEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kMoe);
  options.tp = 1;
  options.dp = 4;
  options.ep = 2;
  options.causes = {{"more_work", {{"rank", "1"}, {"factor", "1.3"}}}, {"expert_imbalance", {{"skew", "0.5"}}}};
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, OfGraphReplaysEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kDecode);
  options.graphs = true;
  options.all_reduce = AllReduceKind::kCustom;
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, OfStepsThatCausesChangeEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kDecode);
  options.causes = {{"sync", {{"every", "2"}}},          {"alloc", {{"calls", "3"}}},
                    {"host_copies", {{"count", "2"}}},   {"big_copies", {}},
                    {"small_kernels", {{"split", "3"}}}, {"prefill_mix", {{"every", "3"}}},
                    {"slow_launch", {{"rank", "1"}}},    {"outlier", {{"count", "2"}}}};
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, WithDamageEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kDecode);
  options.hosts = 2;
  options.defects = {{"loss", {{"p", "0.02"}}},
                     {"absurd", {{"p", "0.02"}}},
                     {"head", {{"n", "9"}}},
                     {"burst", {{"n", "12"}}},
                     {"stagger", {{"s", "1"}}}};
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, WithMissingAndDoubledRanksEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kDecode);
  options.hosts = 2;
  options.defects = {{"missing_rank", {{"rank", "3"}}}, {"duplicate_rank", {{"rank", "1"}}}};
  ExpectSameAsFiles(options);
}

TEST_P(CondensedRun, OfTwoJobsWithOneHostNameEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options = Options(ProgramKind::kDecode);
  options.hosts = 2;
  options.defects = {{"decoy", {}}, {"same_hostname", {}}};
  ExpectSameAsFiles(options);
}

TEST(SimulatedInMemory, OfTruncatedGroupListsEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options{.tp = 32, .steps = 1, .layers = 1, .seed = 7, .ids = IdLevel::kGroups};
  options.defects = {{"elided_groups", {}}};
  ExpectSameAsFiles(options);
}

TEST(SimulatedInMemory, OfOpaqueGraphsEqualsWhatTheReadersMakeOfTheFiles) {
  SimulatorOptions options{.tp = 4, .steps = 3, .layers = 2, .seed = 7, .form = TraceForm::kNsys, .graphs = true};
  options.defects = {{"opaque_graphs", {}}};
  ExpectSameAsFiles(options);
}

TEST(SimulatedInMemory, RowsPointToTheInstanceTheyAre) {
  SimulatorOptions options{
      .program = ProgramKind::kTrain, .tp = 2, .dp = 4, .hosts = 2, .steps = 4, .layers = 3, .seed = 7};
  options.defects = {{"loss", {{"p", "0.05"}}}};
  ASSERT_TRUE(CompleteLayout(options).ok());
  const auto run = SimulateCondensed(options, {});
  ASSERT_TRUE(run.ok());
  std::vector<int> rows_of((*run)->true_instances.size());
  for (size_t source = 0; source < (*run)->run.sources.size(); ++source) {
    const std::vector<InstanceRow> rows = RowsOf(*(*run)->instances, source);
    const int32_t rank = (*run)->rank_of_source[source];
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<size_t>((*run)->instance_of_row[source][i]);
      ++rows_of[at];
      const TrueInstance& instance = (*run)->true_instances[at];
      const auto member = std::find_if(instance.members.begin(), instance.members.end(),
                                       [&](const TrueMember& m) { return m.rank == rank; });
      ASSERT_NE(member, instance.members.end());
      EXPECT_EQ(member->start_ns, rows[i].start_ns);  // all clocks are true
      EXPECT_EQ(instance.op, rows[i].op);
      EXPECT_TRUE(member->recorded);
    }
  }
  for (size_t i = 0; i < rows_of.size(); ++i) {
    const auto& members = (*run)->true_instances[i].members;
    EXPECT_EQ(rows_of[i],
              std::count_if(members.begin(), members.end(), [](const TrueMember& m) { return m.recorded; }));
  }
}

}  // namespace
}  // namespace lockstep
