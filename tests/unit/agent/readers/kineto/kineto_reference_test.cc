// Every real Kineto trace against counts and times that an independent reader made.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/readers/kineto/kineto_format.h"
#include "tests/support/collecting_sink.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr const char* kReference = "../shared/reference/expected.json";
constexpr const char* kData = "../shared/data/";

json LoadReference() {
  std::ifstream file(kReference);
  return file ? json::parse(file)["files"] : json();
}

int64_t Integer(const json& value) {
  return value.is_string() ? std::strtoll(value.get<std::string>().c_str(), nullptr, 10) : value.get<int64_t>();
}

// Length of the union of all device intervals.
int64_t BusyUnion(const CollectingSink& sink) {
  std::vector<std::pair<int64_t, int64_t>> intervals;
  for (const DeviceRecord& r : sink.devices) intervals.emplace_back(r.start_ns, r.start_ns + r.duration_ns);
  std::sort(intervals.begin(), intervals.end());
  int64_t busy = 0;
  int64_t covered_to = INT64_MIN;
  for (const auto& [start, end] : intervals) {
    busy += std::max<int64_t>(0, end - std::max(start, covered_to));
    covered_to = std::max(covered_to, end);
  }
  return busy;
}

void CompareCounts(const CollectingSink& sink, const json& expected) {
  EXPECT_EQ(sink.CountOf(DeviceKind::kKernel), expected["kernels"]);
  EXPECT_EQ(sink.CountOf(DeviceKind::kMemcpy), expected["memcpy"]);
  EXPECT_EQ(sink.CountOf(DeviceKind::kMemset), expected["memset"]);
  int64_t with_metadata = 0;
  int64_t without_external_id = 0;
  int64_t zero_duration = 0;
  std::set<std::string> devices;
  for (const DeviceRecord& r : sink.devices) {
    with_metadata += r.kind == DeviceKind::kKernel && r.meta != kNoId;
    without_external_id += r.external_id == 0;
    zero_duration += r.duration_ns == 0;
    devices.insert(std::to_string(r.device));
  }
  EXPECT_EQ(with_metadata, expected["kernels_with_nccl_metadata"]);
  // The reference counts rows without the key; an id of 0, as the oldest files write it, joins nothing either.
  EXPECT_GE(without_external_id, expected["device_activities_without_external_id"].get<int64_t>());
  EXPECT_EQ(zero_duration, expected["zero_duration_device_activities"]);
  EXPECT_EQ(devices, expected["device_ids"].get<std::set<std::string>>());
}

void CompareHostRows(const CollectingSink& sink, const json& expected) {
  int64_t driver = 0;
  std::set<uint64_t> correlations;
  for (const ApiRecord& r : sink.apis) {
    driver += r.is_driver;
    if (r.has_correlation) correlations.insert(r.correlation);
  }
  EXPECT_EQ(std::ssize(sink.apis) - driver, expected["runtime_calls"]);
  EXPECT_EQ(driver, expected["driver_calls"]);
  const int64_t unlaunched = std::count_if(sink.devices.begin(), sink.devices.end(), [&](const DeviceRecord& r) {
    return !r.has_correlation || !correlations.contains(r.correlation);
  });
  EXPECT_EQ(unlaunched, expected["device_activities_without_runtime_call"]);

  std::map<std::string, int64_t> collectives;
  std::set<int64_t> steps;
  for (const HostRecord& r : sink.hosts) {
    if (r.kind == HostKind::kStep) steps.insert(r.step_number);
    if (r.kind != HostKind::kCollective) continue;
    const std::string name(sink.NameOf(r.name));
    ++collectives[name == "record_param_comms" ? "(none)" : name];
  }
  EXPECT_EQ(sink.CountOf(HostKind::kCollective), expected["record_param_comms"]);
  EXPECT_EQ(json(collectives), expected.value("record_param_comms_by_collective", json::object()));
  EXPECT_EQ(sink.CountOf(HostKind::kStep), expected["profiler_steps"]);
  EXPECT_EQ(json(steps), expected["profiler_step_numbers"]);
}

void CompareTimes(const CollectingSink& sink, const FileContext& context, const json& expected) {
  if (sink.devices.empty()) {
    EXPECT_TRUE(expected["first_device_start_unix_ns"].is_null());
    return;
  }
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  int64_t kernel_time = 0;
  for (const DeviceRecord& r : sink.devices) {
    first = std::min(first, r.start_ns + context.base_unix_ns);
    last = std::max(last, r.start_ns + r.duration_ns + context.base_unix_ns);
    if (r.kind == DeviceKind::kKernel) kernel_time += r.duration_ns;
  }
  EXPECT_EQ(first, Integer(expected["first_device_start_unix_ns"]));
  EXPECT_EQ(last, Integer(expected["last_device_end_unix_ns"]));
  EXPECT_EQ(kernel_time, Integer(expected["kernel_duration_sum_ns"]));
  EXPECT_EQ(BusyUnion(sink), Integer(expected["busy_union_ns"]));
}

