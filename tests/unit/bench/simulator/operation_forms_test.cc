// How the less usual operations look in both forms: pairs, uneven exchanges, custom kernels, graph replays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bench/simulator/command/simulate_command.h"
#include "platform/sqlite.h"
#include "tests/unit/bench/simulator/simulator_fixture.h"
#include "tests/unit/bench/simulator/written_traces.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

void WritePlainTraces(SimulatorOptions options) {
  options.argv = {"lockstep-simulate"};
  options.gzip = false;
  ASSERT_TRUE(CompleteLayout(options).ok());
  const absl::Status status = RunSimulation(options, {}, {});
  ASSERT_TRUE(status.ok()) << status;
}

std::vector<Json> EventsOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return Json::parse(text.str()).at("traceEvents").get<std::vector<Json>>();
}

std::vector<Json> Kernels(const std::string& path, const std::string& part) {
  std::vector<Json> found;
  for (const Json& event : EventsOf(path)) {
    if (event.value("cat", "") != "kernel") continue;
    if (event.at("name").get<std::string>().find(part) != std::string::npos) found.push_back(event);
  }
  return found;
}

std::vector<std::string> Texts(Database& db, const std::string& sql) {
  std::vector<std::string> texts;
  auto statement = db.Prepare(sql);
  EXPECT_TRUE(statement.ok()) << statement.status();
  for (auto more = statement->Step(); more.ok() && *more; more = statement->Step()) {
    texts.emplace_back(statement->Text(0));
  }
  return texts;
}
int64_t RequiredNumber(Database& db, const std::string& sql) {
  auto statement = db.Prepare(sql);
  EXPECT_TRUE(statement.ok()) << statement.status();
  const auto more = statement->Step();
  EXPECT_TRUE(more.ok() && *more);
  return statement->Int(0);
}

SimulatorOptions PipelineInto(const std::string& out) {
  return {.program = ProgramKind::kPipeline, .tp = 1, .pp = 3, .steps = 1, .layers = 3, .micro_batches = 4, .out = out};
}

TEST(KinetoPairs, SendsNameTheirTargetAndReceivesTheirSource) {
  const ScratchFolder dir;
  WritePlainTraces(PipelineInto(dir / "k"));
  int sends = 0;
  for (const Json& kernel : Kernels(dir / "k/rank1.json", "SendRecv")) {
    const Json& args = kernel.at("args");
    if (!args.contains("Collective name")) continue;
    const bool sends_it = args.at("Collective name") == "send";
    sends += sends_it ? 1 : 0;
    EXPECT_EQ(args.contains("Dst Rank"), sends_it);
    EXPECT_EQ(args.contains("Src Rank"), !sends_it);
    const int peer = args.at(sends_it ? "Dst Rank" : "Src Rank").get<int>();
    EXPECT_TRUE(peer == 0 || peer == 2);
    EXPECT_EQ(args.at("Group size"), 3);
  }
  EXPECT_GT(sends, 0);
}

TEST(KinetoPairs, CoalescedKernelsBearNoMetadataTheirCallsDo) {
  const ScratchFolder dir;
  WritePlainTraces(PipelineInto(dir / "k"));
  int bare = 0;
  for (const Json& kernel : Kernels(dir / "k/rank1.json", "SendRecv")) {
    bare += kernel.at("args").contains("Collective name") ? 0 : 1;
  }
  std::map<std::string, int> calls;
  int coalesced = 0;
  for (const Json& event : EventsOf(dir / "k/rank1.json")) {
    if (event.at("name") == "record_param_comms") ++calls[event.at("args").at("Collective name")];
    coalesced += event.at("name") == "nccl:coalesced" && event.value("cat", "") == "user_annotation" ? 1 : 0;
  }
  EXPECT_GT(bare, 0);
  EXPECT_EQ(coalesced, bare);
  // Four micro-batches up and four gradients down, on both sides of this stage.
  EXPECT_EQ(calls.at("send"), 8);
  EXPECT_EQ(calls.at("recv"), 8);
}

