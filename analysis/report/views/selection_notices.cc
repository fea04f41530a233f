#include "analysis/report/views/selection_notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/condense/selection.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr size_t kMaxAbsent = 16;  // told by number

// A selection that nothing answers to is said, with what there is.
void NotifyOfNoStep(const ViewInput& input) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (const FleetRank& member : input.fleet.members) {
    for (const StepRow& row : member.source->steps) {
      if (row.step == kNoStep) continue;
      if (input.fleet.SelectsStep(row)) return;
      first = std::min(first, row.step);
      last = std::max(last, row.step);
    }
  }
  if (!input.fleet.options.nvtx.empty()) {
    input.Notify("run",
                 fmt::format("nothing is selected: no range '{}' launched anything (files: --view nvtx lists their "
                             "ranges; a stored run has those of --step-range)",
                             input.fleet.options.nvtx));
    return;
  }
  input.Notify("run", first > last ? std::string("the traces mark no steps: --steps selects nothing")
                                   : fmt::format("no step is selected; the traces have steps {}..{}", first, last));
}

// Restrictions that do not reach every view are said.
void NotifyOfReach(const ViewInput& input, const std::vector<std::string>& asked) {
  constexpr std::array<std::string_view, 6> kByName = {"kernels",  "families",    "tails",
                                                       "launches", "collectives", "skew"};
  const AnalysisOptions& options = input.fleet.options;
  const bool others = std::any_of(asked.begin(), asked.end(), [&](const std::string& view) {
    return std::find(kByName.begin(), kByName.end(), view) == kByName.end();
  });
  if (!options.kernels.empty() && others) {
    input.Notify("run",
                 fmt::format("--kernels restricts {}; the other views are of all kernels", fmt::join(kByName, ", ")));
  }
  if (!options.time_ns || !input.fleet.SelectsSteps()) return;
  for (const std::string_view view : {"summary", "overlap", "imbalance", "idle"}) {
    if (std::find(asked.begin(), asked.end(), view) == asked.end()) continue;
    input.Notify(view, "with --time the intervals are of that time, whatever the step");
  }
}

// Steps beyond the limit of the condensed data are told where steps choose what is shown.
void NotifyOfLostSteps(const ViewInput& input) {
  int64_t lost = 0;
  for (const FileNote& file : input.context.run.files) lost += file.drops.Of(DropReason::kStepLimit);
  if (lost == 0) return;
  input.Notify("run", fmt::format("{} steps or ranges are beyond the first 32768 of their files: what was launched in "
                                  "them is not in the selection",
                                  lost));
}

// Of old sources, of choices that leave steps out, and beyond the limits stretches of steps are measured one by one and
// added: where they run at the same time the sum counts that twice.
void NotifyOfInterleavedSteps(const ViewInput& input) {
  if (input.fleet.options.time_ns) return;
  std::vector<int32_t> ranks;
  for (const FleetRank& member : input.fleet.members) {
    if (!IsStepSelectionExact(input.fleet, *member.source)) ranks.push_back(member.rank);
  }
  if (ranks.empty()) return;
  const size_t count = ranks.size();
  if (count > kMaxAbsent) ranks.resize(kMaxAbsent);
  input.Notify("run",
               fmt::format("steps of rank {}{} run interleaved with steps that are not selected, as nested ranges "
                           "do: the time measures (summary, overlap, idle, imbalance) count what overlaps there "
                           "more than once, or what was not selected; no other figure does",
                           fmt::join(ranks, ", "), count > kMaxAbsent ? ", ..." : ""));
}

// Ranges of the files themselves hold exactly what their thread launched.
void NotifyOfUnknownLaunches(const ViewInput& input) {
  int64_t unknown = 0;
  for (const FleetRank& member : input.fleet.members) {
    unknown += member.source->summary.drops.Of(DropReason::kMissingLaunch);
  }
  if (unknown == 0) return;
  input.Notify("run", fmt::format("{} kernels and copies have no launch call in the traces: they are in no range of "
                                  "'{}'",
                                  unknown, input.fleet.options.nvtx));
}

// The steps of a stored run that are ranges were condensed for another purpose.
void NotifyOfStoredRanges(const ViewInput& input) {
  std::set<std::string> marked_by;
  for (const FleetRank& member : input.fleet.members) {
    const auto& options = member.source->context.options;
    const auto range = options.find(std::string(kStepRange));
    if (range != options.end()) marked_by.insert(range->second);
  }
  const std::string stored_with =
      marked_by.empty() ? "" : fmt::format(" (stored with --step-range '{}')", fmt::join(marked_by, "', '"));
  input.Notify("run", fmt::format("of a stored run{} a range holds what its own thread launched, what threads without "
                                  "such ranges launched meanwhile, and without a launch call what starts in its window",
                                  stored_with));
  const std::string& asked = input.fleet.options.nvtx;
  if (input.fleet.ranges.in_other_domains && !marked_by.contains(asked)) {
    input.Notify("run", fmt::format("the run has ranges of that name in several domains and does not keep which of "
                                    "them marked a step: '{}' holds those of all",
                                    asked));
  }
}

void NotifyOfTime(const ViewInput& input) {
  const auto asked = input.fleet.TimeWindow();
  if (!asked) return;
  const RunSpan span = SpanOf(input.fleet.run, input.fleet.ranks, input.fleet.match.clock);
  if (asked->first < span.end_ns && asked->second > span.start_ns) return;
  input.Notify("run", fmt::format("--time selects nothing: the activity of the devices spans 0..{} ns",
                                  span.end_ns - span.start_ns));
}

void NotifyOfAbsentRanks(const ViewInput& input) {
  std::vector<int32_t> absent;
  for (const int32_t rank : input.fleet.options.ranks) {
    const bool present = std::any_of(input.fleet.members.begin(), input.fleet.members.end(),
                                     [&](const FleetRank& member) { return member.rank == rank; });
    if (!present && absent.size() < kMaxAbsent) absent.push_back(rank);
  }
  if (!absent.empty()) input.Notify("run", fmt::format("--ranks: no trace is of rank {}", fmt::join(absent, ", ")));
}

}  // namespace

bool JudgedOnMore(const Fleet& fleet) { return fleet.Restricted() || !fleet.options.ranks.empty(); }

void NotifyOfSelection(const ViewInput& input, const std::vector<std::string>& asked) {
  NotifyOfReach(input, asked);
  NotifyOfTime(input);
  NotifyOfAbsentRanks(input);
  if (!input.fleet.SelectsSteps()) return;
  NotifyOfNoStep(input);
  NotifyOfLostSteps(input);
  NotifyOfInterleavedSteps(input);
  if (input.fleet.options.nvtx.empty()) return;
  if (input.fleet.TablesSelected()) {
    NotifyOfUnknownLaunches(input);
  } else {
    NotifyOfStoredRanges(input);
  }
}

void NotifyOfStragglersOfAll(const ViewInput& input, std::string_view view) {
  if (!JudgedOnMore(input.fleet) && input.fleet.options.kernels.empty()) return;
  input.Notify(view,
               "stragglers, and what mending them saves, are judged over the whole run and all ranks, whatever is "
               "asked for");
}

void NotifyOfIdleInRanges(const ViewInput& input, std::string_view view) {
  input.Notify(view, fmt::format("idle is the time in which nothing that '{}' launched runs: other work may run in it",
                                 input.fleet.options.nvtx));
}

}  // namespace lockstep
