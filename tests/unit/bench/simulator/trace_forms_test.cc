#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <tuple>

#include "bench/simulator/command/simulate_command.h"
#include "bench/simulator/nsys/nsys_payload.h"
#include "bench/simulator/nsys/nsys_schema.h"
#include "bench/simulator/run/trace_writer.h"
#include "platform/sqlite.h"
#include "tests/unit/bench/simulator/simulator_fixture.h"
#include "tests/unit/bench/simulator/written_traces.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string Inflated(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  std::string text;
  std::string block(1 << 16, '\0');
  int got = 0;
  while ((got = gzread(file, block.data(), static_cast<unsigned>(block.size()))) > 0) {
    text.append(block, 0, static_cast<size_t>(got));
  }
  EXPECT_EQ(got, 0) << path;
  gzclose(file);
  return text;
}

SimulatorOptions Small(const std::string& out) {
  SimulatorOptions options{
      .argv = {"lockstep-simulate"}, .tp = 4, .steps = 3, .layers = 2, .seed = 5, .out = out, .gzip = false};
  EXPECT_TRUE(CompleteLayout(options).ok());
  return options;
}

SimulatorOptions SmallTrain(const std::string& out) {
  SimulatorOptions options = Small(out);
  options.program = ProgramKind::kTrain;
  options.dp = 2;
  options.hosts = 2;
  options.layers = 3;
  options.clock = {.offset_ms = 5, .drift_ppm = 10, .bias_us = 2};
  return options;
}

void WriteTraces(const SimulatorOptions& options) {
  const absl::Status status = RunSimulation(options, {}, {});
  ASSERT_TRUE(status.ok()) << status;
}

// start, end (Unix ns), device, stream, correlation, name, bytes (-1: a kernel), grid x
using DeviceRow = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, std::string, int64_t, int64_t>;

int64_t Ns(const Json& us) { return std::llround(us.get<double>() * 1000); }

