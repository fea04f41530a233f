// The fields of every view, in the order of the document: one function per view. Row views give the type of one row.
#pragma once

#include "analysis/model/instance_row.h"
#include "analysis/report/report.h"

namespace lockstep::schema {

[[nodiscard]] Json Percentiles();
[[nodiscard]] Json NoticeRow();
[[nodiscard]] Json Run();
[[nodiscard]] Json Summary();
[[nodiscard]] Json CulpritRow();
[[nodiscard]] Json RankRow();
[[nodiscard]] Json Quality();
[[nodiscard]] Json GateRow();
[[nodiscard]] Json KernelRow();
[[nodiscard]] Json FamilyRow();
[[nodiscard]] Json CollectiveRow();
[[nodiscard]] Json Skew();
[[nodiscard]] Json SkewRankRow();
[[nodiscard]] Json InstanceRow();
[[nodiscard]] Json MemberRow();
[[nodiscard]] Json OverlapRow();
[[nodiscard]] Json Imbalance();
[[nodiscard]] Json QuantityRow();
[[nodiscard]] Json TailRow();
[[nodiscard]] Json IdleRow();
[[nodiscard]] Json HostRow();
[[nodiscard]] Json LaunchRow();
[[nodiscard]] Json NvtxRow();
[[nodiscard]] Json MemoryRow();
[[nodiscard]] Json AllocationRow();
[[nodiscard]] Json StepRow();
[[nodiscard]] Json Pace();
[[nodiscard]] Json PaceRankRow();
[[nodiscard]] Json Clock();
[[nodiscard]] Json ClockHostRow();
[[nodiscard]] Json StragglerRow();
[[nodiscard]] Json FindingRow();

}  // namespace lockstep::schema
