// Real files against the reference results that an independent reader counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/readers/nsys/nsys_format.h"
#include "analysis/model/kernel_class.h"
#include "tests/support/collecting_sink.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

const std::string kData = "../shared/data/";
const std::string kExpected = "../shared/reference/expected.json";

bool HaveReferences() { return std::filesystem::exists(kExpected); }
#define SKIP_WITHOUT_REFERENCES()                                                                \
  if (!HaveReferences()) {                                                                       \
    GTEST_SKIP() << "NOT RUN: the real traces and their reference results are not at ../shared"; \
  }

CollectingSink ReadReal(const std::string& path, ReadResult* result = nullptr) {
  CollectingSink sink;
  const auto read = NsysFormat().create()->Read(kData + path, {}, sink);
  EXPECT_TRUE(read.ok()) << path << ": " << read.status().message();
  if (read.ok() && result != nullptr) *result = *read;
  return sink;
}

int64_t NumberOf(const Json& value) {
  return value.is_string() ? static_cast<int64_t>(std::strtoll(value.get<std::string>().c_str(), nullptr, 10))
                           : value.get<int64_t>();
}

int64_t UnionOf(std::vector<std::pair<int64_t, int64_t>> spans) {
  std::ranges::sort(spans);
  int64_t total = 0;
  int64_t reach = INT64_MIN;
  for (const auto& [start, end] : spans) {
    total += std::max<int64_t>(0, end - std::max(start, reach));
    reach = std::max(reach, end);
  }
  return total;
}

// What the reader found on one (pid, device), in the words of the reference file.
struct Found {
  std::map<std::string, int64_t> numbers;
  std::map<std::string, int64_t> collectives;
  std::vector<std::pair<int64_t, int64_t>> spans;
  std::map<std::string, std::pair<int64_t, int64_t>> totals;  // by kernel name: instances, ns
};

void CountKernel(const CollectingSink& sink, const DeviceRecord& record, Found& found) {
  const std::string name(sink.NameOf(record.name));
  found.numbers["kernel_duration_sum_ns"] += record.duration_ns;
  auto& [instances, total_ns] = found.totals[name];
  ++instances;
  total_ns += record.duration_ns;
  if (ClassifyKernel(name).category == Category::kCommunication) ++found.collectives[std::string(BaseName(name))];
}

Found CountDevice(const CollectingSink& sink, int64_t pid, int64_t device) {
  Found found;
  const std::map<DeviceKind, std::string> words = {
      {DeviceKind::kKernel, "kernels"}, {DeviceKind::kMemcpy, "memcpy"}, {DeviceKind::kMemset, "memset"}};
  std::set<std::pair<uint32_t, uint64_t>> called;
  for (const ApiRecord& api : sink.apis) called.emplace(api.process, api.correlation);
  for (const std::string key : {"kernels", "memcpy", "memset", "memcpy_bytes", "kernels_without_api_call"}) {
    found.numbers[key] = 0;
  }
  for (const DeviceRecord& record : sink.devices) {
    const bool here = const_cast<CollectingSink&>(sink).context().processes[record.process].pid == pid;
    if (!here || record.device != device) continue;
    ++found.numbers[words.at(record.kind)];
    found.spans.emplace_back(record.start_ns, record.start_ns + record.duration_ns);
    if (record.kind == DeviceKind::kMemcpy) found.numbers["memcpy_bytes"] += record.bytes;
    if (record.kind != DeviceKind::kKernel) continue;
    CountKernel(sink, record, found);
    if (!called.contains({record.process, record.correlation})) ++found.numbers["kernels_without_api_call"];
  }
  found.numbers["device_activities"] = static_cast<int64_t>(found.spans.size());
  found.numbers["busy_union_ns"] = UnionOf(found.spans);
  found.numbers["first_device_start_file_ns"] = std::ranges::min_element(found.spans)->first;
  found.numbers["last_device_end_file_ns"] =
      std::ranges::max_element(found.spans, {}, &std::pair<int64_t, int64_t>::second)->second;
  return found;
}

