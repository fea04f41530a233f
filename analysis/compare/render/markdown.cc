// The comparison as Markdown, for a comment on a pull request.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/base/unit_text.h"
#include "analysis/compare/render/render.h"
#include "analysis/compare/words.h"
#include "analysis/report/text/text_words.h"

namespace lockstep::compare {
namespace {

using report::ComparisonDocument;

constexpr size_t kMostBytes = 60'000;  // hosts of repositories cut comments at 65,536 characters
constexpr size_t kMostKernels = 20;
constexpr size_t kMostEntries = 8;
constexpr size_t kNameWidth = 60;

// Text from a trace in a table's cell: nothing in it is markup.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (std::string_view("\\`*_[]<>#|~@&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string TimeOrDash(const std::optional<double>& ns) { return ns ? TimeText(*ns) : "-"; }
std::string PercentOrDash(const std::optional<double>& ratio) { return ratio ? SignedPercent(*ratio) : "-"; }
std::string RangeOrDash(const report::MetricChange& row) {
  if (row.metric.starts_with("step_time") && row.interval_ratio) {
    return PercentRange(row.change_ratio.value_or(0), *row.interval_ratio);
  }
  return row.interval ? fmt::format("{} to {}", SignedTime(row.interval->first), SignedTime(row.interval->second))
                      : "-";
}

std::string MetricsTable(const ComparisonDocument& document) {
  std::string out = "| metric | base | new | change | 95 % interval | verdict |\n|---|--:|--:|--:|---|---|\n";
  for (const report::MetricChange& row : document.metrics) {
    if (row.unit != "ns" || (row.base.value_or(0) == 0 && row.fresh.value_or(0) == 0)) continue;
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.metric, TimeOrDash(row.base), TimeOrDash(row.fresh),
                       PercentOrDash(row.change_ratio), RangeOrDash(row), row.verdict);
  }
  return out;
}

std::string LedgerTable(const ComparisonDocument& document) {
  std::string out = "| part of the mean step | base | new | change |\n|---|--:|--:|--:|\n";
  for (size_t i = 0; i < std::min(document.ledger.size(), kMostEntries); ++i) {
    const report::LedgerEntry& row = document.ledger[i];
    out += fmt::format("| {} | {} | {} | {} |\n", Escaped(row.label), TimeText(row.base_ns_per_step),
                       TimeText(row.new_ns_per_step), SignedTime(static_cast<double>(row.change_ns_per_step)));
  }
  return out;
}

std::string KernelName(const report::KernelChange& row) {
  const auto& side = row.fresh ? row.fresh : row.base;
  return side && !side->names.empty() ? Escaped(ShortenKernel(Printable(side->names.front()), kNameWidth)) : "";
}

std::string KernelsTable(const ComparisonDocument& document, size_t most) {
  std::string out = "| kernel | base | new | change | verdict |\n|---|--:|--:|--:|---|\n";
  for (size_t i = 0; i < std::min(document.kernels.size(), most); ++i) {
    const report::KernelChange& row = document.kernels[i];
    const auto time = [](const std::optional<report::KernelSide>& side) {
      return side ? TimeText(side->ns_per_step) : std::string("-");
    };
    out += fmt::format("| {} | {} | {} | {} | {} |\n", KernelName(row), time(row.base), time(row.fresh),
                       SignedTime(row.change_ns_per_step), row.verdict);
  }
  return out;
}

std::string GatesList(const ComparisonDocument& document) {
  std::string out;
  for (const report::GateResult& gate : document.gates) {
    out += fmt::format("- **{}** {}, {}\n", gate.verdict, Escaped(gate.gate), Escaped(MeasuredText(gate)));
  }
  return out;
}

// "base main-1, main-2 (8 ranks, 58 steps)"
std::string SideLine(std::string_view side, const std::vector<report::ComparedRunHead>& runs) {
  std::string names;
  for (const report::ComparedRunHead& run : runs) names += (names.empty() ? "" : ", ") + Escaped(run.name);
  if (runs.empty()) return "";
  return fmt::format("{} {} ({} ranks, {} steps)", side, names, runs.front().ranks.value, runs.front().steps.value);
}

std::string Folded(std::string_view title, std::string_view content) {
  return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", title, content);
}

std::string Whole(const ComparisonDocument& document, size_t kernels) {
  std::string out = fmt::format("### {}\n\n", Escaped(document.headline.sentence));
  out += fmt::format("{} · {}\n\n", SideLine("base", document.base), SideLine("new", document.fresh));
  for (const std::string& detail : document.headline.details) out += fmt::format("- {}\n", Escaped(detail));
  if (!document.headline.details.empty()) out += "\n";
  if (!document.headline.sureness.empty()) out += Escaped(document.headline.sureness) + "\n\n";
  for (const std::string& reason : document.comparable.reasons) out += fmt::format("> {}\n", Escaped(reason));
  for (const std::string& notice : document.notices) out += fmt::format("> {}\n", Escaped(notice));
  if (!document.comparable.reasons.empty() || !document.notices.empty()) out += "\n";
  if (!document.gates.empty()) out += GatesList(document) + "\n";
  out += MetricsTable(document) + "\n";
  out += Folded("Where the change comes from", LedgerTable(document));
  if (kernels > 0 && !document.kernels.empty()) out += Folded("Kernels", KernelsTable(document, kernels));
  return out;
}

}  // namespace

std::string RenderMarkdown(const ComparisonDocument& document) {
  std::string out = Whole(document, kMostKernels);
  return out.size() <= kMostBytes ? out : Whole(document, 0);
}

}  // namespace lockstep::compare
