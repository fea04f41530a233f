#include "bench/simulator/run/truth.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "analysis/base/status_macros.h"
#include "bench/simulator/run/output_file.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Unlike a host's name never borne by two.
std::string DomainName(int32_t host) { return fmt::format("node{:03}", host); }

Json Ranks(const RunDescription& run, const Truth& truth) {
  Json list = Json::array();
  for (int32_t rank = 0; rank < run.cluster->world(); ++rank) {
    const RankPlace& place = run.cluster->ranks[static_cast<size_t>(rank)];
    const TruthOfRank& known = truth.ranks[static_cast<size_t>(rank)];
    list.push_back({{"rank", rank},
                    {"host", run.cluster->HostName(place.host)},
                    {"domain", DomainName(place.host)},
                    {"device", place.device},
                    {"files", known.files},
                    {"window_ns", {known.first_ns, known.last_ns}},
                    {"missing", known.missing},
                    {"records_lost", known.lost}});
  }
  return list;
}

Json Clocks(const RunDescription& run, const ClockField& clocks) {
  Json list = Json::array();
  for (int32_t host = 0; host < run.cluster->hosts; ++host) {
    Json knots = Json::array();
    for (const int64_t at : clocks.KnotsOf(host)) {
      knots.push_back({{"t_ns", at}, {"theta_ns", clocks.Theta(host, at)}});
    }
    Json steps = Json::array();
    for (const ClockField::Step& step : clocks.StepsOf(host)) {
      steps.push_back({{"t_ns", step.at_ns}, {"size_ns", step.size_ns}});
    }
    list.push_back({{"domain", DomainName(host)}, {"knots", knots}, {"steps", steps}});
  }
  return list;
}

Json Communicators(const RunDescription& run) {
  Json list = Json::array();
  for (const RankGroup& group : run.cluster->communicators) {
    if (group.kind == GroupKind::kWorld && run.cluster->WorldIsParallelGroup()) continue;
    list.push_back({{"communicator_id", group.id}, {"members", group.members}, {"kind", Name(group.kind)}});
  }
  return list;
}

Json Params(const Cause& cause) {
  Json params = Json::object();
  for (const auto& [key, value] : cause.parameters) params[key] = value;
  if (!cause.kernel.empty()) params["kernel"] = cause.kernel;
  return params;
}

std::string PlaceId(const RunDescription& run, const Cause& cause) {
  if (cause.scope == "all") return "";
  return cause.scope == "host" ? run.cluster->HostName(cause.place) : std::to_string(cause.place);
}

Json Causes(const RunDescription& run, const Truth& truth) {
  Json list = Json::array();
  for (const TruthOfCause& known : truth.causes) {
    list.push_back({{"kind", known.cause.name},
                    {"scope", known.cause.scope},
                    {"id", PlaceId(run, known.cause)},
                    {"params", Params(known.cause)},
                    {"origin_ranks", known.origin_ranks},
                    {"step_ns_with", known.step_ns_with},
                    {"step_ns_without", known.step_ns_without},
                    {"saving_ns_per_step", known.saving_ns()},
                    {"saving_ratio", known.saving_ratio()},
                    {"category", known.category},
                    {"kernel", known.kernels.empty() ? Json() : Json(known.kernels.front())},
                    {"kernels", known.kernels}});
  }
  return list;
}

Json UndecidableList(const Truth& truth) {
  Json list = Json::array();
  for (const Undecidable& item : truth.undecidable) list.push_back({{"what", item.what}, {"why", item.why}});
  return list;
}

}  // namespace

std::vector<std::string> ExpectedFindings(const Truth& truth) {
  std::set<std::string> findings;
  for (const TruthOfCause& known : truth.causes) {
    // Uneven messages are exchanged under compute: they are found without costing anything yet.
    const bool costs_nothing = known.cause.kind == InjectedKind::kUnevenTraffic;
    if (known.saving_ratio() < kFindableSaving && !costs_nothing) continue;
    findings.emplace(FindingOf(known.cause));
  }
  if (truth.opaque_graphs) findings.emplace("opaque_graphs");
  if (truth.prompts_among_decodes) findings.emplace("prefill_blocks_decode");
  return {findings.begin(), findings.end()};
}

absl::Status WriteInstances(const Cluster& cluster, const std::vector<TrueInstance>& instances,
                            const std::string& folder) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto file, OutputFile::Create(folder + "/" + kInstancesFile, true));
  file->Append("communicator_id,index,op,bytes,step,rank,true_start_ns,true_end_ns,recorded\n");
  for (const TrueInstance& instance : instances) {
    for (const TrueMember& member : instance.members) {
      file->Append(fmt::format("{},{},{},{},{},{},{},{},{}\n", cluster.communicators[instance.communicator].id,
                               instance.index, Name(instance.op), instance.bytes, instance.step, member.rank,
                               member.start_ns, member.end_ns, member.recorded ? 1 : 0));
    }
  }
  return file->Close();
}

absl::Status WriteTruth(const RunDescription& run, const ClockField& clocks, const Truth& truth,
                        const std::string& folder) {
  Json biases = Json::array();
  Json factors = Json::array();
  for (int32_t rank = 0; rank < run.cluster->world(); ++rank) {
    biases.push_back({{"rank", rank}, {"ns", clocks.DeviceBias(rank)}});
    factors.push_back({{"rank", rank}, {"factor", truth.device_factors[static_cast<size_t>(rank)]}});
  }
  const Json document = {{"schema", "lockstep.truth/1"},
                         {"argv", run.options->argv},
                         {"seed", std::to_string(run.options->seed)},
                         {"program", Name(run.options->program)},
                         {"ranks", Ranks(run, truth)},
                         {"clocks", Clocks(run, clocks)},
                         {"device_bias_ns", biases},
                         {"device_factors", factors},
                         {"communicators", Communicators(run)},
                         {"instances", kInstancesFile},
                         {"causes", Causes(run, truth)},
                         {"expected_findings", ExpectedFindings(truth)},
                         {"undecidable", UndecidableList(truth)}};
  LOCKSTEP_ASSIGN_OR_RETURN(auto file, OutputFile::Create(folder + "/" + kTruthFile, false));
  file->Append(document.dump(1) + "\n");
  return file->Close();
}

}  // namespace lockstep