void ExpectDevice(CollectingSink& sink, const Json& want) {
  const int64_t pid = want["pid"].is_null() ? -1 : NumberOf(want["pid"]);
  Found found = CountDevice(sink, pid, NumberOf(want["device_id"]));
  const int64_t base = sink.context().base_unix_ns;
  if (!want["first_device_start_unix_ns"].is_null()) {
    found.numbers["first_device_start_unix_ns"] = found.numbers["first_device_start_file_ns"] + base;
    found.numbers["last_device_end_unix_ns"] = found.numbers["last_device_end_file_ns"] + base;
  }
  for (const auto& [key, value] : found.numbers) EXPECT_EQ(value, NumberOf(want[key])) << key;
  std::map<std::string, int64_t> collectives;
  for (const auto& [name, count] : want["collective_kernels"].items()) collectives[name] = NumberOf(count);
  EXPECT_EQ(found.collectives, collectives);
  for (const Json& top : want["top_kernels"]) {
    const auto& [instances, total_ns] = found.totals[top["name"].get<std::string>()];
    EXPECT_EQ(instances, NumberOf(top["count"])) << top["name"];
    EXPECT_EQ(total_ns, NumberOf(top["total_ns"])) << top["name"];
  }
}

void ExpectFile(CollectingSink& sink, const Json& want) {
  const FileContext& context = sink.context();
  EXPECT_EQ(context.format, "nsys");
  EXPECT_EQ(context.tool_version, want["nsys_version"]);
  EXPECT_EQ(context.schema_version, want["schema_version"]);
  EXPECT_EQ(context.host, want["host"].is_null() ? "" : want["host"].get<std::string>());
  EXPECT_EQ(context.has_base, !want["utc_epoch_ns"].is_null());
  if (context.has_base) {
    EXPECT_EQ(context.base_unix_ns, NumberOf(want["utc_epoch_ns"]));
  }
  EXPECT_EQ(context.api_rows, NumberOf(want["api_calls"]));
  if (!want["driver_calls"].is_null()) {
    EXPECT_EQ(std::ranges::count(sink.apis, true, &ApiRecord::is_driver), NumberOf(want["driver_calls"]));
  }
  EXPECT_EQ(context.processes.size(), want["devices"].size());
  for (const ProcessInfo& process : context.processes) EXPECT_TRUE(process.claims.empty());
  EXPECT_EQ(context.drops.Lost(), 0);
}

int64_t CollectivesIn(const Json& ranges) {
  int64_t total = 0;
  for (const auto& [name, count] : ranges.items()) {
    if (CollectiveOpFromNcclApi(name) != CollectiveOp::kUnknown) total += NumberOf(count);
  }
  return total;
}

TEST(NsysReference, EveryRealFileGivesTheCountsOfTheIndependentReader) {
  SKIP_WITHOUT_REFERENCES();
  const Json expected = Json::parse(std::ifstream(kExpected));
  int files = 0;
  for (const auto& [path, want] : expected["files"].items()) {
    if (want["format"] != "nsys_sqlite") continue;
    SCOPED_TRACE(path);
    ++files;
    ReadResult result;
    CollectingSink sink = ReadReal(path, &result);
    EXPECT_EQ(result.outcome, ReadOutcome::kWhole) << result.reason;
    ExpectFile(sink, want);
    for (const Json& device : want["devices"]) ExpectDevice(sink, device);
    const Json& types = want["nvtx_events_by_type"];
    EXPECT_EQ(sink.hosts.size(), types.contains("59") ? static_cast<size_t>(NumberOf(types["59"])) : 0);
    EXPECT_EQ(sink.CountOf(HostKind::kCollective), CollectivesIn(want["nccl_nvtx_ranges"]));
  }
  EXPECT_EQ(files, 6);
}

