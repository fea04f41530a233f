#include "analysis/report/views/empty_views.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/interval_selection.h"

namespace lockstep {
namespace {

struct EmptyView {
  std::string_view view;
  std::string_view list;  // of the document
  bool (*is_empty)(const report::Document& document);
  std::string_view reason;
  bool of_kernels = false;  // empty for another reason where there are none
};

template <auto kList>
bool IsEmpty(const report::Document& document) {
  return (document.*kList) && (document.*kList)->empty();
}

constexpr auto kEmptyViews = std::to_array<EmptyView>({
    {"kernels", "kernels", IsEmpty<&report::Document::kernels>, "the selection contains no kernel", true},
    {"families", "families", IsEmpty<&report::Document::families>, "the selection contains no kernel", true},
    {"tails", "tails", IsEmpty<&report::Document::tails>,
     "no kernel loses time in instances that take more than twice its median", true},
    {"collectives", "collectives", IsEmpty<&report::Document::collectives>,
     "the traces contain no communication kernels"},
    {"memory", "memory", IsEmpty<&report::Document::memory>, "the traces contain no copies or memsets"},
    {"memory", "allocation", IsEmpty<&report::Document::allocation>,
     "the traces contain no allocations: record them with nsys --cuda-memory-usage=true or profile_memory=True"},
});

// Views of measures have figures of zero, or nothing to look at, where the traces show only the host.
constexpr std::array<std::string_view, 7> kOfDevices = {"summary", "skew", "overlap", "imbalance",
                                                        "idle",    "pace", "findings"};

bool HasKernels(const Fleet& fleet) {
  return std::any_of(fleet.members.begin(), fleet.members.end(),
                     [](const FleetRank& member) { return member.source->context.kernels > 0; });
}

std::string ReasonOf(const EmptyView& empty, const Fleet& fleet) {
  const bool asked_for_less = fleet.Restricted() || !fleet.options.kernels.empty() || !fleet.options.ranks.empty();
  if (asked_for_less && !empty.of_kernels) return "the selection contains no such events";
  return empty.of_kernels && !HasKernels(fleet) ? "the traces contain no kernels" : std::string(empty.reason);
}

}  // namespace

void NotifyOfEmptyView(const ViewInput& input, std::string_view view, const report::Document& document) {
  if (NothingRan(input.fleet) && std::find(kOfDevices.begin(), kOfDevices.end(), view) != kOfDevices.end()) {
    input.Notify(view, "nothing ran on a device, so there is nothing to measure");
  }
  for (const EmptyView& empty : kEmptyViews) {
    if (empty.view != view || !empty.is_empty(document)) continue;
    const std::vector<Notice>& told = input.context.notices;
    if (std::any_of(told.begin(), told.end(), [&](const Notice& notice) { return notice.view == empty.list; }))
      continue;
    input.Notify(empty.list, ReasonOf(empty, input.fleet));
  }
}

}  // namespace lockstep
