#include "analysis/report/clock_view.h"

#include <map>

namespace lockstep {
namespace {

struct Domain {
  std::string host;  // of its lowest rank
  int64_t ranks = 0;
  int64_t instances = 0;  // matched instances inside the domain
};

std::map<int32_t, Domain> CollectDomains(const Fleet& fleet) {
  std::map<int32_t, Domain> domains;
  std::map<int32_t, int32_t> domain_of;
  for (const FleetRank& member : fleet.members) {
    Domain& domain = domains[member.domain];
    if (domain.ranks++ == 0) domain.host = member.host;
    domain_of[static_cast<int32_t>(member.index)] = member.domain;
  }
  for (const MatchedInstance& instance : fleet.match.instances) {
    if (!instance.usable()) continue;
    const auto domain = domain_of.find(instance.members.front().rank_index);
    if (domain != domain_of.end()) ++domains[domain->second].instances;
  }
  return domains;
}

Json HostRow(int32_t number, const Domain& domain) {
  Json row;
  row["host"] = TextOrNull(domain.host);
  row["domain"] = number;
  row["ranks"] = domain.ranks;
  row["component"] = number;
  row["offset_ns"] = 0;
  row["drift_ppm"] = nullptr;
  row["at_ns"] = nullptr;
  row["certified_ns"] = nullptr;
  row["certified"] = false;
  row["sigma_ns"] = nullptr;
  row["method"] = domain.ranks > 1 ? "shared" : "none";
  row["instances"] = domain.instances;
  row["knots"] = Json::array();
  row["steps"] = Json::array();
  return row;
}

}  // namespace

Json ClockView(const ViewInput& input) {
  const std::map<int32_t, Domain> domains = CollectDomains(input.fleet);
  Json components = Json::array();
  Json hosts = Json::array();
  for (const auto& [number, domain] : domains) {
    Json names = Json::array();
    if (!domain.host.empty()) names.push_back(domain.host);
    components.push_back(
        {{"component", number}, {"reference_host", TextOrNull(domain.host)}, {"hosts", std::move(names)}});
    hosts.push_back(HostRow(number, domain));
  }
  if (domains.size() > 1) {
    input.Notify("clock",
                 "clocks of different domains are not aligned in this version: between them nothing is resolvable");
  }
  Json json;
  json["reference_host"] = domains.size() == 1 ? TextOrNull(domains.begin()->second.host) : Json(nullptr);
  json["components"] = std::move(components);
  json["hosts"] = std::move(hosts);
  return json;
}

}  // namespace lockstep
