#include "analysis/report/views/step_views.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/metrics/fleet/pace.h"
#include "analysis/metrics/fleet/steps.h"
#include "analysis/metrics/kernels/kernel_pace.h"
#include "analysis/model/row_values.h"
#include "analysis/report/json.h"
#include "analysis/report/views/json_values.h"

namespace lockstep {
namespace {

// A row takes some kilobytes of memory.
constexpr size_t kMaxStepRows = 20'000;

void AddTimes(const ViewInput& input, const FleetRank& member, const StepRow& row, Json& json) {
  const auto event = [&](int64_t time) {
    return time == kNoTime ? Json(nullptr) : Json(input.fleet.SinceStart(member, time));
  };
  json["start_ns"] = input.fleet.SinceStart(member, row.window_start_ns);
  json["span_ns"] = row.tile.span_ns;
  json["first_start_ns"] = event(row.first_start_ns);
  json["last_end_ns"] = event(row.last_end_ns);
}

void AddParts(const StepOfRank& step, Json& json) {
  const IntervalMeasure& tile = step.row->tile;
  json["compute_ns"] = tile.compute_ns;
  json["comm_ns"] = tile.comm_ns;
  json["exposed_comm_ns"] = tile.exposed_comm_ns();
  json["exposed_wait_ns"] = step.exposure.wait_ns;
  json["exposed_transfer_ns"] = step.exposure.transfer_ns;
  json["exposed_unresolved_ns"] = step.exposure.unresolved_ns;
  json["copy_only_ns"] = tile.copy_only_ns;
  json["opaque_only_ns"] = tile.opaque_only_ns;
  json["idle_ns"] = tile.idle_ns();
  json["idle"] = {{"host_ns", tile.idle_host_ns},
                  {"launch_ns", tile.idle_launch_ns},
                  {"dependency_ns", tile.idle_dependency_ns},
                  {"other_ns", tile.idle_other_ns}};
}

// Where the time went, in the three words of the verdict.
Json Budget(const IntervalMeasure& tile) {
  return {{"busy_ratio", Ratio(tile.compute_ns + tile.copy_only_ns + tile.opaque_only_ns, tile.span_ns)},
          {"host_gap_ratio", Ratio(tile.idle_host_ns + tile.idle_launch_ns, tile.span_ns)},
          {"communication_ratio", Ratio(tile.exposed_comm_ns(), tile.span_ns)}};
}

// Of the kernel time, what was launched inside annotations of these phases; null where nothing is annotated so.
Json Phases(const StepRow& row) {
  if (row.forward_ns + row.backward_ns + row.optimizer_ns <= 0 || row.kernel_time_ns <= 0) return nullptr;
  return {{"forward_ratio", Ratio(row.forward_ns, row.kernel_time_ns)},
          {"backward_ratio", Ratio(row.backward_ns, row.kernel_time_ns)},
          {"optimizer_ratio", Ratio(row.optimizer_ns, row.kernel_time_ns)}};
}

// What the host did in the step, besides `launches`: calls by their start, copies between host and device by launch.
Json HostOfStepJson(const StepRow& row) {
  return {
      {"launch_ns", row.launch_ns},       {"graph_launches", row.graph_launches}, {"sync_calls", row.sync_calls},
      {"sync_ns", row.sync_ns},           {"alloc_calls", row.alloc_calls},       {"alloc_ns", row.alloc_ns},
      {"alloc_max_ns", row.alloc_max_ns}, {"host_copies", row.host_copies},       {"host_copy_ns", row.host_copy_ns}};
}

Json StepJson(const ViewInput& input, const StepOfRank& step) {
  const StepRow& row = *step.row;
  Json json;
  json["rank"] = input.RankOf(step.member);
  json["step"] = row.step;
  json["name"] = TextOrNull(NameOf(input.fleet.run, row.name));
  AddTimes(input, input.fleet.members[step.member], row, json);
  AddParts(step, json);
  json["launches"] = row.launches;
  json["host"] = HostOfStepJson(row);
  json["phase"] = TextOrNull(row.phase);
  json["phases"] = Phases(row);
  json["verdict"] = TextOrNull(Name(step.verdict));
  json["budget"] = Budget(row.tile);
  json["why"] = TextOrNull(step.why);
  return json;
}

// Which ranks' steps were found by their rhythm alone.
void TellOfDetectedSteps(const ViewInput& input) {
  std::string ranks;
  size_t detected = 0;
  for (const FleetRank& member : input.fleet.members) {
    if (member.source->context.step_source != StepSource::kDetected) continue;
    if (++detected <= 8) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", member.rank);
  }
  if (detected == 0) return;
  const std::string more = detected > 8 ? fmt::format(" and {} more", detected - 8) : "";
  input.Notify("steps", fmt::format("nothing marks the steps of rank {}{}: they are the unit that the launches repeat, "
                                    "numbered from the first whole one; --step-range NAME takes marked ones",
                                    ranks, more));
}

std::string WhyNoSteps(const Fleet& fleet) {
  if (NothingRan(fleet)) {
    return "nothing ran on a device: a step is measured by what it launched, whatever the host marks (--view nvtx "
           "lists its ranges)";
  }
  if (fleet.Restricted()) return "no step lies in what was asked for";
  return "the traces mark no steps and their launches repeat no unit: call profiler.step(), or --step-range NAME";
}

Json KernelProgress(const ViewInput& input, const KernelPace& kernel) {
  Json ranks = Json::array();
  for (const KernelPaceOfRank& rank : kernel.ranks) {
    Json slices = Json::array();
    for (const KernelPaceSlice& slice : rank.slices) {
      slices.push_back({{"start_ns", input.SinceStart(slice.start_ns)},
                        {"span_ns", slice.span_ns},
                        {"instances", slice.instances},
                        {"mean_ns", slice.mean_ns}});
    }
    ranks.push_back({{"rank", input.RankOf(rank.member)}, {"slices", std::move(slices)}});
  }
  return {{"name", kernel.name}, {"ranks", std::move(ranks)}};
}

}  // namespace

Json StepsView(const ViewInput& input) {
  TellOfDetectedSteps(input);
  const std::vector<StepOfRank> steps = ComputeSteps(input.fleet, input.measures);
  const size_t most = std::max(kMaxStepRows, static_cast<size_t>(input.context.options.limit.value_or(0)));
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(most, steps.size()); ++i) rows.push_back(StepJson(input, steps[i]));
  if (steps.size() > most) {
    input.Notify("steps",
                 fmt::format("{} rows, the first {} are shown: --steps, --ranks or a larger --limit give others",
                             steps.size(), most));
  }
  if (rows.empty()) {
    input.Notify("steps", WhyNoSteps(input.fleet));
  }
  return rows;
}

