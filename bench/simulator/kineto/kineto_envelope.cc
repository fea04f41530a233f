#include "bench/simulator/kineto/kineto_envelope.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace lockstep {

KinetoEnvelope::KinetoEnvelope(const RunDescription& run, int32_t rank, const KinetoStyle& style,
                               const HostInterval& capture, std::string name, KinetoRows* rows)
    : run_(run),
      options_(*run.options),
      rank_(rank),
      place_(run.cluster->ranks[static_cast<size_t>(rank)]),
      style_(style),
      capture_(capture),
      name_(std::move(name)),
      rows_(*rows) {}

void KinetoEnvelope::Devices() {
  rows_.Text("\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
  const bool old = OldNcclNames(options_);
  for (int32_t device = 0; device < run_.cluster->gpus_per_host; ++device) {
    rows_.Text(fmt::format(
        "{}\n    {{\n      \"id\": {}, \"name\": \"{}\", \"totalGlobalMem\": {},\n      \"computeMajor\": {}, "
        "\"computeMinor\": 0,\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      "
        "\"regsPerBlock\": 65536, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 49152, \"numSms\": {}\n    }}",
        device == 0 ? "" : ",", device, GpuName(options_), int64_t{85'017'755'648}, old ? 8 : 9, old ? 108 : 132));
  }
  rows_.Text("\n  ],\n");
}

void KinetoEnvelope::Head() {
  Devices();
  Versions();
  if (options_.ids != IdLevel::kNames) DistributedInfo();
  if (style_.base_first) Base("  ", ",\n");
  rows_.Text("  \"traceEvents\": [\n");
}

void KinetoEnvelope::Versions() {
  if (style_.year >= 2024) {
    rows_.Text("  \"cupti_version\": 24,\n  \"cuda_runtime_version\": 12080,\n  \"cuda_driver_version\": 12080,\n");
  }
  if (style_.year >= 2023) rows_.Text(options_.stacks ? "  \"with_stack\": 1,\n" : "  \"record_shapes\": 0,\n");
  if (style_.host_name) rows_.Text(fmt::format("  \"host_name\": \"{}\",\n", run_.cluster->HostName(place_.host)));
}

size_t KinetoEnvelope::WorldSize() const {
  return run_.cluster->communicators[static_cast<size_t>(place_.world)].members.size();
}

void KinetoEnvelope::DistributedInfo() {
  std::string text =
      fmt::format(R"(  "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {})", rank_, WorldSize());
  if (style_.group_config) {
    std::vector<std::string> groups;
    for (const int32_t index : run_.cluster->GroupsOf(rank_)) {
      const RankGroup& group = run_.cluster->communicators[static_cast<size_t>(index)];
      groups.push_back(fmt::format(
          R"({{"pg_name": "{}", "pg_desc": "{}", "backend_config": "cuda:nccl", "pg_size": {}, "ranks": [{}]}})",
          group.name, group.desc, group.members.size(), fmt::join(group.members, ", ")));
    }
    text +=
        fmt::format(R"(, "pg_count": {}, "pg_config": [{}], "nccl_version": "{}")", run_.cluster->communicators.size(),
                    fmt::join(groups, ", "), style_.year >= 2026 ? "2.27.5" : "2.22.3");
  }
  rows_.Text(text + "},\n");
}

void KinetoEnvelope::Base(std::string_view indent, std::string_view end) {
  rows_.Text(fmt::format("{}\"displayTimeUnit\": \"ms\",\n{}\"baseTimeNanoseconds\": {}{}", indent, indent,
                         KinetoBaseNs(run_.session_start_ns), end));
}

void KinetoEnvelope::ProcessNames() {
  const int64_t at = capture_.start_ns;
  const int64_t process = ProcessIdOf(*run_.cluster, rank_);
  const std::string pid = std::to_string(process);
  rows_.Metadata("process_name", pid, 0, at, R"("name": "python3")");
  rows_.Metadata("process_labels", pid, 0, at, R"("labels": "CPU")");
  rows_.Metadata("process_sort_index", pid, 0, at, fmt::format(R"("sort_index": {})", process));
  for (int32_t device = 0; device < run_.cluster->gpus_per_host; ++device) {
    const std::string gpu = std::to_string(device);
    rows_.Metadata("process_name", gpu, 0, at, R"("name": "python3")");
    rows_.Metadata("process_labels", gpu, 0, at, fmt::format(R"("labels": "GPU {}")", device));
    rows_.Metadata("process_sort_index", gpu, 0, at, fmt::format(R"("sort_index": {})", 16'777'216 + device));
  }
  rows_.Metadata("thread_name", pid, process, at, fmt::format(R"row("name": "thread {} (python3)")row", process));
  for (size_t stream = 0; stream < kStreams; ++stream) {
    const int32_t number = StreamNumber(static_cast<Stream>(stream));
    rows_.Metadata("thread_name", std::to_string(place_.device), number, at,
                   fmt::format(R"("name": "stream {} ")", number));
  }
}

void KinetoEnvelope::Tail() {
  ProcessNames();
  Marks();
  rows_.Text(fmt::format("  \"traceName\": \"{}\"{}\n", name_, style_.base_first || style_.whole_us ? "" : ","));
  if (!style_.base_first && !style_.whole_us) Base("  ", "\n");
  rows_.Text("}\n");
}

void KinetoEnvelope::Marks() {
  const auto [start, end] = capture_;
  rows_.Text(
      fmt::format("  {{\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": {}, \"dur\": {},\n    \"pid\": \"Spans\", "
                  "\"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {{\n"
                  "      \"Op count\": 0\n    }}\n  }},\n",
                  rows_.Time(start), (end - start) / 1000));
  rows_.Text(
      fmt::format("  {{\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    "
                  "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": {}\n  }},\n",
                  rows_.Time(start)));
  rows_.Text(
      fmt::format("  {{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", "
                  "\"tid\": \"\", \"ts\": {}\n  }}\n  ],\n",
                  rows_.Time(end)));
}

}  // namespace lockstep