struct Totals {
  int64_t instances = 0;
  int64_t total_ns = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

void PrintTo(const Totals& totals, std::ostream* out) { *out << totals.total_ns << "/" << totals.instances; }

Totals TotalsOfApi(const CollectingSink& sink, std::string_view name) {
  Totals totals;
  for (const ApiRecord& api : sink.apis) {
    if (sink.NameOf(api.name) != name) continue;
    ++totals.instances;
    totals.total_ns += api.duration_ns;
  }
  return totals;
}

Totals TotalsOfDevice(const CollectingSink& sink, std::string_view prefix) {
  Totals totals;
  for (const DeviceRecord& record : sink.devices) {
    if (!sink.NameOf(record.name).starts_with(prefix)) continue;
    ++totals.instances;
    totals.total_ns += record.duration_ns;
  }
  return totals;
}

const std::string kBefore = "nsys/nsys_ai_fixtures/mfu_2gpu_before.sqlite";

TEST(NsysReference, SendRecvKernelsHaveTheStatisticsOfNsysStats) {
  SKIP_WITHOUT_REFERENCES();
  const CollectingSink sink = ReadReal(kBefore);
  std::vector<int64_t> durations;
  for (const DeviceRecord& record : sink.devices) {
    if (sink.NameOf(record.name).starts_with("ncclDevKernel_SendRecv")) durations.push_back(record.duration_ns);
  }
  std::ranges::sort(durations);
  ASSERT_EQ(durations.size(), 66u);
  EXPECT_EQ(TotalsOfDevice(sink, "ncclDevKernel_SendRecv"), (Totals{66, 25'401'752}));
  EXPECT_EQ(durations.front(), 89'440);
  EXPECT_EQ(durations.back(), 3'603'569);
  EXPECT_EQ((durations[32] + durations[33]) / 2, 168'208);
}

TEST(NsysReference, CopiesHaveTheTotalsOfNsysStats) {
  SKIP_WITHOUT_REFERENCES();
  const CollectingSink sink = ReadReal(kBefore);
  EXPECT_EQ(TotalsOfDevice(sink, "[CUDA memcpy Device-to-Device]"), (Totals{986, 5'665'431}));
  EXPECT_EQ(TotalsOfDevice(sink, "[CUDA memcpy Host-to-Device]"), (Totals{34, 26'656}));
  EXPECT_EQ(TotalsOfDevice(sink, "[CUDA memset]"), (Totals{269, 213'408}));
}

TEST(NsysReference, ApiCallsHaveTheTotalsOfNsysStats) {
  SKIP_WITHOUT_REFERENCES();
  const CollectingSink sink = ReadReal(kBefore);
  EXPECT_EQ(TotalsOfApi(sink, "cudaStreamSynchronize"), (Totals{33, 324'534'733}));
  EXPECT_EQ(TotalsOfApi(sink, "cudaLaunchKernel"), (Totals{3604, 27'981'572}));
  EXPECT_EQ(TotalsOfApi(sink, "cuLaunchKernelEx"), (Totals{402, 3'405'463}));
}

TEST(NsysReference, TheLaunchJoinOfSendRecvGivesTheAveragesOfNsysStats) {
  SKIP_WITHOUT_REFERENCES();
  CollectingSink sink = ReadReal(kBefore);
  std::map<std::pair<uint32_t, uint64_t>, const ApiRecord*> calls;
  for (const ApiRecord& api : sink.apis) calls[{api.process, api.correlation}] = &api;
  int64_t count = 0;
  int64_t total = 0;
  int64_t api_time = 0;
  for (const DeviceRecord& record : sink.devices) {
    const bool here = sink.context().processes[record.process].pid == 144;
    const auto call = calls.find({record.process, record.correlation});
    if (!here || call == calls.end() || !sink.NameOf(record.name).starts_with("ncclDevKernel_SendRecv")) continue;
    ++count;
    api_time += call->second->duration_ns;
    total += std::max(call->second->start_ns + call->second->duration_ns, record.start_ns + record.duration_ns) -
             call->second->start_ns;
  }
  ASSERT_EQ(count, 32);
  EXPECT_EQ(fmt::format("{:.1f}", static_cast<double>(total) / 32), "5957183.9");
  EXPECT_EQ(fmt::format("{:.1f}", static_cast<double>(api_time) / 32), "10285.9");
}

TEST(NsysReference, NothingOfTheEnvironmentReachesTheSink) {
  SKIP_WITHOUT_REFERENCES();
  for (const std::string file : {"mfu_2gpu_before", "h100_2gpu_1s", "mock"}) {
    CollectingSink sink = ReadReal("nsys/nsys_ai_fixtures/" + file + ".sqlite");
    std::string everything = sink.Dump();
    for (const auto& [key, value] : sink.context().options) everything += key + "=" + value + "\n";
    for (const auto& [key, value] : sink.context().versions) everything += key + "=" + value + "\n";
    for (const std::string& line : sink.context().diagnostics) everything += line + "\n";
    for (const std::string secret : {"MODAL_", "PATH", "LD_LIBRARY", "TOKEN", "pytest", "/home/"}) {
      EXPECT_EQ(everything.find(secret), std::string::npos) << file << " leaks " << secret;
    }
  }
}

}  // namespace
}  // namespace lockstep
