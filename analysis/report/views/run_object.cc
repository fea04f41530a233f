#include "analysis/report/views/run_object.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analysis/base/version.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

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

std::optional<report::LayoutOfRun> LayoutOf(const std::optional<ParallelLayout>& layout) {
  if (!layout) return std::nullopt;
  const auto size = [&](ParallelAxis axis) -> std::optional<report::Count> { return layout->SizeOf(axis); };
  return report::LayoutOfRun{.tp = size(ParallelAxis::kTensor),
                             .pp = size(ParallelAxis::kPipeline),
                             .dp = size(ParallelAxis::kData),
                             .ep = size(ParallelAxis::kExpert),
                             .cp = size(ParallelAxis::kContext),
                             .order = layout->OrderText()};
}

}  // namespace

report::Run RunObject(const ViewInput& input) {
  const Fleet& fleet = input.fleet;
  const RunSpan span = SpanOf(fleet.run, fleet.ranks, fleet.match.clock);
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
  run.layout = LayoutOf(fleet.options.layout);
  if (run.layout) run.layout_source = "option";
  return run;
}

}  // namespace lockstep
