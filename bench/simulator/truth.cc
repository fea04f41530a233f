#include "bench/simulator/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/base/status_macros.h"
#include "bench/simulator/output_file.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kVisibleSaving = 0.01;  // share of the step below which no finding is expected

// Activities of a rank that run on this communicator, in order.
std::vector<size_t> InstancesOf(const RunDescription& run, int32_t rank, const RankTimeline& timeline, int32_t group) {
  std::vector<size_t> found;
  for (size_t i = 0; i < timeline.activities.size(); ++i) {
    const Activity& activity = timeline.activities[i];
    const Op& op = run.program->StepOf(activity.step, rank).ops[activity.op];
    if (op.kind == OpKind::kCollective && run.cluster->CommunicatorOf(rank, op.group) == group) found.push_back(i);
  }
  return found;
}

void WriteGroup(const RunDescription& run, const std::vector<RankTimeline>& ranks, int32_t index, OutputFile& file) {
  const Communicator& group = run.cluster->communicators[static_cast<size_t>(index)];
  std::vector<std::vector<size_t>> members;
  for (const int32_t rank : group.members) {
    members.push_back(InstancesOf(run, rank, ranks[static_cast<size_t>(rank)], index));
  }
  for (size_t instance = 0; instance < members.front().size(); ++instance) {
    for (size_t member = 0; member < members.size(); ++member) {
      const int32_t rank = group.members[member];
      const Activity& activity = ranks[static_cast<size_t>(rank)].activities[members[member][instance]];
      const Op& op = run.program->StepOf(activity.step, rank).ops[activity.op];
      file.Append(fmt::format("{},{},{},{},{},{},{},{},1\n", group.id, instance, Name(op.collective), op.bytes,
                              activity.step, rank, activity.start_ns, activity.end_ns));
    }
  }
}

Json Ranks(const RunDescription& run, const Truth& truth) {
  Json list = Json::array();
  for (int32_t rank = 0; rank < run.cluster->world(); ++rank) {
    const RankPlace& place = run.cluster->ranks[static_cast<size_t>(rank)];
    const TruthOfRank& known = truth.ranks[static_cast<size_t>(rank)];
    const std::string host = run.cluster->HostName(place.host);
    list.push_back({{"rank", rank},
                    {"host", host},
                    {"domain", host},
                    {"device", place.device},
                    {"files", known.files},
                    {"window_ns", {known.first_ns, known.last_ns}}});
  }
  return list;
}

Json Clocks(const RunDescription& run, const ClockField& clocks, const Truth& truth) {
  Json list = Json::array();
  for (int32_t host = 0; host < run.cluster->hosts; ++host) {
    Json knots = Json::array();
    for (const int64_t at : {truth.start_ns, truth.end_ns}) {
      knots.push_back({{"t_ns", at}, {"theta_ns", clocks.Theta(host, at)}});
    }
    Json steps = Json::array();
    for (const ClockField::Step& step : clocks.StepsOf(host)) {
      steps.push_back({{"t_ns", step.at_ns}, {"size_ns", step.size_ns}});
    }
    list.push_back({{"domain", run.cluster->HostName(host)}, {"knots", knots}, {"steps", steps}});
  }
  return list;
}

Json Communicators(const RunDescription& run) {
  Json list = Json::array();
  for (const Communicator& group : run.cluster->communicators) {
    if (group.kind == GroupKind::kWorld && run.cluster->WorldIsParallelGroup()) continue;
    list.push_back({{"communicator_id", group.id}, {"members", group.members}, {"kind", Name(group.kind)}});
  }
  return list;
}

Json Params(const Cause& cause) {
  Json params;
  if (cause.host) {
    params["host"] = *cause.host;
  } else {
    params["rank"] = cause.ranks.front();
  }
  if (cause.kind == CauseKind::kSlowGpu) {
    params["factor"] = cause.factor;
  } else {
    params["us"] = static_cast<double>(cause.delay_ns) / 1000;
    params["p"] = cause.probability;
  }
  return params;
}

Json Causes(const RunDescription& run, const Truth& truth) {
  Json list = Json::array();
  for (const TruthOfCause& known : truth.causes) {
    const Cause& cause = known.cause;
    const int64_t saving = known.step_ns_with - known.step_ns_without;
    list.push_back({{"kind", cause.name},
                    {"scope", cause.host ? "host" : "rank"},
                    {"id", cause.host ? run.cluster->HostName(*cause.host) : std::to_string(cause.ranks.front())},
                    {"params", Params(cause)},
                    {"origin_ranks", cause.ranks},
                    {"step_ns_with", known.step_ns_with},
                    {"step_ns_without", known.step_ns_without},
                    {"saving_ns_per_step", saving},
                    {"saving_ratio", static_cast<double>(saving) / static_cast<double>(known.step_ns_with)},
                    {"category", cause.kind == CauseKind::kSlowGpu ? "compute" : "host"},
                    {"kernel", nullptr}});
  }
  return list;
}

Json ExpectedFindings(const Truth& truth) {
  bool straggler = false;
  bool slow_device = false;
  for (const TruthOfCause& known : truth.causes) {
    const auto saving = static_cast<double>(known.step_ns_with - known.step_ns_without);
    if (saving < kVisibleSaving * static_cast<double>(known.step_ns_with)) continue;
    straggler = true;
    slow_device = slow_device || known.cause.kind == CauseKind::kSlowGpu;
  }
  Json list = Json::array();
  if (straggler) list.push_back("persistent_straggler");
  if (slow_device) list.push_back("slow_device");
  return list;
}

Json Undecidable(const RunDescription& run) {
  Json list = Json::array();
  if (run.options->ids == IdLevel::kNames) {
    list.push_back({{"what", "communicator membership"}, {"why", "the traces hold kernel names only"}});
  }
  return list;
}

}  // namespace

absl::Status WriteInstances(const RunDescription& run, const std::vector<RankTimeline>& ranks,
                            const std::string& folder) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto file, OutputFile::Create(folder + "/" + kInstancesFile, true));
  file->Append("communicator_id,index,op,bytes,step,rank,true_start_ns,true_end_ns,recorded\n");
  for (size_t group = 0; group < run.cluster->communicators.size(); ++group) {
    WriteGroup(run, ranks, static_cast<int32_t>(group), *file);
  }
  return file->Close();
}

absl::Status WriteTruth(const RunDescription& run, const ClockField& clocks, const Truth& truth,
                        const std::string& folder) {
  Json biases = Json::array();
  for (int32_t rank = 0; rank < run.cluster->world(); ++rank) {
    biases.push_back({{"rank", rank}, {"ns", clocks.DeviceBias(rank)}});
  }
  const Json document = {{"schema", "lockstep.truth/1"},
                         {"argv", run.options->argv},
                         {"seed", std::to_string(run.options->seed)},
                         {"program", Name(run.options->program)},
                         {"ranks", Ranks(run, truth)},
                         {"clocks", Clocks(run, clocks, truth)},
                         {"device_bias_ns", biases},
                         {"communicators", Communicators(run)},
                         {"instances", kInstancesFile},
                         {"causes", Causes(run, truth)},
                         {"expected_findings", ExpectedFindings(truth)},
                         {"undecidable", Undecidable(run)}};
  LOCKSTEP_ASSIGN_OR_RETURN(auto file, OutputFile::Create(folder + "/" + kTruthFile, false));
  file->Append(document.dump(1) + "\n");
  return file->Close();
}

}  // namespace lockstep
