#include "analysis/report/views/empty_views.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {
namespace {

constexpr size_t kMaxAbsent = 16;  // told by number

struct EmptyView {
  std::string_view view;
  std::string_view reason;
  bool of_kernels = false;  // empty for another reason where there are none
};
constexpr std::array kEmptyViews = std::to_array<EmptyView>({
    {"kernels", "no kernel lies in what was asked for", true},
    {"families", "no kernel lies in what was asked for", true},
    {"tails", "no kernel loses time in instances longer than twice its median", true},
    {"collectives", "the traces hold no communication kernels"},
    {"memory", "the traces hold no copies or memsets"},
    {"allocation", "the traces hold no allocations: nsys --cuda-memory-usage=true, or profile_memory=True"},
});

bool HasKernels(const Fleet& fleet) {
  return std::any_of(fleet.members.begin(), fleet.members.end(),
                     [](const FleetRank& member) { return member.source->context.kernels > 0; });
}

std::string ReasonOf(const EmptyView& empty, const Fleet& fleet) {
  const bool asked_for_less = fleet.Restricted() || !fleet.options.kernels.empty() || !fleet.options.ranks.empty();
  if (asked_for_less && !empty.of_kernels) return "nothing of it lies in what was asked for";
  return empty.of_kernels && !HasKernels(fleet) ? "the traces hold no kernels" : std::string(empty.reason);
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

// Steps beyond a limit of the condensed data are told where steps choose what is shown.
void NotifyOfLostSteps(const ViewInput& input) {
  if (!input.fleet.SelectsSteps()) return;
  int64_t lost = 0;
  for (const FileNote& file : input.context.run.files) lost += file.drops.Of(DropReason::kKeyLimit);
  if (lost == 0) return;
  input.Notify("run", fmt::format("{} entries are beyond the limits of the condensed data (32768 steps or ranges a "
                                  "file): what lies in steps beyond them is not in the selection",
                                  lost));
}

}  // namespace

void NotifyOfIdleInRanges(const ViewInput& input, std::string_view view) {
  input.Notify(view, fmt::format("idle is the time in which nothing that '{}' launched runs: other work may run in it",
                                 input.fleet.options.nvtx));
}

void NotifyOfEmptyViews(const ViewInput& input, const Json& views) {
  NotifyOfTime(input);
  NotifyOfAbsentRanks(input);
  NotifyOfLostSteps(input);
  for (const EmptyView& empty : kEmptyViews) {
    const auto view = views.find(std::string(empty.view));
    if (view == views.end() || !view->is_array() || !view->empty()) continue;
    const std::vector<Notice>& told = input.context.notices;
    if (std::any_of(told.begin(), told.end(), [&](const Notice& notice) { return notice.view == empty.view; }))
      continue;
    input.Notify(empty.view, ReasonOf(empty, input.fleet));
  }
}

}  // namespace lockstep
