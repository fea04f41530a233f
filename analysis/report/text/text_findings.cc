// findings[].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "analysis/base/unit_text.h"
#include "analysis/report/rows/findings.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

// Words for a metric whose name alone does not say what it is.
struct MetricWords {
  std::string_view metric;
  std::string_view words;
  std::string_view finding = {};  // only there; empty = everywhere
};
constexpr std::array kMetricWords = std::to_array<MetricWords>({
    {"alloc_calls_per_step", "calls that allocate or release memory"},
    {"alloc_max_ns", "longest of these calls"},
    {"alloc_time_ratio", "step time in these calls"},
    {"attention_ratio", "kernel time in attention"},
    {"confidence_ratio", "confidence that the others wait for it"},
    {"copy_ratio", "busy time with copies"},
    {"exposed_unresolved_ratio", "exposed communication, wait and transfer not separable"},
    {"host_copies_per_step", "copies between host and device"},
    {"host_copy_time_ratio", "step time with these copies"},
    {"idle_for_host_ratio", "idle time in which the device waits for the host", "gpu_idle_host_bound"},
    {"idle_for_host_ratio", "idle, waiting for the host"},
    {"launch_call_ratio", "host time in launch calls"},
    {"max_over_p50_ratio", "longest over median"},
    {"memory_bound_kernel_ratio", "kernel time in memory-bound kernels"},
    {"nccl_time_over_mean_ratio", "communication without waiting, above the average rank by"},
    {"nccl_time_ratio", "communication without waiting"},
    {"opaque_graph_launches", "launches of CUDA graphs without their kernels"},
    {"overhead_ratio", "idle, waiting for the host"},
    {"p99_over_p50_ratio", "p99 over median"},
    {"p_adjusted", "probability by chance"},
    {"saving_after_others_ratio", "saving once the stragglers before it are fixed"},
    {"short_kernel_ratio", "kernels shorter than 10 us"},
    {"short_kernel_time_ratio", "kernel time in these kernels"},
    {"sync_calls_per_step", "synchronising calls"},
    {"sync_time_ratio", "step time in these calls"},
    {"tail_score", "GPU time lost in the tail"},
    {"work_ratio", "computing and copying"},
});

// The name of a metric, taken apart.
struct MetricName {
  std::string_view words;
  std::string_view unit;  // "ns", "ratio", ...; "" = a plain number
  bool per_step = false;
};

MetricName NameOf(std::string_view metric) {
  constexpr std::string_view kPerStep = "_per_step";
  constexpr std::array<std::string_view, 5> kUnits = {"ns", "ratio", "score", "bytes", "gbps"};
  MetricName name{metric, "", metric.ends_with(kPerStep)};
  if (name.per_step) name.words.remove_suffix(kPerStep.size());
  const std::string_view end = name.words.substr(name.words.find_last_of('_') + 1);
  if (std::find(kUnits.begin(), kUnits.end(), end) != kUnits.end() && end.size() < name.words.size()) {
    name.unit = end;
    name.words.remove_suffix(end.size() + 1);
  }
  const bool quotient =
      metric.find("_over_p50") != std::string_view::npos || metric.find("_over_median") != std::string_view::npos;
  if (quotient) name.unit = "";
  if (metric == "p_adjusted") name.unit = "probability";
  return name;
}

// "1.68 ms", "63.5 %", "10".
std::string ValueText(std::string_view unit, double value) {
  if (unit == "ns") return TimeText(value);
  if (unit == "ratio" || unit == "score") return fmt::format("{:.3g} %", 100 * value);
  if (unit == "bytes") return BytesText(value);
  if (unit == "gbps") return fmt::format("{:.3g} GB/s", value);
  if (unit == "probability") return value < 1e-6 ? "under 0.000001" : fmt::format("{:.2g}", value);
  const bool whole = std::nearbyint(value) == value && std::abs(value) < 1e15;
  return whole ? CountText(static_cast<int64_t>(value)) : fmt::format("{:.3g}", value);
}

std::string WordsOf(const report::Evidence& evidence, const MetricName& name, std::string_view finding) {
  const auto known = std::find_if(kMetricWords.begin(), kMetricWords.end(), [&](const MetricWords& it) {
    return it.metric == evidence.metric && (it.finding.empty() || it.finding == finding);
  });
  std::string words(known == kMetricWords.end() ? name.words : known->words);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// A rank, or a kernel with its launch shape, whose name may be very long.
std::string PlaceText(const std::string& where) {
  constexpr size_t kNameWidth = 60;
  const std::string place = Printable(where);
  const size_t shape = place.find(" <<<");
  return ShortenKernel(place.substr(0, shape), kNameWidth) + (shape == std::string::npos ? "" : place.substr(shape));
}

// "lateness 5.27 ms a step, rank 3 on node1"; a threshold of 0 is no limit.
std::string EvidenceText(const report::Evidence& evidence, std::string_view finding) {
  const MetricName name = NameOf(evidence.metric);
  const std::string limit =
      evidence.threshold == 0 ? "" : fmt::format(" (limit {})", ValueText(name.unit, evidence.threshold));
  const std::string where = evidence.where ? ", " + PlaceText(*evidence.where) : "";
  return fmt::format("{} {}{}{}{}", WordsOf(evidence, name, finding), ValueText(name.unit, evidence.value),
                     name.per_step ? " a step" : "", limit, where);
}

// A straggler's is replayed, any other is all the time that the finding costs.
std::string SavingText(const report::FindingRow& finding) {
  const bool replayed = finding.id == "persistent_straggler" || finding.id == "slow_device";
  const std::string saving = FormatPercent(finding.saving_ratio);
  return replayed ? fmt::format("saving: {} of each step, by a replay of the run", saving)
                  : fmt::format("saving: at most {} of the GPU time", saving);
}

void WriteFinding(const report::FindingRow& finding, TextPage& page) {
  page.Line(fmt::format("{}: {}", finding.severity, finding.title), 2, 2, Emphasis::kStrong);
  for (const report::Evidence& evidence : finding.evidence) {
    if (evidence.metric != "saving_ratio") page.Line(EvidenceText(evidence, finding.id), 4, 2);  // the last line has it
  }
  if (finding.cause) page.Line(fmt::format("cause: {}", *finding.cause), 4, 2);
  if (!finding.next_action.empty()) page.Line(fmt::format("next: {}", finding.next_action), 4, 2);
  if (finding.saving_ratio) page.Line(SavingText(finding), 4, 2);
}

}  // namespace

void FindingsSection(const std::vector<report::FindingRow>& rows, TextPage& page) {
  page.Heading("findings");
  if (rows.empty()) page.Line("(none)", 2, 0, Emphasis::kFaint);
  int64_t shown = 0;
  for (const report::FindingRow& finding : rows) {
    if (shown++ == page.options().max_rows) {
      page.Line(fmt::format("... and {} more (--limit)", static_cast<int64_t>(rows.size()) - shown + 1));
      return;
    }
    WriteFinding(finding, page);
  }
}

}  // namespace lockstep
