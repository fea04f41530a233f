#include "analysis/report/views/selection_notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/rank_list.h"
#include "analysis/base/unit_text.h"
#include "analysis/condense/selection.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/model/row_values.h"
#include "analysis/report/empty_selection.h"

namespace lockstep {
namespace {

// An empty selection is reported, with what there is to select.
void NotifyOfNoStep(const ViewInput& input) {
  if (const auto empty = FindEmptySelection(input.fleet)) input.Notify("run", empty->why);
}

// Restrictions that do not reach every view.
void NotifyOfReach(const ViewInput& input, const std::vector<std::string>& asked) {
  constexpr std::array<std::string_view, 6> kByName = {"kernels",  "families",    "tails",
                                                       "launches", "collectives", "skew"};
  const AnalysisOptions& options = input.fleet.options;
  const bool others = std::any_of(asked.begin(), asked.end(), [&](const std::string& view) {
    return std::find(kByName.begin(), kByName.end(), view) == kByName.end();
  });
  if (!options.kernels.empty() && others) {
    input.Notify(
        "run", fmt::format("--kernels restricts only {}; the other views cover all kernels", fmt::join(kByName, ", ")));
  }
  if (!options.time_ns || !input.fleet.SelectsSteps()) return;
  for (const std::string_view view : {"summary", "overlap", "imbalance", "idle"}) {
    if (std::find(asked.begin(), asked.end(), view) == asked.end()) continue;
    input.Notify(view, "with --time the intervals cover that time, whatever the step");
  }
}

// Steps beyond the limit of the condensed data, where steps select what is shown.
void NotifyOfLostSteps(const ViewInput& input) {
  int64_t lost = 0;
  for (const FileNote& file : input.context.run.files) lost += file.drops.Of(DropReason::kStepLimit);
  if (lost == 0) return;
  input.Notify("run",
               fmt::format("{} steps or ranges are beyond the first 32,768 of their files: the selection does not "
                           "contain what they launched",
                           CountText(lost)));
}

// In old sources, where single steps are left out, and beyond the limits, stretches of steps are measured one by one
// and added: where they run at the same time the sum counts that twice.
void NotifyOfInterleavedSteps(const ViewInput& input) {
  if (input.fleet.options.time_ns) return;
  std::vector<int32_t> ranks;
  for (const FleetRank& member : input.fleet.members) {
    if (!IsStepSelectionExact(input.fleet, *member.source)) ranks.push_back(member.rank);
  }
  if (ranks.empty()) return;
  input.Notify("run", fmt::format("steps of {} run interleaved with steps that are not selected, as nested ranges do: "
                                  "summary, overlap, idle and imbalance count overlapping time more than once, or time "
                                  "that is not selected; all other figures are exact",
                                  FoldedRanks(std::move(ranks))));
}

// Ranges of the files themselves hold exactly what their thread launched.
void NotifyOfUnknownLaunches(const ViewInput& input) {
  int64_t unknown = 0;
  for (const FleetRank& member : input.fleet.members) {
    unknown += member.source->summary.drops.Of(DropReason::kMissingLaunch);
  }
  if (unknown == 0) return;
  input.Notify("run", fmt::format("{} kernels and copies have no launch call in the traces, so they belong to no range "
                                  "'{}'",
                                  CountText(unknown), input.fleet.options.nvtx));
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
  input.Notify("run", fmt::format("in a stored run{} a range holds what its own thread launched, what threads without "
                                  "such ranges launched meanwhile, and what starts during it without a launch call",
                                  stored_with));
  const std::string& asked = input.fleet.options.nvtx;
  if (input.fleet.ranges.in_other_domains && !marked_by.contains(asked)) {
    input.Notify("run", fmt::format("the run has ranges of that name in several domains, but does not record which of "
                                    "them marked a step: '{}' holds all of them",
                                    asked));
  }
}

void NotifyOfTime(const ViewInput& input) {
  if (const auto why = TimeSelectsNothing(input.fleet)) input.Notify("run", *why);
}

void NotifyOfAbsentRanks(const ViewInput& input) {
  std::vector<int32_t> absent;
  for (const int32_t rank : input.fleet.options.ranks) {
    const bool present = std::any_of(input.fleet.members.begin(), input.fleet.members.end(),
                                     [&](const FleetRank& member) { return member.rank == rank; });
    if (!present) absent.push_back(rank);
  }
  if (!absent.empty())
    input.Notify("run", fmt::format("--ranks: there is no trace of {}", FoldedRanks(std::move(absent))));
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
               "stragglers and their savings are determined over the whole run and all ranks, whatever is selected");
}

void NotifyOfIdleInRanges(const ViewInput& input, std::string_view view) {
  input.Notify(view,
               fmt::format("idle is the time in which no work launched by '{}' was running; other work may have been",
                           input.fleet.options.nvtx));
}

}  // namespace lockstep