std::vector<DeviceRow> KinetoDeviceRows(const Json& trace) {
  std::vector<DeviceRow> rows;
  const int64_t base = trace.value("baseTimeNanoseconds", int64_t{0});
  for (const Json& event : trace.at("traceEvents")) {
    const std::string category = event.value("cat", "");
    const bool kernel = category == "kernel";
    if (!kernel && category != "gpu_memcpy" && category != "gpu_memset") continue;
    const Json& args = event.at("args");
    const int64_t start = base + Ns(event.at("ts"));
    const std::string name = kernel ? event.at("name").get<std::string>() : category;
    rows.emplace_back(start, start + Ns(event.at("dur")), args.at("device"), args.at("stream"), args.at("correlation"),
                      name, args.value("bytes", int64_t{-1}), kernel ? args.at("grid").at(0).get<int64_t>() : 0);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Runs a query and calls `row` for each row.
template <typename Row>
void Query(Database& db, std::string_view sql, Row row) {
  auto statement = db.Prepare(sql);
  ASSERT_TRUE(statement.ok()) << statement.status();
  for (auto more = statement->Step(); more.ok() && *more; more = statement->Step()) row(*statement);
}

int64_t Number(Database& db, std::string_view sql) {
  int64_t number = -1;
  Query(db, sql, [&](Statement& row) { number = row.Int(0); });
  return number;
}

// Device rows of one process of an export.
std::vector<DeviceRow> NsysDeviceRows(Database& db, int64_t pid) {
  std::vector<DeviceRow> rows;
  const int64_t base = Number(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
  const auto add = [&](Statement& row) {
    if (((row.Int(5) >> 24) & 0xffffff) != pid) return;
    rows.emplace_back(base + row.Int(0), base + row.Int(1), row.Int(2), row.Int(3), row.Int(4),
                      std::string(row.Text(6)), row.Int(7), row.Int(8));
  };
  const std::string common = "SELECT start, end, deviceId, streamId, correlationId, globalPid, ";
  Query(db, common + "value, -1, gridX FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName", add);
  Query(db, common + "'gpu_memcpy', bytes, 0 FROM CUPTI_ACTIVITY_KIND_MEMCPY", add);
  if (Number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MEMSET'") > 0) {
    Query(db, common + "'gpu_memset', bytes, 0 FROM CUPTI_ACTIVITY_KIND_MEMSET", add);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(TraceForms, BothFormsHoldTheSameDeviceRecords) {
  const ScratchFolder dir;
  for (const bool train : {false, true}) {
    const std::string name = train ? "train" : "decode";
    SimulatorOptions options = train ? SmallTrain(dir / (name + "k")) : Small(dir / (name + "k"));
    WriteTraces(options);
    options.form = TraceForm::kNsys;
    options.out = dir / (name + "n");
    WriteTraces(options);
    for (int32_t rank = 0; rank < options.world(); ++rank) {
      const int32_t first = rank / options.gpus_per_host * options.gpus_per_host;
      Database db = OpenExport(options.out + "/rank" + std::to_string(first) + "-" +
                               std::to_string(first + options.gpus_per_host - 1) + ".sqlite");
      const Json trace = Json::parse(Bytes(dir / (name + "k/rank" + std::to_string(rank) + ".json")));
      const std::vector<DeviceRow> kineto = KinetoDeviceRows(trace);
      EXPECT_GT(kineto.size(), 50U);
      EXPECT_EQ(kineto, NsysDeviceRows(db, 10'000 + rank - first)) << name << " rank " << rank;
    }
  }
}

TEST(TraceForms, BothFormsHoldTheSameLaunchesAndSteps) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "k");
  WriteTraces(options);
  options.form = TraceForm::kNsys;
  options.out = dir / "n";
  WriteTraces(options);
  const Json trace = Json::parse(Bytes(dir / "k/rank2.json"));
  const int64_t base = trace.at("baseTimeNanoseconds");
  std::map<int64_t, std::pair<int64_t, int64_t>> calls;
  std::vector<std::tuple<std::string, int64_t, int64_t>> steps;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.value("cat", "") == "cuda_runtime") {
      const int64_t start = base + Ns(event.at("ts"));
      calls[event.at("args").at("correlation")] = {start, start + Ns(event.at("dur"))};
    } else if (event.value("cat", "") == "user_annotation" &&
               event.at("name").get<std::string>().starts_with("Profiler")) {
      const int64_t start = base + Ns(event.at("ts"));
      steps.emplace_back(event.at("name"), start, start + Ns(event.at("dur")));
    }
  }
  Database db = OpenExport(dir / "n/rank0-3.sqlite");
  const int64_t epoch = Number(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
  std::map<int64_t, std::pair<int64_t, int64_t>> nsys_calls;
  Query(db, "SELECT start, end, correlationId, globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME", [&](Statement& row) {
    if ((row.Int(3) & 0xffffff) == 10'002) nsys_calls[row.Int(2)] = {epoch + row.Int(0), epoch + row.Int(1)};
  });
  EXPECT_EQ(calls, nsys_calls);
  std::vector<std::tuple<std::string, int64_t, int64_t>> nsys_steps;
  Query(db, "SELECT text, start, end, globalTid FROM NVTX_EVENTS WHERE text LIKE 'ProfilerStep#%' ORDER BY start",
        [&](Statement& row) {
          if ((row.Int(3) & 0xffffff) != 10'002) return;
          nsys_steps.emplace_back(std::string(row.Text(0)), epoch + row.Int(1), epoch + row.Int(2));
        });
  EXPECT_EQ(steps, nsys_steps);
  EXPECT_EQ(steps.size(), 3U);
}

TEST(TraceForms, SameSeedGivesTheSameBytes) {
  const ScratchFolder dir;
  for (const char* out : {"a", "b"}) {
    SimulatorOptions options = SmallTrain(dir / out);
    options.form = TraceForm::kMixed;
    options.gzip = true;
    WriteTraces(options);
  }
  int files = 0;
  for (const auto& entry : fs::directory_iterator(dir / "a")) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(Bytes(dir / ("a/" + name)), Bytes(dir / ("b/" + name))) << name;
    ++files;
  }
  EXPECT_EQ(files, 4 + 1 + 2);  // four Kineto files, one export, truth and instances
}

TEST(TraceForms, AnotherSeedGivesOtherTimes) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "a");
  WriteTraces(options);
  options.out = dir / "b";
  options.seed = 6;
  WriteTraces(options);
  EXPECT_NE(Bytes(dir / "a/rank0.json"), Bytes(dir / "b/rank0.json"));
}

TEST(TraceForms, CompressedFileHoldsThePlainOnesBytes) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "plain");
  WriteTraces(options);
  options.gzip = true;
  options.out = dir / "gzip";
  WriteTraces(options);
  EXPECT_EQ(Inflated(dir / "gzip/rank1.json.gz"), Bytes(dir / "plain/rank1.json"));
}

class KinetoVersions : public ::testing::TestWithParam<int32_t> {};
INSTANTIATE_TEST_SUITE_P(All, KinetoVersions, ::testing::Values(2021, 2023, 2024, 2026));

TEST_P(KinetoVersions, LookAsOfTheirTime) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "k");
  options.kineto_version = GetParam();
  options.stacks = true;
  options.host_rows = 3;
  WriteTraces(options);
  const Json trace = Json::parse(Bytes(dir / "k/rank1.json"));
  const bool recent = GetParam() >= 2024;
  EXPECT_EQ(trace.contains("baseTimeNanoseconds"), recent);
  EXPECT_EQ(trace.contains("host_name"), recent);
  EXPECT_EQ(trace.at("distributedInfo").at("rank"), 1);
  EXPECT_EQ(trace.at("distributedInfo").contains("pg_config"), recent);
  int collectives = 0;
  for (const Json& event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("ts").is_number_integer(), !recent);
    const std::string name = event.at("name");
    if (!name.starts_with("nccl") || name.starts_with("nccl:")) continue;
    EXPECT_EQ(event.at("cat"), GetParam() == 2021 ? "Kernel" : "kernel");
    EXPECT_EQ(name.starts_with("ncclDevKernel_AllReduce_Sum_bf16"), recent);
    const Json& args = event.at("args");
    EXPECT_EQ(args.value("Process Group Ranks", ""), recent ? "[0, 1, 2, 3]" : "");
    EXPECT_EQ(args.value("Process Group Description", ""), recent ? "mesh_tp" : "");
    EXPECT_EQ(args.contains("Seq"), GetParam() == 2026);
    EXPECT_EQ(args.contains("Comms Id"), GetParam() == 2026);
    ++collectives;
  }
  EXPECT_EQ(collectives, 3 * (2 * 2 + 1));
}

