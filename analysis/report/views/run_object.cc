#include "analysis/report/views/run_object.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/base/version.h"
#include "analysis/report/json.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 5> kLayoutAxes = {"tp", "pp", "dp", "ep", "cp"};

bool IsAxis(std::string_view name) {
  return std::find(kLayoutAxes.begin(), kLayoutAxes.end(), name) != kLayoutAxes.end();
}

absl::Status BadLayout(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("--layout '{}': {}; write for instance tp=8,pp=2,dp=4,order=tp-dp-pp", text, why));
}

std::vector<std::string> Split(std::string_view text, char separator) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), separator);
}

absl::StatusOr<int32_t> ParseSize(std::string_view layout, const std::string& text) {
  int32_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 1) {
    return BadLayout(layout, fmt::format("'{}' is no positive size", text));
  }
  return size;
}

Json RanksList(const std::vector<int32_t>& ranks) {
  Json list = Json::array();
  for (const int32_t rank : ranks) list.push_back(rank);
  return list;
}

// What was asked for; null when nothing is restricted.
Json Analysed(const AnalysisOptions& options) {
  Json json = Json::object();
  if (options.steps) json["steps"] = {options.steps->first, options.steps->second};
  if (options.time_ns) json["time"] = {options.time_ns->first, options.time_ns->second};
  if (!options.ranks.empty()) {
    std::vector<int32_t> ranks = options.ranks;
    std::sort(ranks.begin(), ranks.end());
    json["ranks"] = RanksList(ranks);
  }
  if (!options.kernels.empty()) json["kernels"] = options.kernels;
  if (!options.nvtx.empty()) json["nvtx"] = options.nvtx;
  if (options.capture) json["capture"] = *options.capture;
  if (options.capture_last) json["capture"] = "last";
  return json.empty() ? Json(nullptr) : json;
}

Json Hosts(const Fleet& fleet) {
  std::set<std::string> hosts;
  for (const FleetRank& member : fleet.members) {
    if (!member.host.empty()) hosts.insert(member.host);
  }
  return hosts.empty() ? Json(nullptr) : Json(hosts.size());
}

// Null unless the run has several.
Json Captures(const std::optional<RunCaptures>& captures) {
  if (!captures) return nullptr;
  Json all = Json::array();
  for (const RunCaptures::One& one : captures->all) {
    all.push_back({{"ranks", one.ranks},
                   {"start_unix_ns", fmt::format("{}", one.start_ns)},
                   {"end_unix_ns", fmt::format("{}", one.end_ns)}});
  }
  return {{"all", std::move(all)}, {"chosen", captures->chosen}, {"asked", captures->asked}};
}

// How many sources, and one of them.
Json LeftOut(const Fleet& fleet) {
  const std::vector<LeftOutSource>& sources = fleet.ranks.left_out;
  if (sources.empty()) return nullptr;
  return {{"count", sources.size()},
          {"path", fleet.run.sources[sources.front().source].context.path},
          {"reason", sources.front().reason}};
}

}  // namespace

absl::StatusOr<Json> ParseLayout(std::string_view text) {
  Json layout = Json::object();
  for (const std::string& part : Split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) return BadLayout(text, fmt::format("'{}' has no '='", part));
    const std::string key = part.substr(0, equals);
    const std::string value = part.substr(equals + 1);
    if (layout.contains(key)) return BadLayout(text, fmt::format("'{}' stands twice", key));
    if (key == "order") {
      for (const std::string& axis : Split(value, '-')) {
        if (!IsAxis(axis)) return BadLayout(text, fmt::format("'{}' is no axis", axis));
      }
      layout[key] = value;
    } else if (IsAxis(key)) {
      LOCKSTEP_ASSIGN_OR_RETURN(layout[key], ParseSize(text, value));
    } else {
      return BadLayout(text, fmt::format("'{}' is no axis (tp, pp, dp, ep, cp, order)", key));
    }
  }
  return layout;
}

Json RunObject(const ViewInput& input) {
  const Fleet& fleet = input.fleet;
  const RunSpan span = SpanOf(fleet.run, fleet.ranks, fleet.match.clock);
  const absl::StatusOr<Json> layout = ParseLayout(fleet.options.layout);
  Json json;
  json["name"] = fleet.run.info.name;
  json["state"] = Name(fleet.run.info.state);
  json["ranks"] = fleet.members.size();
  json["hosts"] = Hosts(fleet);
  json["world_size"] = OrNull(fleet.ranks.world_size);
  json["missing_ranks"] = RanksList(fleet.ranks.missing_ranks);
  json["start_unix_ns"] = fmt::format("{}", span.start_ns);
  json["span_ns"] = span.end_ns - span.start_ns;
  json["lockstep_version"] = Version();
  json["captures"] = Captures(fleet.ranks.captures);
  json["left_out"] = LeftOut(fleet);
  json["clocks_apart_ns"] = fleet.ranks.clocks_apart_ns > 0 ? Json(fleet.ranks.clocks_apart_ns) : Json(nullptr);
  json["analysed"] = Analysed(fleet.options);
  json["layout"] = layout.ok() ? *layout : Json(nullptr);
  json["layout_source"] = layout.ok() ? Json("option") : Json(nullptr);
  return json;
}

}  // namespace lockstep