void CompareTopKernels(const CollectingSink& sink, const json& expected) {
  std::map<std::string, std::pair<int64_t, int64_t>> kernels;  // name -> (-total, count)
  for (const DeviceRecord& r : sink.devices) {
    if (r.kind != DeviceKind::kKernel) continue;
    auto& [total, count] = kernels[std::string(sink.NameOf(r.name))];
    total -= r.duration_ns;
    ++count;
  }
  std::vector<std::tuple<int64_t, std::string, int64_t>> order;
  for (const auto& [name, entry] : kernels) order.emplace_back(entry.first, name, entry.second);
  std::sort(order.begin(), order.end());
  json top = json::array();
  for (size_t i = 0; i < std::min<size_t>(3, order.size()); ++i) {
    const auto& [total, name, count] = order[i];
    top.push_back({{"name", name}, {"count", count}, {"total_ns", -total}});
  }
  EXPECT_EQ(top, expected["top_kernels"]);
}

void CompareIdentity(const FileContext& context, const json& expected) {
  ASSERT_EQ(context.processes.size(), 1U);
  const ProcessInfo& process = context.processes[0];
  if (expected["rank_source"] == "distributedInfo.rank") {
    ASSERT_EQ(process.claims.size(), 1U);
    EXPECT_EQ(process.claims[0], (RankClaim{expected["rank"].get<int32_t>(), RankSource::kMetadata}));
  } else {
    EXPECT_TRUE(process.claims.empty());
  }
  if (expected["world_size"].is_null()) {
    EXPECT_FALSE(process.world_size.has_value());
  } else {
    EXPECT_EQ(process.world_size, expected["world_size"].get<int32_t>());
  }
  EXPECT_EQ(context.has_base, !expected["base_time_ns"].is_null());
  EXPECT_EQ(context.base_unix_ns, context.has_base ? Integer(expected["base_time_ns"]) : 0);
}

TEST(KinetoReference, EveryRealTraceGivesTheCountsTimesAndIdentityOfTheReference) {
  const json files = LoadReference();
  if (files.is_null()) GTEST_SKIP() << "SKIPPED: no reference results at " << kReference;
  int compared = 0;
  for (const auto& [path, expected] : files.items()) {
    if (expected["format"] != "kineto") continue;
    SCOPED_TRACE(path);
    CollectingSink sink;
    const auto result = KinetoFormat().create()->Read(kData + path, ReadOptions(), sink);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->outcome, ReadOutcome::kWhole) << result->reason;
    EXPECT_TRUE(sink.drops.empty());
    CompareCounts(sink, expected);
    CompareHostRows(sink, expected);
    CompareTimes(sink, sink.context(), expected);
    CompareTopKernels(sink, expected);
    CompareIdentity(sink.context(), expected);
    ++compared;
  }
  EXPECT_EQ(compared, 34);
}

TEST(KinetoReference, ExecutionTracesAndFlightRecorderDumpsAreRefused) {
  const json files = LoadReference();
  if (files.is_null()) GTEST_SKIP() << "SKIPPED: no reference results at " << kReference;
  int refused = 0;
  for (const auto& [path, expected] : files.items()) {
    if (expected["format"] != "pytorch_execution_trace" && expected["format"] != "pytorch_flight_recorder") continue;
    SCOPED_TRACE(path);
    CollectingSink sink;
    const auto result = KinetoFormat().create()->Read(kData + path, ReadOptions(), sink);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST(KinetoReference, SmallWindowsChangeNoRecordOfARealTrace) {
  const std::string path = std::string(kData) + "kineto/single_rank_hta/nccl_parser_config_nccl_data.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: no trace at " << path;
  const auto dump = [&path](int64_t window) {
    CollectingSink sink;
    ReadOptions options;
    options.window_bytes = window;
    const auto result = KinetoFormat().create()->Read(path, options, sink);
    EXPECT_TRUE(result.ok()) << result.status();
    return sink.Dump();
  };
  const std::string whole = dump(int64_t{64} << 20);
  EXPECT_EQ(dump(int64_t{4} << 10), whole);
  EXPECT_EQ(dump(int64_t{64} << 10), whole);
  EXPECT_EQ(dump(int64_t{1} << 20), whole);
}

}  // namespace
}  // namespace lockstep
