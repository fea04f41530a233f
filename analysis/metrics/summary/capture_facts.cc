#include "analysis/metrics/summary/capture_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "analysis/base/unit_text.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kMinAlike = 3;
constexpr size_t kMaxMessages = 3;

std::vector<const StepRow*> StepsOf(const SourceData& source) {
  std::vector<const StepRow*> steps;
  for (const StepRow& row : source.steps) {
    if (row.step != kNoStep) steps.push_back(&row);
  }
  return steps;
}

// Under nine tenths of the kernels that the same launches start elsewhere.
std::optional<CutStep> CutOf(const StepRow& row, const std::vector<const StepRow*>& steps) {
  std::vector<int64_t> alike;
  for (const StepRow* other : steps) {
    if (other == &row || other->launches != row.launches || other->graph_launches != row.graph_launches) continue;
    alike.push_back(other->kernels);
  }
  if (row.launches == 0 || alike.size() < kMinAlike) return std::nullopt;
  const int64_t expected = LowerMedian(std::move(alike));
  if (10 * row.kernels >= 9 * expected) return std::nullopt;
  return CutStep{row.step, row.kernels, expected};
}

}  // namespace

std::optional<CutStep> FindCutStep(const SourceData& source) {
  const std::vector<const StepRow*> steps = StepsOf(source);
  if (steps.size() <= kMinAlike) return std::nullopt;
  if (auto first = CutOf(*steps.front(), steps)) return first;
  return CutOf(*steps.back(), steps);
}

std::optional<double> NodeTraceShare(const Fleet& fleet) {
  int64_t nodes = 0;
  int64_t spans = 0;
  int64_t device_ns = 0;
  for (const FleetRank& member : fleet.members) {
    const SourceContext& context = member.source->context;
    nodes += context.graph_kernels;
    spans += context.graph_spans;
    device_ns += context.kernel_time_ns;
  }
  if (nodes + spans == 0) return std::nullopt;
  return device_ns > 0 ? static_cast<double>(kNodeTraceNs) * static_cast<double>(nodes) / static_cast<double>(device_ns)
                       : 0;
}

std::string LossMessage(const Fleet& fleet) {
  for (const FleetRank& member : fleet.members) {
    for (const std::string& message : member.source->context.diagnostics) {
      const bool lost = message.find("dropped") != std::string::npos || message.find("lost") != std::string::npos;
      if (lost) return fmt::format("rank {}: {:.200}", member.rank, message);
    }
  }
  return "";
}

std::string DiagnosticsOf(const Fleet& fleet, const std::vector<int32_t>& ranks) {
  std::set<std::string> messages;
  std::string versions;
  int64_t window_ns = 0;
  for (const FleetRank& member : fleet.members) {
    if (std::find(ranks.begin(), ranks.end(), member.rank) == ranks.end()) continue;
    const SourceContext& context = member.source->context;
    for (const std::string& message : context.diagnostics) messages.insert(fmt::format("{:.200}", message));
    window_ns = std::max(window_ns, context.capture_end_ns - context.capture_start_ns);
    if (!versions.empty()) continue;
    for (const std::string_view key : std::array<std::string_view, 3>{"driver", "cuda", "framework"}) {
      const auto version = context.versions.find(std::string(key));
      if (version == context.versions.end()) continue;
      versions += fmt::format("{}{} {:.40}", versions.empty() ? "" : ", ", key, version->second);
    }
  }
  std::string text;
  if (window_ns > 0) text += fmt::format("; the capture window is {}", TimeText(window_ns));
  size_t shown = 0;
  for (const std::string& message : messages) {
    if (shown++ < kMaxMessages) text += "; the capture says: " + message;
  }
  if (!versions.empty()) text += "; " + versions;
  return text;
}

}  // namespace lockstep
