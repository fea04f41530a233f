#include "analysis/report/views/empty_views.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/report/json.h"

namespace lockstep {
namespace {

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

// Views of measures have figures of zero, or nothing to look at, where the traces show only the host.
constexpr std::array<std::string_view, 7> kOfDevices = {"summary", "skew", "overlap", "imbalance",
                                                        "idle",    "pace", "findings"};

void NotifyOfNothingRun(const ViewInput& input, const Json& views) {
  if (!NothingRan(input.fleet)) return;
  for (const std::string_view view : kOfDevices) {
    if (views.contains(std::string(view))) input.Notify(view, "nothing ran on a device: there is nothing to measure");
  }
}

bool HasKernels(const Fleet& fleet) {
  return std::any_of(fleet.members.begin(), fleet.members.end(),
                     [](const FleetRank& member) { return member.source->context.kernels > 0; });
}

std::string ReasonOf(const EmptyView& empty, const Fleet& fleet) {
  const bool asked_for_less = fleet.Restricted() || !fleet.options.kernels.empty() || !fleet.options.ranks.empty();
  if (asked_for_less && !empty.of_kernels) return "nothing of it lies in what was asked for";
  return empty.of_kernels && !HasKernels(fleet) ? "the traces hold no kernels" : std::string(empty.reason);
}

}  // namespace

void NotifyOfEmptyViews(const ViewInput& input, const Json& views) {
  NotifyOfNothingRun(input, views);
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