TEST(Kineto, KernelsNameTheRecordParamCommsRowThatAsksForThem) {
  const ScratchFolder dir;
  WriteTraces(Small(dir / "k"));
  const Json trace = Json::parse(Bytes(dir / "k/rank0.json"));
  std::map<int64_t, Json> asked;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("name") == "record_param_comms") asked[event.at("args").at("External id")] = event.at("args");
  }
  int kernels = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.value("cat", "") != "kernel" || !event.at("args").contains("Seq")) continue;
    const Json& row = asked.at(event.at("args").at("External id"));
    EXPECT_EQ(row.at("Seq"), event.at("args").at("Seq"));
    EXPECT_EQ(row.at("Comms Id"), event.at("args").at("Comms Id"));
    EXPECT_EQ(row.at("Rank"), 0);
    ++kernels;
  }
  EXPECT_EQ(kernels, 3 * (2 * 2 + 1));
}

TEST(Kineto, SequenceAndCommsIdAreEqualOnAllMembers) {
  const ScratchFolder dir;
  SimulatorOptions options = SmallTrain(dir / "k");
  WriteTraces(options);
  std::map<std::string, int> shared;  // (name, ranks, seq, id) -> members seen
  for (int32_t rank = 0; rank < options.world(); ++rank) {
    const Json trace = Json::parse(Bytes(dir / ("k/rank" + std::to_string(rank) + ".json")));
    for (const Json& event : trace.at("traceEvents")) {
      if (event.value("cat", "") != "kernel" || !event.at("args").contains("Seq")) continue;
      const Json& args = event.at("args");
      ++shared[args.at("Comms Id").dump() + " " + args.at("Seq").dump() + " " + args.at("Process Group Ranks").dump() +
               args.at("Process Group Name").dump() + "/" + args.at("Group size").dump()];
    }
  }
  EXPECT_GT(shared.size(), 30U);
  for (const auto& [key, members] : shared) EXPECT_TRUE(key.ends_with("/" + std::to_string(members))) << key;
}

