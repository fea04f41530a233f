// What does not depend on luck: bytes on the wire, identities of time, output that no thread changes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/report/json.h"
#include "bench/accuracy/rows.h"
#include "platform/executor.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

constexpr size_t kRowsPerBatch = 4'096;  // where the condenser cuts

constexpr std::string_view kDecode =
    "--program decode --tp 8 --hosts 1 --gpus-per-host 8 --layers 40 --steps 152 --ids full";
// The same on clocks whose jitter is noise in every start: shown, not judged.
constexpr std::string_view kJitteredClock = " --clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5";

// The source's instances as batches of their own: whole, or reduced to start and duration.
int64_t WireBytes(const std::vector<InstanceRow>& rows, bool all_columns) {
  int64_t bytes = 0;
  for (size_t first = 0; first < rows.size(); first += kRowsPerBatch) {
    Batch batch;
    for (size_t i = first; i < std::min(rows.size(), first + kRowsPerBatch); ++i) {
      if (all_columns) {
        batch.instances.push_back(rows[i]);
      } else {
        InstanceRow row;
        row.start_ns = rows[i].start_ns;
        row.duration_ns = rows[i].duration_ns;
        batch.instances.push_back(row);
      }
    }
    bytes += static_cast<int64_t>(EncodeBatch(batch).size());
  }
  return bytes;
}

absl::StatusOr<std::vector<InstanceRow>> RowsOf(InstanceSource& source) {
  std::vector<InstanceRow> rows;
  auto stream = source.Open(0);
  if (!stream.ok()) return stream.status();
  while (true) {
    auto block = (*stream)->Next();
    if (!block.ok()) return block.status();
    if (block->empty()) return rows;
    rows.insert(rows.end(), block->begin(), block->end());
  }
}

struct BytesPerRow {
  double start_and_duration = INFINITY;
  double all = INFINITY;
};

BytesPerRow Measure(Trial& trial) {
  const auto rows = RowsOf(*trial.sim().instances);
  if (!rows.ok() || rows->empty()) return {};
  const auto count = static_cast<double>(rows->size());
  return {static_cast<double>(WireBytes(*rows, false)) / count, static_cast<double>(WireBytes(*rows, true)) / count};
}

void ScoreWire(Trial& trial, Score& score) {
  const BytesPerRow bytes = Measure(trial);
  score.Count("start and duration <= 3.5", bytes.start_and_duration <= 3.5);
  score.Count("all columns <= 7", bytes.all <= 7);
  score.Value("all columns", bytes.all);
  score.Value("start and duration", bytes.start_and_duration);
}

void ShowWire(Trial& trial, Score& score) {
  const BytesPerRow bytes = Measure(trial);
  score.Value("all columns, jittered clock", bytes.all);
  score.Value("start and duration, jittered clock", bytes.start_and_duration);
}

FigureRow WireRow(const Plan& plan) {
  FigureRow row{.id = "wire_bytes",
                .figure = "bytes on the wire per collective instance, decode",
                .claims = {{.name = "start and duration <= 3.5", .kind = ClaimKind::kExact},
                           {.name = "all columns <= 7", .kind = ClaimKind::kExact}},
                .unit = "B",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(1, 4, 10); ++t) {
    row.tasks.push_back(TrialTask(row, Words(kDecode), SeedOf(plan, row.id, t), false, ScoreWire));
    row.tasks.push_back(TrialTask(row, Words(std::string(kDecode) + std::string(kJitteredClock)),
                                  SeedOf(plan, row.id, t), false, ShowWire));
  }
  return row;
}

constexpr std::string_view kIdentities[] = {"span_ns",      "compute_ns",     "exposed_comm_ns",
                                            "copy_only_ns", "opaque_only_ns", "idle_ns"};

bool IdentityHolds(const Json& row) {
  int64_t parts = 0;
  for (size_t i = 1; i < std::size(kIdentities); ++i) parts += row.at(std::string(kIdentities[i])).get<int64_t>();
  const int64_t exposed = row.at("exposed_wait_ns").get<int64_t>() + row.at("exposed_transfer_ns").get<int64_t>() +
                          row.at("exposed_unresolved_ns").get<int64_t>();
  return parts == row.at("span_ns").get<int64_t>() && exposed == row.at("exposed_comm_ns").get<int64_t>();
}

void ScoreReport(Trial& trial, Score& score) {
  AnalysisOptions options;
  options.views = {"all"};
  options.instances = -1;
  SerialExecutor serial;
  ThreadPool pool(3);
  SimulatedRun& sim = trial.sim();
  const auto one = BuildReport(sim.run, *sim.instances, options, serial);
  const auto three = BuildReport(sim.run, *sim.instances, options, pool);
  if (!one.ok() || !three.ok()) {
    score.Count("threads change nothing", false);
    return;
  }
  score.Count("threads change nothing", RenderJson(*one) == RenderJson(*three));
  for (const Json& row : one->at("overlap")) score.Count("time identities exact", IdentityHolds(row));
}

FigureRow ReportRow(const Plan& plan) {
  FigureRow row{.id = "report_exact",
                .figure = "time identities, and output whatever the threads",
                .claims = {{.name = "threads change nothing", .kind = ClaimKind::kExact, .min_trials = 6},
                           {.name = "time identities exact", .kind = ClaimKind::kExact, .min_trials = 60}},
                .unit = "",
                .tasks = {}};
  const std::string programs[] = {"--program decode --tp 4 --dp 2 --hosts 2", "--program train --tp 2 --dp 4 --hosts 2",
                                  "--program moe --tp 2 --dp 4 --ep 4 --hosts 2",
                                  "--program pipeline --tp 2 --pp 4 --hosts 2"};
  const std::string ids[] = {"full", "groups", "names"};
  for (int t = 0; t < plan.Trials(6, 24, 48); ++t) {
    const std::string flags = fmt::format(
        "{} --gpus-per-host 4 --layers 4 --steps 8 --ids {} --clock offset_ms=5,drift_ppm=10,bias_us=2 --defect "
        "loss:p=0.005",
        programs[t % 4], ids[t / 4 % 3]);
    row.tasks.push_back(TrialTask(row, Words(flags), SeedOf(plan, row.id, t), false, ScoreReport));
  }
  return row;
}

}  // namespace

std::vector<FigureRow> FormatRows(const Plan& plan) { return {WireRow(plan), ReportRow(plan)}; }

}  // namespace lockstep