TEST(NsysPairs, CallsThatShareAKernelStandInAGroup) {
  const ScratchFolder dir;
  SimulatorOptions options = PipelineInto(dir / "n");
  options.form = TraceForm::kNsys;
  options.ids = IdLevel::kGroups;
  WritePlainTraces(options);
  Database db = OpenExport(dir / "n/rank0-2.sqlite");
  const std::vector<std::string> names =
      Texts(db,
            "SELECT value FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE domainId = 1 AND value NOT LIKE "
            "'ncclComm%' ORDER BY globalTid, start");
  int groups = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != "ncclGroupStart") continue;
    ++groups;
    EXPECT_EQ(std::set<std::string>({names[i + 1], names[i + 2]}), (std::set<std::string>{"ncclRecv", "ncclSend"}));
    EXPECT_EQ(names[i + 3], "ncclGroupEnd");
  }
  EXPECT_GT(groups, 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "ncclSend"), 16);  // 2 pairs, 4 micro-batches, both ways
}

TEST(NsysPairs, BothSidesOfAPairHaveOneOperationId) {
  const ScratchFolder dir;
  SimulatorOptions options = PipelineInto(dir / "n");
  options.form = TraceForm::kNsys;
  WritePlainTraces(options);
  Database db = OpenExport(dir / "n/rank0-2.sqlite");
  std::map<uint64_t, int> sides;
  for (const std::string& text : Texts(db, "SELECT jsonText FROM NVTX_EVENTS WHERE jsonText IS NOT NULL")) {
    const Json json = Json::parse(text);
    EXPECT_EQ(json.at("operationClass"), "p2p");
    ++sides[json.at("operationId")];
  }
  EXPECT_EQ(sides.size(), 16U);
  for (const auto& [id, count] : sides) EXPECT_EQ(count, 2);
}

TEST(KinetoExchange, ShowsWhatEachRankSends) {
  const ScratchFolder dir;
  WritePlainTraces(
      {.program = ProgramKind::kMoe, .tp = 1, .dp = 4, .ep = 4, .steps = 1, .layers = 1, .out = dir / "k"});
  std::set<int64_t> sizes;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string path = dir / ("k/rank" + std::to_string(rank) + ".json");
    const Json args = Kernels(path, "SendRecv").front().at("args");
    EXPECT_EQ(args.at("Collective name"), "all_to_allv");
    sizes.insert(args.at("In msg nelems").get<int64_t>());
  }
  EXPECT_EQ(sizes.size(), 4U);
}

TEST(NsysExchange, SendsToAPeerWhatThePeerReceives) {
  const ScratchFolder dir;
  WritePlainTraces({.program = ProgramKind::kMoe,
                    .tp = 1,
                    .dp = 4,
                    .ep = 4,
                    .steps = 1,
                    .layers = 1,
                    .form = TraceForm::kNsys,
                    .out = dir / "n"});
  Database db = OpenExport(dir / "n/rank0-3.sqlite");
  std::multiset<int64_t> sent;
  std::multiset<int64_t> received;
  const std::string from = " FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE value = ";
  for (const std::string& text : Texts(db, "SELECT jsonText" + from + "'ncclSend'")) {
    sent.insert(Json::parse(text).at("count").get<int64_t>());
  }
  for (const std::string& text : Texts(db, "SELECT jsonText" + from + "'ncclRecv'")) {
    received.insert(Json::parse(text).at("count").get<int64_t>());
  }
  EXPECT_FALSE(sent.empty());
  EXPECT_EQ(sent, received);
}

TEST(CustomKernels, BearNoMetadataAtAnyLevel) {
  const ScratchFolder dir;
  SimulatorOptions options{.tp = 2, .steps = 1, .layers = 2, .all_reduce = AllReduceKind::kCustom, .out = dir / "k"};
  WritePlainTraces(options);
  const std::vector<Json> kernels = Kernels(dir / "k/rank0.json", "cross_device_reduce_1stage");
  EXPECT_EQ(kernels.size(), 5U);
  for (const Json& kernel : kernels) EXPECT_FALSE(kernel.at("args").contains("Process Group Name"));
  options.form = TraceForm::kNsys;
  options.out = dir / "n";
  WritePlainTraces(options);
  Database db = OpenExport(dir / "n/rank0-1.sqlite");
  EXPECT_EQ(RequiredNumber(db, "SELECT count(*) FROM NVTX_EVENTS WHERE jsonText IS NOT NULL"), 0);
}