TEST(Kineto, NamesOnlyTellNothingButKernelNames) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "k");
  options.ids = IdLevel::kNames;
  WriteTraces(options);
  const std::string text = Bytes(dir / "k/rank0.json");
  for (const char* word : {"distributedInfo", "record_param_comms", "Process Group", "Comms Id", "nccl:"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  EXPECT_THAT(text, HasSubstr("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"));
}

TEST(Kineto, RankListsAreCutAtThirtyAndStandInFullInTheConfig) {
  const ScratchFolder dir;
  SimulatorOptions options{.tp = 40, .steps = 1, .layers = 1, .out = dir / "k", .gzip = false};
  for (const auto& [version, list] : {std::pair{2024, "28, 29, ...]"}, {2026, "27, 28, ..., 39]"}}) {
    options.kineto_version = version;
    options.out = dir / std::to_string(version);
    ASSERT_TRUE(CompleteLayout(options).ok());
    WriteTraces(options);
    const std::string text = Bytes(options.out + "/rank0.json");
    EXPECT_THAT(text, HasSubstr(list));
    EXPECT_EQ(Json::parse(text).at("distributedInfo").at("pg_config").at(1).at("ranks").size(), 40U);
  }
}

class NsysSchemas : public ::testing::TestWithParam<int32_t> {};
INSTANTIATE_TEST_SUITE_P(All, NsysSchemas, ::testing::Values(kSchema27, 0, 7, 13, 25, 28));

TEST_P(NsysSchemas, HoldExactlyTheirTablesAndColumns) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "n");
  options.form = TraceForm::kNsys;
  options.nsys_schema_minor = GetParam();
  WriteTraces(options);
  Database db = OpenExport(dir / "n/rank0-3.sqlite");
  const auto has = [&](const std::string& table, const std::string& column) {
    return Number(db, "SELECT count(*) FROM pragma_table_info('" + table + "') WHERE name = '" + column + "'") == 1;
  };
  EXPECT_TRUE(has("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"));
  EXPECT_EQ(has("EXPORT_META_DATA", "name"), GetParam() < 7);
  EXPECT_EQ(has("META_DATA_EXPORT", "name"), GetParam() >= 7);
  EXPECT_EQ(has("CUPTI_ACTIVITY_KIND_KERNEL", "greenContextId"), GetParam() >= 7);
  EXPECT_EQ(has("NVTX_EVENTS", "binaryData"), GetParam() >= 13);
  EXPECT_EQ(has("NVTX_PAYLOAD_SCHEMAS", "schemaId"), GetParam() >= 13);
  EXPECT_EQ(has("CUPTI_ACTIVITY_KIND_KERNEL", "graphId"), GetParam() >= 24);
  EXPECT_EQ(has("TARGET_INFO_CUDA_DEVICE", "uuid"), GetParam() >= 24);
  EXPECT_EQ(has("NVTX_EVENTS", "eventId"), GetParam() >= 28);
  EXPECT_EQ(Number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MEMSET'"), 0);  // lazy
  EXPECT_EQ(Number(db, "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"), 0);
  EXPECT_EQ(Number(db, "SELECT count(DISTINCT globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 4);
}

uint64_t LittleEndian(std::string_view bytes, size_t offset, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

// Reads one field of a payload through the schema tables, as a reader has to.
uint64_t PayloadField(Database& db, std::string_view blob, const std::string& field, size_t size) {
  constexpr size_t kHeader = 32;
  EXPECT_EQ(LittleEndian(blob, 16, 8) + kHeader, blob.size());
  EXPECT_EQ(LittleEndian(blob, 24, 8), blob.size());
  const std::string schema = std::to_string(LittleEndian(blob, 8, 4));
  const int64_t offset = Number(db,
                                "SELECT coalesce(offset, 0) FROM NVTX_PAYLOAD_SCHEMA_ENTRIES WHERE domainId = 1 AND "
                                "schemaId = " +
                                    schema + " AND name = '" + field + "'");
  EXPECT_GE(offset, 0) << field;
  return LittleEndian(blob, kHeader + static_cast<size_t>(offset), size);
}

TEST(Nsys, PayloadsTellCommunicatorsRanksAndSizes) {
  const ScratchFolder dir;
  SimulatorOptions options = SmallTrain(dir / "n");
  options.form = TraceForm::kNsys;
  options.ids = IdLevel::kGroups;
  WriteTraces(options);
  const CounterRng rng(options.seed);
  const Cluster cluster = MakeCluster(options, rng);
  Database db = OpenExport(dir / "n/rank4-7.sqlite");
  std::map<int64_t, std::vector<std::array<uint64_t, 4>>> inits;  // pid -> (hash, size, rank, device)
  std::map<uint64_t, int64_t> bytes;                              // hash -> sum of sizes
  Query(db,
        "SELECT value, binaryData, globalTid FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE domainId = 1 ORDER "
        "BY start",
        [&](Statement& row) {
          const std::string_view blob = row.Blob(1);
          const uint64_t hash = PayloadField(db, blob, "NCCL communicator ID", 8);
          if (row.Text(0) == kNcclInitRange) {
            inits[row.Int(2) & 0xffffff].push_back({hash, PayloadField(db, blob, "No. of ranks", 4),
                                                    PayloadField(db, blob, "Rank", 4),
                                                    PayloadField(db, blob, "CUDA device", 4)});
          } else {
            bytes[hash] += static_cast<int64_t>(PayloadField(db, blob, "Message size [bytes]", 8));
          }
        });
  ASSERT_EQ(inits.size(), 4U);
  for (const auto& [pid, list] : inits) {
    const auto rank = static_cast<int32_t>(4 + pid - 10'000);
    ASSERT_EQ(list.size(), 3U);  // world, tp, dp
    EXPECT_EQ(list[0][2], static_cast<uint64_t>(rank));
    for (size_t kind = 0; kind < 3; ++kind) {
      const auto& group =
          cluster.communicators[static_cast<size_t>(cluster.CommunicatorOf(rank, static_cast<GroupKind>(kind)))];
      EXPECT_EQ(list[kind][0], group.hash);
      EXPECT_EQ(list[kind][1], group.members.size());
      EXPECT_EQ(group.members[list[kind][2]], rank);
      EXPECT_EQ(list[kind][3], static_cast<uint64_t>(rank % 4));
    }
  }
  const RankGroup& world = cluster.communicators.front();
  EXPECT_EQ(bytes.at(world.hash), 3 * 4 * options.steps * 4);  // three floats a step of each of four ranks
}

TEST(Nsys, AdvancedTracingGivesOneIdToAllMembers) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "n");
  options.form = TraceForm::kNsys;
  WriteTraces(options);
  Database db = OpenExport(dir / "n/rank0-3.sqlite");
  std::map<uint64_t, std::vector<std::pair<int64_t, int64_t>>> operations;  // id -> (seq, rank)
  Query(db, "SELECT jsonText FROM NVTX_EVENTS WHERE jsonText IS NOT NULL", [&](Statement& row) {
    const Json json = Json::parse(row.Text(0));
    operations[json.at("operationId")].emplace_back(json.at("seqNumber"), json.at("commRank"));
  });
  EXPECT_EQ(operations.size(), 15U);
  for (auto& [id, members] : operations) {
    std::sort(members.begin(), members.end());
    ASSERT_EQ(members.size(), 4U);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(members[i], std::pair(members[0].first, static_cast<int64_t>(i)));
  }
}

TEST(Nsys, AWorldThatIsTheTensorParallelGroupHasOneCommunicator) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "n");
  options.form = TraceForm::kNsys;
  WriteTraces(options);
  Database db = OpenExport(dir / "n/rank0-3.sqlite");
  EXPECT_EQ(
      Number(db, "SELECT count(*) FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE value LIKE 'ncclCommInit%'"), 4);
}

