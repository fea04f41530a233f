// lockstep-bench-readers: trace files to condensed batches, against the least that any reader must do.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/readers/trace_reader.h"
#include "analysis/base/status_macros.h"
#include "bench/readers/condensed_bytes.h"
#include "bench/readers/json_limit.h"
#include "bench/readers/sqlite_limit.h"
#include "platform/process.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Of all threads, so that a reader gains nothing by them.
double CpuSeconds() { return static_cast<double>(ProcessCpuNs()) * 1e-9; }

// The limit of a file: what it costs, and how many kernels it says there are.
struct Limit {
  std::string name;
  int64_t bytes = 0;
  std::function<absl::StatusOr<int64_t>()> run;
};

absl::StatusOr<Limit> LimitOf(const std::string& path, const std::string& format, const std::string& tmp) {
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  if (format == "kineto") {
    LOCKSTEP_ASSIGN_OR_RETURN(const JsonWalk walk, WalkJson(path));
    return Limit{"simdjson walk of all args", walk.bytes, [path]() -> absl::StatusOr<int64_t> {
                   LOCKSTEP_ASSIGN_OR_RETURN(const JsonWalk again, WalkJson(path));
                   return again.kernels;
                 }};
  }
  const OverheardSelects overheard;
  LOCKSTEP_RETURN_IF_ERROR(Condense(path, tmp).status());
  return Limit{"raw SELECTs of the same columns", size,
               [path, statements = overheard.statements()]() -> absl::StatusOr<int64_t> {
                 LOCKSTEP_RETURN_IF_ERROR(RunSelects(path, statements).status());
                 const std::string kernels = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL";
                 LOCKSTEP_ASSIGN_OR_RETURN(const SqliteScan count, RunSelects(path, {kernels}));
                 return static_cast<int64_t>(count.checksum);
               }};
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

absl::StatusOr<Json> Measure(const std::string& path, int repeats) {
  LOCKSTEP_ASSIGN_OR_RETURN(const TempDir tmp, TempDir::Create("", "lockstep-bench-"));
  const Detection found = DetectFormat(path);
  if (found.verdict != FileVerdict::kTrace) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, found.reason));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const Limit limit, LimitOf(path, std::string(found.format->name), tmp.path()));
  std::vector<double> limits;
  std::vector<double> ours;
  std::vector<double> ratios;
  Condensed condensed;
  for (int i = 0; i < repeats; ++i) {
    const double begin = CpuSeconds();
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t kernels, limit.run());
    const double middle = CpuSeconds();
    LOCKSTEP_ASSIGN_OR_RETURN(condensed, Condense(path, tmp.path()));
    const double end = CpuSeconds();
    if (kernels != condensed.kernels) {
      return absl::InternalError(
          fmt::format("{}: {} kernels condensed, {} are in the file", path, condensed.kernels, kernels));
    }
    limits.push_back(middle - begin);
    ours.push_back(end - middle);
    ratios.push_back(limits.back() / ours.back());
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const Condensed encoded, Condense(path, tmp.path(), true));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return Json{{"path", path},
              {"format", found.format->name},
              {"bytes", limit.bytes},
              {"kernels", condensed.kernels},
              {"drops", condensed.drops},
              {"wire_bytes", encoded.wire_bytes},
              {"wire_bytes_by_table", encoded.bytes_by_table},
              {"limit", limit.name},
              {"limit_cpu_s", Median(limits)},
              {"condense_cpu_s", Median(ours)},
              {"ratio", Median(ratios)},
              {"peak_kib", usage.ru_maxrss}};
}

int Run(int argc, const char* const* argv) {
  CLI::App app(
      "Trace files to condensed batches, against the least that any reader must do.\n"
      "CPU time of one process, limit and reader in turn; the ratio is limit / reader.");
  std::vector<std::string> paths;
  int repeats = 3;
  app.add_option("FILE", paths, "Kineto traces (.json, .json.gz) and nsys exports (.sqlite)")->required();
  app.add_option("--repeats", repeats, "number of times that each file is read; the median is reported")
      ->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  Json rows = Json::array();
  for (const std::string& path : paths) {
    const absl::StatusOr<Json> row = Measure(path, repeats);
    if (!row.ok()) {
      fmt::print(stderr, "lockstep-bench-readers: {}\n", std::string(row.status().message()));
      return 2;
    }
    rows.push_back(*row);
  }
  std::cout << rows.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Run(argc, argv); }
