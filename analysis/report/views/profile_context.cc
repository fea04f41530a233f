#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/condense/selection.h"
#include "analysis/report/views/profile_parts.h"

namespace lockstep {
namespace {

using ValuesOfKey = std::map<std::string, std::set<std::string>>;

// Empty: nothing was launched.
std::string_view LaunchMode(const SourceContext& context) {
  if (context.graph_kernels > 0 || context.graph_spans > 0 || context.opaque_graph_launches > 0) return "graph";
  return context.kernels > 0 ? "eager" : "";
}

void AddContext(const SourceContext& context, ValuesOfKey& values) {
  const auto add = [&](const std::string& key, const std::string& value) {
    if (!value.empty()) values[key].insert(value);
  };
  add("gpu", context.gpu.name);
  add("format", context.format);
  add("profiler", context.tool_version);
  add("launch_mode", std::string(LaunchMode(context)));
  for (const auto& [name, version] : context.versions) add(name, version);
  for (const auto& [name, option] : context.options) {
    if (name.starts_with("lockstep.")) continue;
    add("profiler_option." + name, option);
  }
}

// What people gave wins over what the traces say.
void AddGivenContext(const SourceContext& context, ValuesOfKey& given) {
  for (const auto& [name, value] : context.options) {
    if (name.starts_with(kRunContext)) given[name.substr(kRunContext.size())].insert(value);
  }
}

}  // namespace

report::Keyed<std::string> ContextOf(const ViewInput& input) {
  ValuesOfKey values;
  ValuesOfKey given;
  std::set<std::string> hosts;
  for (const FleetRank& member : input.fleet.members) {
    AddContext(member.source->context, values);
    AddGivenContext(member.source->context, given);
    if (!member.host.empty()) hosts.insert(member.host);
  }
  values["ranks"].insert(std::to_string(input.fleet.members.size()));
  if (!hosts.empty()) values["hosts"].insert(std::to_string(hosts.size()));
  if (const auto world = input.fleet.ranks.world_size) values["world_size"].insert(std::to_string(*world));
  for (auto& [key, all] : given) values[key] = std::move(all);
  report::Keyed<std::string> context;
  for (const auto& [key, all] : values) context.emplace_back(key, fmt::format("{}", fmt::join(all, ", ")));
  return context;
}

}  // namespace lockstep