TEST(Nsys, NamesOnlyHaveNoNcclRanges) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "n");
  options.form = TraceForm::kNsys;
  options.ids = IdLevel::kNames;
  WriteTraces(options);
  Database db = OpenExport(dir / "n/rank0-3.sqlite");
  EXPECT_EQ(Number(db, "SELECT count(*) FROM NVTX_EVENTS WHERE domainId <> 0"), 0);
  EXPECT_EQ(Number(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'NVTX_PAYLOAD%'"), 0);
}

TEST(Nsys, OneGpuAHostGivesOneFileARank) {
  const ScratchFolder dir;
  SimulatorOptions options{.tp = 2, .hosts = 2, .steps = 1, .layers = 1, .form = TraceForm::kNsys, .out = dir / "n"};
  ASSERT_TRUE(CompleteLayout(options).ok());
  WriteTraces(options);
  EXPECT_TRUE(fs::exists(dir / "n/rank0.sqlite"));
  EXPECT_TRUE(fs::exists(dir / "n/rank1.sqlite"));
}

struct CsvRow {
  std::string communicator;
  int64_t index;
  std::string op;
  int64_t bytes;
  int64_t step;
  int32_t rank;
  int64_t start;
  int64_t end;
};
std::vector<CsvRow> CsvInstances(const std::string& path) {
  std::istringstream text(Inflated(path));
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "communicator_id,index,op,bytes,step,rank,true_start_ns,true_end_ns,recorded");
  std::vector<CsvRow> rows;
  while (std::getline(text, line)) {
    std::vector<std::string> cells;
    std::istringstream split(line);
    for (std::string cell; std::getline(split, cell, ',');) cells.push_back(cell);
    EXPECT_EQ(cells.size(), 9U);
    rows.push_back({cells[0], *ParseInteger(cells[1]), cells[2], *ParseInteger(cells[3]), *ParseInteger(cells[4]),
                    static_cast<int32_t>(*ParseInteger(cells[5])), *ParseInteger(cells[6]), *ParseInteger(cells[7])});
  }
  return rows;
}

