// RenderText: the report document for people. What is shown, and in which words, is decided in text_<view>.cc.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "analysis/report/json.h"
#include "analysis/report/text/text_page.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

struct Section {
  std::string_view view;
  void (*write)(const Json& view, TextPage& page);
};

constexpr std::array<Section, 20> kSections = {{{"ranks", RanksSection},
                                                {"quality", QualitySection},
                                                {"kernels", KernelsSection},
                                                {"families", FamiliesSection},
                                                {"collectives", CollectivesSection},
                                                {"skew", SkewSection},
                                                {"overlap", OverlapSection},
                                                {"imbalance", ImbalanceSection},
                                                {"tails", TailsSection},
                                                {"idle", IdleSection},
                                                {"host", HostSection},
                                                {"launches", LaunchesSection},
                                                {"nvtx", NvtxSection},
                                                {"memory", MemorySection},
                                                {"allocation", AllocationSection},
                                                {"steps", StepsSection},
                                                {"pace", PaceSection},
                                                {"clock", ClockSection},
                                                {"stragglers", StragglersSection},
                                                {"findings", FindingsSection}}};

void NoticesSection(const Json& notices, TextPage& page) {
  if (notices.empty()) return;
  page.Heading("notices");
  for (const Json& notice : notices) {
    const std::string& view = TextOf(FieldOf(notice, "view"));
    page.Line(fmt::format("{}{}{}", view, view.empty() ? "" : ": ", TextOf(FieldOf(notice, "reason"))), 2, 2);
  }
}

}  // namespace

std::string RenderText(const Json& report, const TextOptions& options) {
  TextPage page(options);
  RunSection(report, page);
  if (HasContent(FieldOf(report, "summary"))) SummarySection(report, page);
  for (const Section& section : kSections) {
    const Json& view = FieldOf(report, section.view);
    if (!view.is_null()) section.write(view, page);
  }
  NoticesSection(ListOf(report, "notices"), page);
  return page.Take();
}

}  // namespace lockstep
