// RenderText: the report document for people. What is shown, and in which words, is decided in text_<view>.cc.
#include <fmt/format.h>

#include <optional>

#include "analysis/report/json.h"
#include "analysis/report/text/text_page.h"
#include "analysis/report/text/text_sections.h"

namespace lockstep {
namespace {

template <typename View>
void WriteIfAny(const std::optional<View>& view, void (*section)(const View&, TextPage&), TextPage& page) {
  if (view) section(*view, page);
}

void NoticesSection(std::vector<report::NoticeRow> notices, bool has_stragglers, TextPage& page) {
  if (has_stragglers) std::erase_if(notices, [](const auto& notice) { return notice.view == kStragglersView; });
  if (notices.empty()) return;
  page.Heading("notices");
  for (const report::NoticeRow& notice : notices) {
    page.Line(fmt::format("{}{}{}", notice.view, notice.view.empty() ? "" : ": ", notice.reason), 2, 2);
  }
}

}  // namespace

std::string RenderText(const report::Document& document, const TextOptions& options) {
  TextPage page(options);
  RunSection(document.run, page);
  if (document.summary) SummarySection(*document.summary, document.run, page);
  WriteIfAny(document.ranks, RanksSection, page);
  WriteIfAny(document.quality, QualitySection, page);
  WriteIfAny(document.kernels, KernelsSection, page);
  WriteIfAny(document.families, FamiliesSection, page);
  WriteIfAny(document.collectives, CollectivesSection, page);
  const report::Summary* summary = document.summary ? &*document.summary : nullptr;
  if (document.skew) SkewSection(*document.skew, summary, page);
  WriteIfAny(document.overlap, OverlapSection, page);
  WriteIfAny(document.imbalance, ImbalanceSection, page);
  WriteIfAny(document.tails, TailsSection, page);
  WriteIfAny(document.idle, IdleSection, page);
  WriteIfAny(document.host, HostSection, page);
  WriteIfAny(document.launches, LaunchesSection, page);
  WriteIfAny(document.nvtx, NvtxSection, page);
  WriteIfAny(document.memory, MemorySection, page);
  WriteIfAny(document.allocation, AllocationSection, page);
  WriteIfAny(document.steps, StepsSection, page);
  WriteIfAny(document.pace, PaceSection, page);
  WriteIfAny(document.clock, ClockSection, page);
  if (document.stragglers) StragglersSection(*document.stragglers, document.notices, summary, page);
  WriteIfAny(document.findings, FindingsSection, page);
  WriteIfAny(document.profile, ProfileSection, page);
  WriteIfAny(document.pictures, PicturesSection, page);
  NoticesSection(document.notices, document.stragglers.has_value(), page);
  return page.Take();
}

std::string RenderText(const Json& report, const TextOptions& options) {
  return RenderText(report::FromJson<report::Document>(report), options);
}

}  // namespace lockstep
