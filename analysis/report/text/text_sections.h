// One section of the text output per view. Each writes its heading and its content on the page; `view` is what the
// document holds under the view's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/rows/document.h"
#include "analysis/report/text/text_page.h"

namespace lockstep {

void RunSection(const report::Run& run, TextPage& page);
void SummarySection(const report::Summary& summary, const report::Run& run, TextPage& page);
void RanksSection(const std::vector<report::RankRow>& rows, TextPage& page);
void QualitySection(const report::Quality& quality, TextPage& page);
void KernelsSection(const std::vector<report::KernelRow>& rows, TextPage& page);
void FamiliesSection(const std::vector<report::FamilyRow>& rows, TextPage& page);
void CollectivesSection(const std::vector<report::CollectiveRow>& rows, TextPage& page);
// `summary`: what the page says of who is named; null where it says nothing.
void SkewSection(const report::Skew& skew, const report::Summary* summary, TextPage& page);
void OverlapSection(const std::vector<report::OverlapRow>& rows, TextPage& page);
void ImbalanceSection(const report::Imbalance& imbalance, TextPage& page);
// What the ranks are compared over, "over common steps: 57.2 ms from the run's start"; "" where there is nothing.
[[nodiscard]] std::string WindowText(const report::ImbalanceWindow& window);
void TailsSection(const std::vector<report::TailRow>& rows, TextPage& page);
void IdleSection(const std::vector<report::IdleRow>& rows, TextPage& page);
void HostSection(const std::vector<report::HostRow>& rows, TextPage& page);
void LaunchesSection(const std::vector<report::LaunchRow>& rows, TextPage& page);
void NvtxSection(const std::vector<report::RangeRow>& rows, TextPage& page);
void MemorySection(const std::vector<report::MemoryRow>& rows, TextPage& page);
void AllocationSection(const std::vector<report::AllocationRow>& rows, TextPage& page);
void StepsSection(const std::vector<report::StepRow>& rows, TextPage& page);
void PaceSection(const report::Pace& pace, TextPage& page);
void ClockSection(const report::Clock& clock, TextPage& page);
// With its notices, which say why nothing could be decided.
inline constexpr std::string_view kStragglersView = "stragglers";
void StragglersSection(const std::vector<report::StragglerRow>& rows, const std::vector<report::NoticeRow>& notices,
                       const report::Summary* summary, TextPage& page);
void FindingsSection(const std::vector<report::FindingRow>& rows, TextPage& page);
void ProfileSection(const report::Profile& profile, TextPage& page);
void PicturesSection(const report::Pictures& pictures, TextPage& page);

}  // namespace lockstep
