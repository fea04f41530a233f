// One section of the text output per view. Each writes its heading and its content on the page; `view` is what the
// document holds under the view's name.
#pragma once

#include "analysis/report/report.h"
#include "analysis/report/text/text_page.h"

namespace lockstep {

void RunSection(const Json& report, TextPage& page);
void SummarySection(const Json& report, TextPage& page);
void RanksSection(const Json& view, TextPage& page);
void QualitySection(const Json& view, TextPage& page);
void KernelsSection(const Json& view, TextPage& page);
void FamiliesSection(const Json& view, TextPage& page);
void CollectivesSection(const Json& view, TextPage& page);
void SkewSection(const Json& view, TextPage& page);
void OverlapSection(const Json& view, TextPage& page);
void ImbalanceSection(const Json& view, TextPage& page);
void TailsSection(const Json& view, TextPage& page);
void IdleSection(const Json& view, TextPage& page);
void HostSection(const Json& view, TextPage& page);
void LaunchesSection(const Json& view, TextPage& page);
void NvtxSection(const Json& view, TextPage& page);
void MemorySection(const Json& view, TextPage& page);
void AllocationSection(const Json& view, TextPage& page);
void StepsSection(const Json& view, TextPage& page);
void PaceSection(const Json& view, TextPage& page);
void ClockSection(const Json& view, TextPage& page);
void StragglersSection(const Json& view, TextPage& page);
void FindingsSection(const Json& view, TextPage& page);

}  // namespace lockstep
