#include "analysis/report/views/findings_view.h"

#include <algorithm>

#include "analysis/report/json.h"
#include "analysis/report/views/selection_notices.h"

namespace lockstep {

Json FindingsView(const ViewInput& input, const std::vector<Finding>& findings) {
  if (input.fleet.TablesTooWide()) {
    input.Notify("findings", "kernels and launch calls are looked at by time slices or whole, the rest as asked for");
  }
  const bool of_stragglers = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.id == "persistent_straggler" || finding.id == "slow_device";
  });
  if (of_stragglers) NotifyOfStragglersOfAll(input, "findings");
  Json rows = Json::array();
  for (const Finding& finding : findings) {
    Json evidence = Json::array();
    for (const Evidence& entry : finding.evidence) {
      evidence.push_back({{"metric", entry.metric},
                          {"value", entry.value},
                          {"threshold", entry.threshold},
                          {"where", TextOrNull(entry.where)}});
    }
    rows.push_back({{"id", finding.id},
                    {"severity", Name(finding.severity)},
                    {"title", finding.title},
                    {"evidence", std::move(evidence)},
                    {"cause", TextOrNull(finding.cause)},
                    {"next_action", finding.next_action},
                    {"saving_ratio", OrNull(finding.saving_ratio)}});
  }
  return rows;
}

}  // namespace lockstep
