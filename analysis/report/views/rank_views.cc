#include "analysis/report/views/rank_views.h"

#include <fmt/format.h>

#include "analysis/metrics/fleet/idle.h"
#include "analysis/metrics/fleet/pace.h"
#include "analysis/metrics/fleet/steps.h"
#include "analysis/report/views/percentiles.h"

namespace lockstep {
namespace {

Json Streams(const IdleOfRank& idle) {
  Json list = Json::array();
  for (const StreamIdleRow& stream : idle.streams) {
    list.push_back({{"stream", stream.stream},
                    {"host_wait_ns", stream.host_wait_ns},
                    {"kernel_wait_ns", stream.kernel_wait_ns},
                    {"other_ns", stream.other_ns}});
  }
  return list;
}

Json IdleRow(const ViewInput& input, const IdleOfRank& idle) {
  const FleetRank& member = input.fleet.members[idle.member];
  Json row;
  row["rank"] = member.rank;
  row["device"] = member.source->context.device >= 0 ? Json(member.source->context.device) : Json(nullptr);
  row["gaps"] = idle.gaps ? Json(idle.gaps->count()) : Json(nullptr);
  row["idle_ns"] = idle.measure.idle_ns();
  row["host_ns"] = idle.measure.idle_host_ns;
  row["launch_ns"] = idle.measure.idle_launch_ns;
  row["dependency_ns"] = idle.measure.idle_dependency_ns;
  row["other_ns"] = idle.measure.idle_other_ns;
  row["gap_ns"] = idle.gaps ? Percentiles(*idle.gaps) : Json(nullptr);
  row["dominant_gap_ns"] = OrNull(idle.dominant_gap_ns);
  row["streams"] = Streams(idle);
  return row;
}

void AddTimes(const ViewInput& input, const FleetRank& member, const StepRow& row, Json& json) {
  const auto event = [&](int64_t time) {
    return time == kNoTime ? Json(nullptr) : Json(input.fleet.SinceStart(member, time));
  };
  json["start_ns"] = input.fleet.SinceStart(member, row.window_start_ns);
  json["span_ns"] = row.tile.span_ns;
  json["first_start_ns"] = event(row.first_start_ns);
  json["last_end_ns"] = event(row.last_end_ns);
}

Json StepJson(const ViewInput& input, const StepOfRank& step) {
  const StepRow& row = *step.row;
  const IntervalMeasure& tile = row.tile;
  Json json;
  json["rank"] = input.RankOf(step.member);
  json["step"] = row.step;
  json["name"] = TextOrNull(NameOf(input.fleet.run, row.name));
  AddTimes(input, input.fleet.members[step.member], row, json);
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
  json["launches"] = row.launches;
  json["phase"] = TextOrNull(row.phase);
  json["verdict"] = TextOrNull(Name(step.verdict));
  json["why"] = step.why;
  return json;
}

}  // namespace

Json IdleView(const ViewInput& input) {
  if (input.fleet.options.time_ns) input.Notify("idle", "--time is snapped outward to the buckets of each rank");
  if (input.fleet.Restricted()) {
    input.Notify("idle",
                 "the distribution of gaps and the streams are kept for whole captures only: null and empty here");
  }
  Json rows = Json::array();
  for (const IdleOfRank& idle : ComputeIdle(input.fleet)) rows.push_back(IdleRow(input, idle));
  return rows;
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

Json StepsView(const ViewInput& input) {
  TellOfDetectedSteps(input);
  Json rows = Json::array();
  for (const StepOfRank& step : ComputeSteps(input.fleet, input.measures)) rows.push_back(StepJson(input, step));
  if (rows.empty()) {
    input.Notify(
        "steps",
        input.fleet.Restricted()
            ? "no step lies in what was asked for"
            : "the traces mark no steps and their launches repeat no unit: call profiler.step(), or --step-range NAME");
  }
  return rows;
}

Json PaceView(const ViewInput& input) {
  const Pace pace = ComputePace(input.fleet);
  Json json;
  json["bucket_ns"] = pace.bucket_ns > 0 ? Json(pace.bucket_ns) : Json(nullptr);
  json["start_ns"] = pace.bucket_ns > 0 ? Json(input.SinceStart(pace.start_ns)) : Json(nullptr);
  Json ranks = Json::array();
  for (const PaceOfRank& rank : pace.ranks) {
    ranks.push_back({{"rank", input.RankOf(rank.member)},
                     {"compute_ratio", rank.compute},
                     {"comm_ratio", rank.comm},
                     {"busy_ratio", rank.busy}});
  }
  if (ranks.empty()) input.Notify("pace", "the ranks share no time");
  json["ranks"] = std::move(ranks);
  return json;
}

}  // namespace lockstep