SimulatorOptions Graphs(const std::string& out) {
  return {.tp = 2, .steps = 3, .layers = 2, .form = TraceForm::kNsys, .graphs = true, .out = out};
}

TEST(NsysGraphs, NodesOfALaunchShareItsCorrelation) {
  const ScratchFolder dir;
  WritePlainTraces(Graphs(dir / "n"));
  Database db = OpenExport(dir / "n/rank0-1.sqlite");
  EXPECT_EQ(
      RequiredNumber(db,
                     "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value LIKE "
                     "'cudaGraphLaunch%'"),
      6);
  EXPECT_EQ(RequiredNumber(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE graphNodeId IS NULL"), 0);
  EXPECT_EQ(
      RequiredNumber(db, "SELECT count(DISTINCT globalPid || '/' || correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
      6);
  // Every replay has the same nodes, in the same order.
  EXPECT_EQ(
      RequiredNumber(db,
                     "SELECT count(*) FROM (SELECT graphNodeId, count(*) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP "
                     "BY graphNodeId) WHERE n <> 6"),
      0);
  EXPECT_EQ(RequiredNumber(db,
                           "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL a JOIN CUPTI_ACTIVITY_KIND_KERNEL b ON "
                           "a.globalPid = b.globalPid AND a.correlationId = b.correlationId AND a.graphNodeId < "
                           "b.graphNodeId AND a.start > b.start"),
            0);
  EXPECT_THAT(Texts(db, "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%GRAPH_TRACE_OPTIONS:MODE'"),
              ElementsAre("Node"));
}

TEST(NsysGraphs, OpaqueOnesAreOneSpanALaunch) {
  const ScratchFolder dir;
  WritePlainTraces(Graphs(dir / "nodes"));
  SimulatorOptions options = Graphs(dir / "spans");
  options.defects = {{"opaque_graphs", {}}};
  WritePlainTraces(options);
  Database nodes = OpenExport(dir / "nodes/rank0-1.sqlite");
  Database spans = OpenExport(dir / "spans/rank0-1.sqlite");
  EXPECT_EQ(RequiredNumber(spans, "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'"), 0);
  EXPECT_EQ(RequiredNumber(spans, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"), 6);
  EXPECT_EQ(RequiredNumber(spans, "SELECT min(start) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
            RequiredNumber(nodes, "SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL"));
  EXPECT_EQ(RequiredNumber(spans, "SELECT max(end) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
            RequiredNumber(nodes, "SELECT max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL"));
}

TEST(KinetoGraphs, ReplayedKernelsNameTheirNodeAndNoOperator) {
  const ScratchFolder dir;
  SimulatorOptions options = Graphs(dir / "k");
  options.form = TraceForm::kKineto;
  WritePlainTraces(options);
  std::set<int64_t> correlations;
  for (const Json& kernel : Kernels(dir / "k/rank0.json", "")) {
    EXPECT_TRUE(kernel.at("args").contains("graph node id"));
    EXPECT_FALSE(kernel.at("args").contains("External id"));
    EXPECT_FALSE(kernel.at("args").contains("Collective name"));
    correlations.insert(kernel.at("args").at("correlation").get<int64_t>());
  }
  EXPECT_EQ(correlations.size(), 3U);
}

TEST(MoreWork, ShowsInGrids) {
  const ScratchFolder dir;
  SimulatorOptions options{.program = ProgramKind::kTrain, .tp = 2, .steps = 1, .layers = 1, .out = dir / "k"};
  options.causes = {{"more_work", {{"rank", "1"}, {"factor", "1.5"}}}};
  WritePlainTraces(options);
  const auto grid = [&](int rank) {
    const std::string path = dir / ("k/rank" + std::to_string(rank) + ".json");
    return Kernels(path, "nvjet_tst_256x128").front().at("args").at("grid").at(0).get<int>();
  };
  EXPECT_EQ(grid(0), 132);
  EXPECT_EQ(grid(1), 198);
}

}  // namespace
}  // namespace lockstep