TEST(Truth, ListsEveryCollectiveKernelOfTheTraces) {
  const ScratchFolder dir;
  const SimulatorOptions options = Small(dir / "k");  // true clocks: recorded = true
  WriteTraces(options);
  std::map<int32_t, std::vector<std::pair<int64_t, int64_t>>> truth;
  for (const CsvRow& row : CsvInstances(dir / "k/instances.csv.gz")) truth[row.rank].emplace_back(row.start, row.end);
  for (int32_t rank = 0; rank < options.world(); ++rank) {
    std::vector<std::pair<int64_t, int64_t>> shown;
    for (const DeviceRow& row :
         KinetoDeviceRows(Json::parse(Bytes(dir / ("k/rank" + std::to_string(rank) + ".json"))))) {
      if (std::get<5>(row).starts_with("nccl")) shown.emplace_back(std::get<0>(row), std::get<1>(row));
    }
    EXPECT_EQ(truth.at(rank), shown);
  }
}

TEST(Truth, EveryInstanceIsWholeAndCounted) {
  const ScratchFolder dir;
  const SimulatorOptions options = SmallTrain(dir / "k");
  WriteTraces(options);
  const Json truth = Json::parse(Bytes(dir / "k/truth.json"));
  std::map<std::string, std::vector<int32_t>> members;
  for (const Json& group : truth.at("communicators"))
    members[group.at("communicator_id")] = group.at("members").get<std::vector<int32_t>>();
  EXPECT_EQ(members.size(), 1U + 2U + 4U);
  std::map<std::pair<std::string, int64_t>, std::vector<int32_t>> instances;
  for (const CsvRow& row : CsvInstances(dir / "k/instances.csv.gz"))
    instances[{row.communicator, row.index}].push_back(row.rank);
  for (const auto& [key, ranks] : instances) EXPECT_EQ(ranks, members.at(key.first));
  EXPECT_EQ(truth.at("ranks").size(), 8U);
  EXPECT_EQ(truth.at("ranks").at(5).at("host"), "node001");
  EXPECT_EQ(truth.at("ranks").at(5).at("files"), Json::array({"rank5.json"}));
}