absl::StatusOr<Json> PaceView(const ViewInput& input) {
  const Pace pace = ComputePace(input.fleet);
  Json json;
  json["bucket_ns"] = pace.bucket_ns > 0 ? Json(pace.bucket_ns) : Json(nullptr);
  json["start_ns"] = pace.bucket_ns > 0 ? Json(input.SinceStart(pace.start_ns)) : Json(nullptr);
  Json ranks = Json::array();
  for (const PaceOfRank& rank : pace.ranks) {
    ranks.push_back({{"rank", input.RankOf(rank.member)},
                     {"compute_ratio", rank.compute},
                     {"comm_ratio", rank.comm},
                     {"busy_ratio", rank.busy},
                     {"steps_done", rank.steps_done}});
  }
  if (ranks.empty() && !NothingRan(input.fleet)) input.Notify("pace", "the ranks share no time");
  if (input.fleet.SelectsSteps()) input.Notify("pace", "of all steps: --steps and --nvtx do not restrict this view");
  if (input.fleet.options.time_ns && input.fleet.TablesTooWide()) {
    input.Notify("pace", "of the whole run: --time does not cut its buckets and slices");
  }
  json["ranks"] = std::move(ranks);
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<KernelPace> kernels, ComputeKernelPace(input.fleet));
  Json list = Json::array();
  for (const KernelPace& kernel : kernels) list.push_back(KernelProgress(input, kernel));
  json["kernels"] = std::move(list);
  return json;
}

}  // namespace lockstep
