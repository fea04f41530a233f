// lockstep-bench-ingest: batches from the wire to durable blocks of a store.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "bench/ingest/wire_batches.h"
#include "platform/heap.h"
#include "platform/process.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Work = std::function<absl::Status(const WireSource&, const Hash128& id)>;

struct Timed {
  double wall_s = 0;
  double cpu_s = 0;
};

// Every source `copies` times under ids of its own, by so many threads, each with one source at a time.
absl::StatusOr<Timed> ForAll(const std::vector<WireSource>& sources, int copies, int threads, const Work& work) {
  std::atomic<size_t> next = 0;
  std::vector<absl::Status> failed(static_cast<size_t>(threads));
  const int64_t cpu_ns = ProcessCpuNs();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::jthread> pool;
  for (absl::Status& status : failed) {
    pool.emplace_back([&] {
      for (size_t i = next++; i < sources.size() * static_cast<size_t>(copies) && status.ok(); i = next++) {
        const WireSource& source = sources[i % sources.size()];
        status = work(source, HashBuilder().Add(source.context.path).Add(static_cast<int64_t>(i)).Finish());
      }
    });
  }
  pool.clear();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  for (const absl::Status& status : failed) LOCKSTEP_RETURN_IF_ERROR(status);
  return Timed{wall.count(), static_cast<double>(ProcessCpuNs() - cpu_ns) * 1e-9};
}

absl::StatusOr<int64_t> CountRows(InstanceSource& instances, size_t source) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::unique_ptr<InstanceStream> stream, instances.Open(source));
  int64_t rows = 0;
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, stream->Next());
    if (block.empty()) return rows;
    rows += static_cast<int64_t>(block.size());
  }
}

// What a program that comes later finds in the file, each of the rows.
absl::Status Verify(const std::string& path, int64_t instances) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::unique_ptr<JobStore> store, OpenStore("sqlite", {.path = path}));
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedRun run, store->LoadRun("bench"));
  int64_t found = 0;
  for (size_t i = 0; i < run.data.sources.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t rows, CountRows(*run.instances, i));
    found += rows;
  }
  if (found == instances) return absl::OkStatus();
  return absl::InternalError(fmt::format("{} instances were stored, {} were sent", found, instances));
}

absl::StatusOr<Json> Measure(const std::string& path, const std::string& name, int copies, int threads) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::unique_ptr<JobStore> given, OpenStore("sqlite", {.path = path}));
  LOCKSTEP_ASSIGN_OR_RETURN(LoadedRun run, given->LoadRun(name));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<WireSource> sources, WireSourcesOf(run));
  int64_t instances = 0;
  int64_t bytes = 0;
  for (const WireSource& source : sources) {
    instances += source.instances * copies;
    for (const std::string& body : source.bodies) bytes += static_cast<int64_t>(body.size()) * copies;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      const Timed decode,
      ForAll(sources, copies, threads, [](const WireSource& s, const Hash128&) { return DecodeAll(s); }));
  LOCKSTEP_ASSIGN_OR_RETURN(const TempDir folder, TempDir::Create("", "lockstep-bench-"));
  const std::string file = folder.path() + "/store.db";
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<JobStore> store, OpenStore("sqlite", {.path = file}));
  LOCKSTEP_RETURN_IF_ERROR(store->OpenRun("bench", -1));
  LOCKSTEP_ASSIGN_OR_RETURN(
      const Timed put,
      ForAll(sources, copies, threads, [&](const WireSource& s, const Hash128& id) { return PutAll(*store, s, id); }));
  store.reset();
  LOCKSTEP_RETURN_IF_ERROR(Verify(file, instances));
  const auto rate = [&](double seconds) { return static_cast<double>(instances) / seconds / 1e6; };
  return Json{{"instances", instances},         {"wire_bytes", bytes},          {"threads", threads},
              {"decode_wall_s", decode.wall_s}, {"decode_cpu_s", decode.cpu_s}, {"decode_m_per_s", rate(decode.wall_s)},
              {"put_wall_s", put.wall_s},       {"put_cpu_s", put.cpu_s},       {"put_m_per_s", rate(put.wall_s)}};
}

int Run(int argc, const char* const* argv) {
  CLI::App app(
      "Collective instances from the wire to durable blocks of a store, with the data of a stored run.\n"
      "The limit is decoding them with all checks and putting them nowhere.");
  std::string store;
  std::string run;
  int copies = 8;
  int threads = 2;
  app.add_option("STORE", store, "SQLite store that holds the run")->required()->check(CLI::ExistingFile);
  app.add_option("RUN", run, "name of the run whose collectives are sent")->required();
  app.add_option("--copies", copies, "number of times that each rank is sent")->check(CLI::Range(1, 10'000));
  app.add_option("--threads", threads, "number of streams at a time")->check(CLI::Range(1, 1'000));
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<Json> measured = Measure(store, run, copies, threads);
  if (!measured.ok()) {
    fmt::print(stderr, "lockstep-bench-ingest: {}\n", std::string(measured.status().message()));
    return 2;
  }
  std::cout << measured->dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace lockstep

// Memory as in lockstep-aggregator.
int main(int argc, char** argv) {
  lockstep::UseLittleMemory();
  lockstep::UseMemoryFreely();
  return lockstep::Run(argc, argv);
}
