#include "analysis/report/views/views.h"

#include <algorithm>

#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

report::FindingRow FindingRowOf(const Finding& finding) {
  report::FindingRow row;
  row.id = finding.id;
  row.severity = Name(finding.severity);
  row.title = finding.title;
  for (const Evidence& entry : finding.evidence) {
    row.evidence.push_back({entry.metric, entry.value, entry.threshold, TextIfAny(entry.where)});
  }
  row.cause = TextIfAny(finding.cause);
  row.next_action = finding.next_action;
  row.saving_ratio = finding.saving_ratio;
  return row;
}

}  // namespace

std::vector<report::FindingRow> FindingsView(const ViewInput& input, const std::vector<Finding>& findings) {
  if (input.fleet.TablesTooWide()) {
    input.Notify("findings", "kernels and launch calls are looked at by time slices or whole, the rest as asked for");
  }
  const bool of_stragglers = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.id == "persistent_straggler" || finding.id == "slow_device";
  });
  if (of_stragglers) NotifyOfStragglersOfAll(input, "findings");
  std::vector<report::FindingRow> rows;
  rows.reserve(findings.size());
  for (const Finding& finding : findings) rows.push_back(FindingRowOf(finding));
  return rows;
}

}  // namespace lockstep
