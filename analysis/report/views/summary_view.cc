#include "analysis/report/summary_view.h"

#include <fmt/format.h>

#include "analysis/report/next_steps.h"
#include "analysis/report/worst_collectives.h"

namespace lockstep {
namespace {

constexpr size_t kMaxTails = 5;

Json TimeShareJson(const std::optional<TimeShare>& share) {
  const auto real = [&](double TimeShare::*part) { return share ? Json((*share).*part) : Json(nullptr); };
  return {{"compute_ratio", real(&TimeShare::compute)},
          {"exposed_wait_ratio", real(&TimeShare::exposed_wait)},
          {"exposed_transfer_ratio", real(&TimeShare::exposed_transfer)},
          {"exposed_unresolved_ratio", real(&TimeShare::exposed_unresolved)},
          {"copy_ratio", real(&TimeShare::copy)},
          {"opaque_ratio", real(&TimeShare::opaque)},
          {"idle_ratio", real(&TimeShare::idle)}};
}

Json CulpritJson(const ViewInput& input, const Culprit& culprit) {
  const FleetRank& member = input.fleet.members[culprit.member];
  const SourceContext& context = member.source->context;
  Json json;
  json["scope"] = "rank";
  json["id"] = fmt::format("{}", member.rank);
  json["rank"] = member.rank;
  json["host"] = TextOrNull(member.host);
  json["gpu_uuid"] = TextOrNull(context.gpu.uuid);
  json["pci_bus"] = TextOrNull(context.gpu.pci_bus);
  json["caused_wait_total_ns"] = culprit.caused_wait_ns;
  json["share_of_wait_ratio"] = culprit.share_of_wait;
  json["confidence"] = culprit.confidence;
  json["cause"] = TextOrNull(culprit.cause);
  json["saving_ratio"] = nullptr;
  const bool has_worst = culprit.worst_start_ns.has_value();
  json["worst_at_ns"] = has_worst ? Json(input.SinceStart(*culprit.worst_start_ns)) : Json(nullptr);
  json["worst_at_unix_ns"] = has_worst ? Json(fmt::format("{}", *culprit.worst_start_ns)) : Json(nullptr);
  return json;
}

Json WorstTails(const ViewInput& input, const std::vector<TailRow>& tails) {
  Json list = Json::array();
  for (size_t i = 0; i < tails.size() && i < kMaxTails; ++i) {
    const auto worst = WorstRank(tails[i]);
    list.push_back({{"name", tails[i].name},
                    {"rank", worst ? Json(input.RankOf(*worst)) : Json(nullptr)},
                    {"tail_score", tails[i].score.value}});
  }
  return list;
}

Json Problems(const Quality& quality) {
  Json list = Json::array();
  for (const Gate& gate : WorstProblems(quality.gates)) {
    list.push_back({{"gate", gate.name}, {"detail", gate.detail}, {"fix", gate.fix}});
  }
  return list;
}

}  // namespace

Json SummaryView(const ViewInput& input, const SummaryParts& parts) {
  if (input.fleet.Domains() > 1) {
    input.Notify("summary", "the ranks lie in several clock domains: their shares of time are compared on UTC claims");
  }
  const std::optional<TimeShare> share = ComputeTimeShare(input.measures);
  const WaitBlame blame =
      ComputeWaitBlame(input.fleet, input.measures, parts.imbalance,
                       [&](const MatchedInstance& instance) { return Selects(input.context, instance); });
  const RunVerdict verdict = ComputeVerdict(share);
  Json json;
  json["time_share"] = TimeShareJson(share);
  Json culprits = Json::array();
  for (const Culprit& culprit : blame.culprits) culprits.push_back(CulpritJson(input, culprit));
  json["culprits"] = std::move(culprits);
  json["verdict"] = Name(verdict);
  json["wait_total_ns"] = blame.wait_ns;
  json["unassigned_wait_ns"] = blame.unassigned_ns;
  json["worst_collectives"] = WorstCollectives(input);
  json["worst_tails"] = WorstTails(input, parts.tails);
  json["problems"] = Problems(parts.quality);
  json["next"] = NextSteps(input, {verdict, share, blame, parts});
  return json;
}

}  // namespace lockstep
