#include "analysis/report/empty_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "analysis/base/status_macros.h"
#include "analysis/base/unit_text.h"
#include "analysis/metrics/kernels/name_filter.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// Numbers of the steps that the ranks have: of those that --nvtx names, if it names any.
struct StepNumbers {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  [[nodiscard]] bool empty() const { return first > last; }
};

StepNumbers NumbersOf(const Fleet& fleet) {
  const auto is_named = [&](const StepRow& row) {
    return fleet.options.nvtx.empty() || (row.name < fleet.ranges.names.size() && fleet.ranges.names[row.name]);
  };
  StepNumbers numbers;
  for (const FleetRank& member : fleet.members) {
    for (const StepRow& row : member.source->steps) {
      if (row.step == kNoStep || !is_named(row)) continue;
      numbers.first = std::min(numbers.first, row.step);
      numbers.last = std::max(numbers.last, row.step);
    }
  }
  return numbers;
}

bool SelectsAny(const Fleet& fleet) {
  return std::any_of(fleet.members.begin(), fleet.members.end(), [&](const FleetRank& member) {
    const auto selected = [&](const StepRow& row) { return row.step != kNoStep && fleet.SelectsStep(row); };
    return std::any_of(member.source->steps.begin(), member.source->steps.end(), selected);
  });
}

bool LostSteps(const RunData& run) {
  return std::any_of(run.files.begin(), run.files.end(),
                     [](const FileNote& file) { return file.drops.Of(DropReason::kStepLimit) > 0; });
}

}  // namespace

std::optional<EmptySelection> FindEmptySelection(const Fleet& fleet) {
  if (!fleet.SelectsSteps() || SelectsAny(fleet)) return std::nullopt;
  const AnalysisOptions& options = fleet.options;
  const StepNumbers numbers = NumbersOf(fleet);
  if (!options.nvtx.empty() && numbers.empty()) {
    return EmptySelection{
        .why = fmt::format("no range '{}' launched anything; {}", options.nvtx,
                           fleet.TablesSelected() ? "--view nvtx lists the ranges of the traces"
                                                  : "a stored run has the ranges of its --step-range"),
        .lacks_ranges = true};
  }
  if (numbers.empty()) return EmptySelection{.why = "the traces mark no steps, so --steps selects nothing"};
  const auto [first, last] = *options.steps;
  const std::string asked = first == last ? std::to_string(first) : fmt::format("{}..{}", first, last);
  const std::string of_name = options.nvtx.empty() ? "" : fmt::format(" of '{}'", options.nvtx);
  const std::string present = numbers.first == numbers.last
                                  ? fmt::format("only step {}", numbers.first)
                                  : fmt::format("steps {} to {}", numbers.first, numbers.last);
  if (first <= numbers.last && last >= numbers.first) {
    return EmptySelection{.why = fmt::format("nothing was launched in {} {}{}; the traces have {}",
                                             first == last ? "step" : "steps", asked, of_name, present),
                          .in_a_gap = true};
  }
  return EmptySelection{.why =
                            fmt::format("{} {}{}; the traces have {}",
                                        first == last ? "there is no step" : "no step is in", asked, of_name, present)};
}

absl::Status CheckSelection(const Fleet& fleet) {
  const std::optional<EmptySelection> empty = FindEmptySelection(fleet);
  if (!empty) return absl::OkStatus();
  const bool of_files = fleet.TablesSelected();
  const bool may_change = fleet.run.info.state == RunState::kOpen || empty->lacks_ranges;
  if ((!of_files && may_change) || empty->in_a_gap || LostSteps(fleet.run)) return absl::OkStatus();
  return absl::InvalidArgumentError(empty->why);
}

std::optional<std::string> TimeSelectsNothing(const Fleet& fleet) {
  const auto asked = fleet.TimeWindow();
  if (!asked) return std::nullopt;
  const RunSpan span = SpanOf(fleet.run, fleet.ranks, fleet.match.clock);
  if (asked->first < span.end_ns && asked->second > span.start_ns) return std::nullopt;
  return fmt::format("--time selects nothing: the activity of the devices lasts from 0 s to {}",
                     TimeText(span.end_ns - span.start_ns));
}

absl::Status CheckTimeAndNames(const Fleet& fleet) {
  if (fleet.run.info.state == RunState::kOpen) return absl::OkStatus();
  if (const auto why = TimeSelectsNothing(fleet)) return absl::InvalidArgumentError(*why);
  const std::string& pattern = fleet.options.kernels;
  if (pattern.empty() || fleet.run.names.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(NameFilter filter, NameFilter::Make(fleet.run, pattern));
  for (uint32_t name = 0; name < fleet.run.names.size(); ++name) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool passes, filter.Passes(name));
    if (passes) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("no kernel matches --kernels '{}'; --view kernels lists the kernels of the run", pattern));
}

absl::Status CheckLayout(const RankResolution& ranks, const AnalysisOptions& options) {
  if (!options.layout) return absl::OkStatus();
  const ParallelLayout& layout = *options.layout;
  const int64_t made = layout.Ranks();
  const int64_t present = LeastWorldSize(ranks);
  // Where nobody says how many ranks there are, there may be more than the traces show.
  if (made == present || (!ranks.world_size && made > present)) return absl::OkStatus();
  const char* const hint = layout.SizeOf(ParallelAxis::kExpert) || layout.SizeOf(ParallelAxis::kContext)
                               ? "; order= names the axes that divide the ranks"
                               : "";
  return absl::InvalidArgumentError(fmt::format("--layout '{}': its axes make {} rank{}, but the run has {}{}",
                                                layout.Text(), made, made == 1 ? "" : "s", present, hint));
}

}  // namespace lockstep
