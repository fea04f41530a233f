#include "analysis/report/views/run_object.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/base/version.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

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

// What was asked for; nothing when nothing is restricted.
std::optional<report::SelectionOfRun> SelectionOf(const AnalysisOptions& options) {
  report::SelectionOfRun selection;
  selection.steps = options.steps;
  selection.time = options.time_ns;
  if (!options.ranks.empty()) {
    selection.ranks = options.ranks;
    std::sort(selection.ranks->begin(), selection.ranks->end());
  }
  selection.kernels = TextIfAny(options.kernels);
  selection.nvtx = TextIfAny(options.nvtx);
  if (options.capture || options.capture_last) {
    selection.capture = report::CaptureChoice{options.capture.value_or(0), options.capture_last};
  }
  const bool any =
      selection.steps || selection.time || selection.ranks || selection.kernels || selection.nvtx || selection.capture;
  return KnownIf(any, std::move(selection));
}

std::optional<report::Count> HostsOf(const Fleet& fleet) {
  std::set<std::string> hosts;
  for (const FleetRank& member : fleet.members) {
    if (!member.host.empty()) hosts.insert(member.host);
  }
  return KnownIf(!hosts.empty(), report::Count(hosts.size()));
}

// Nothing unless the run has several.
std::optional<report::CapturesOfRun> CapturesOf(const std::optional<RunCaptures>& captures) {
  if (!captures) return std::nullopt;
  report::CapturesOfRun out;
  for (const RunCaptures::One& one : captures->all) out.all.push_back({one.ranks, one.start_ns, one.end_ns});
  out.chosen = captures->chosen;
  out.asked = captures->asked;
  return out;
}

// How many sources, and one of them.
std::optional<report::LeftOutOfRun> LeftOutOf(const Fleet& fleet) {
  const std::vector<LeftOutSource>& sources = fleet.ranks.left_out;
  if (sources.empty()) return std::nullopt;
  return report::LeftOutOfRun{sources.size(), fleet.run.sources[sources.front().source].context.path,
                              sources.front().reason};
}

// The size of an axis; nullptr for no axis.
std::optional<report::Count>* AxisOf(std::string_view name, report::LayoutOfRun& layout) {
  if (name == "tp") return &layout.tp;
  if (name == "pp") return &layout.pp;
  if (name == "dp") return &layout.dp;
  if (name == "ep") return &layout.ep;
  return name == "cp" ? &layout.cp : nullptr;
}

absl::Status ParseOrder(std::string_view text, const std::string& order, report::LayoutOfRun& layout) {
  for (const std::string& axis : Split(order, '-')) {
    if (AxisOf(axis, layout) == nullptr) return BadLayout(text, fmt::format("'{}' is no axis", axis));
  }
  layout.order = order;
  return absl::OkStatus();
}

absl::Status ParsePart(std::string_view text, const std::string& part, report::LayoutOfRun& layout) {
  const size_t equals = part.find('=');
  if (equals == std::string::npos) return BadLayout(text, fmt::format("'{}' has no '='", part));
  const std::string key = part.substr(0, equals);
  const std::string value = part.substr(equals + 1);
  std::optional<report::Count>* axis = AxisOf(key, layout);
  if (key == "order" ? layout.order.has_value() : axis != nullptr && axis->has_value()) {
    return BadLayout(text, fmt::format("'{}' is given twice", key));
  }
  if (key == "order") return ParseOrder(text, value, layout);
  if (axis == nullptr) return BadLayout(text, fmt::format("'{}' is no axis (tp, pp, dp, ep, cp, order)", key));
  LOCKSTEP_ASSIGN_OR_RETURN(*axis, ParseSize(text, value));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<report::LayoutOfRun> ParseLayout(std::string_view text) {
  report::LayoutOfRun layout;
  for (const std::string& part : Split(text, ',')) LOCKSTEP_RETURN_IF_ERROR(ParsePart(text, part, layout));
  return layout;
}

report::Run RunObject(const ViewInput& input) {
  const Fleet& fleet = input.fleet;
  const RunSpan span = SpanOf(fleet.run, fleet.ranks, fleet.match.clock);
  const absl::StatusOr<report::LayoutOfRun> layout = ParseLayout(fleet.options.layout);
  report::Run run;
  run.name = fleet.run.info.name;
  run.state = Name(fleet.run.info.state);
  run.ranks = fleet.members.size();
  run.hosts = HostsOf(fleet);
  run.world_size = fleet.ranks.world_size;
  run.missing_ranks = fleet.ranks.missing_ranks;
  run.start_unix_ns = span.start_ns;
  run.span_ns = span.end_ns - span.start_ns;
  run.lockstep_version = Version();
  run.captures = CapturesOf(fleet.ranks.captures);
  run.left_out = LeftOutOf(fleet);
  run.clocks_apart_ns = KnownIf(fleet.ranks.clocks_apart_ns > 0, report::Count(fleet.ranks.clocks_apart_ns));
  run.analysed = SelectionOf(fleet.options);
  if (layout.ok()) {
    run.layout = *layout;
    run.layout_source = "option";
  }
  return run;
}

}  // namespace lockstep