TEST(Truth, ACauseSavesWhatItCosts) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "k");
  options.causes = {{"late_host", {{"rank", "2"}, {"us", "400"}, {"p", "0.1"}}}};
  WriteTraces(options);
  const Json truth = Json::parse(Bytes(dir / "k/truth.json"));
  const Json& cause = truth.at("causes").at(0);
  EXPECT_EQ(cause.at("origin_ranks"), Json::array({2}));
  EXPECT_EQ(cause.at("saving_ns_per_step").get<int64_t>(),
            cause.at("step_ns_with").get<int64_t>() - cause.at("step_ns_without").get<int64_t>());
  EXPECT_GT(cause.at("saving_ratio").get<double>(), 0.1);
  options.causes.clear();
  options.out = dir / "without";
  WriteTraces(options);
  // The rerun that the truth tells of is this run: its steps take what "without" says.
  int64_t first = INT64_MAX;
  int64_t last = 0;
  for (int32_t rank = 0; rank < options.world(); ++rank) {
    const Json trace = Json::parse(Bytes(dir / ("without/rank" + std::to_string(rank) + ".json")));
    for (const Json& event : trace.at("traceEvents")) {
      if (event.value("cat", "") != "user_annotation" || !event.at("name").get<std::string>().starts_with("Prof"))
        continue;
      first = std::min(first, Ns(event.at("ts")));
      last = std::max(last, Ns(event.at("ts")) + Ns(event.at("dur")));
    }
  }
  EXPECT_EQ((last - first) / options.steps, cause.at("step_ns_without").get<int64_t>());
}

TEST(SimulateCommand, AFolderWithOtherFilesIsLeftAlone) {
  const ScratchFolder dir;
  const SimulatorOptions options = Small(dir / "k");
  fs::create_directories(options.out);
  std::ofstream(options.out + "/notes.txt") << "mine";
  const absl::Status status = RunSimulation(options, {}, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("notes.txt"));
  EXPECT_EQ(std::distance(fs::directory_iterator(options.out), fs::directory_iterator()), 1);
}

TEST(SimulateCommand, AnEarlierRunIsReplacedOnlyWhenAsked) {
  const ScratchFolder dir;
  SimulatorOptions options = Small(dir / "k");
  WriteTraces(options);
  options.tp = 2;
  options.gpus_per_host = 2;
  EXPECT_THAT(std::string(RunSimulation(options, {}, {}).message()), HasSubstr("--overwrite"));
  options.overwrite = true;
  WriteTraces(options);
  EXPECT_FALSE(fs::exists(options.out + "/rank3.json"));
}

TEST(SimulateCommand, AFolderThatCannotBeMadeIsNamed) {
  const ScratchFolder dir;
  std::ofstream(dir / "file") << "x";
  const SimulatorOptions options = Small(dir / "file/k");
  const absl::Status status = RunSimulation(options, {}, {});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("file/k"));
}

TEST(SimulateCommand, WhatAFormCannotHoldIsSaid) {
  SimulatorOptions options;
  EXPECT_EQ(LimitsOfForm(options), "");
  options.kineto_version = 2023;
  EXPECT_THAT(LimitsOfForm(options), HasSubstr("2023"));
  options.form = TraceForm::kNsys;
  options.nsys_schema_minor = 13;
  EXPECT_THAT(LimitsOfForm(options), HasSubstr("advanced NCCL tracing"));
}

}  // namespace
}  // namespace lockstep
