// The whole document "lockstep.report/1". Its table names every view of the report, in the order of the document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/clock.h"
#include "analysis/report/rows/collectives.h"
#include "analysis/report/rows/findings.h"
#include "analysis/report/rows/host.h"
#include "analysis/report/rows/idle.h"
#include "analysis/report/rows/imbalance.h"
#include "analysis/report/rows/kernels.h"
#include "analysis/report/rows/memory.h"
#include "analysis/report/rows/overlap.h"
#include "analysis/report/rows/pace.h"
#include "analysis/report/rows/pictures.h"
#include "analysis/report/rows/profile.h"
#include "analysis/report/rows/quality.h"
#include "analysis/report/rows/ranks.h"
#include "analysis/report/rows/run.h"
#include "analysis/report/rows/steps.h"
#include "analysis/report/rows/stragglers.h"
#include "analysis/report/rows/summary.h"

namespace lockstep::report {

inline constexpr std::string_view kReportSchema = "lockstep.report/1";

// Only the views asked for are there.
struct Document {
  std::string schema = std::string(kReportSchema);
  std::vector<NoticeRow> notices;
  Run run;
  std::optional<Summary> summary;
  std::optional<std::vector<RankRow>> ranks;
  std::optional<Quality> quality;
  std::optional<std::vector<KernelRow>> kernels;
  std::optional<std::vector<FamilyRow>> families;
  std::optional<std::vector<CollectiveRow>> collectives;
  std::optional<Skew> skew;
  std::optional<std::vector<OverlapRow>> overlap;
  std::optional<Imbalance> imbalance;
  std::optional<std::vector<TailRow>> tails;
  std::optional<std::vector<IdleRow>> idle;
  std::optional<std::vector<HostRow>> host;
  std::optional<std::vector<LaunchRow>> launches;
  std::optional<std::vector<RangeRow>> nvtx;
  std::optional<std::vector<MemoryRow>> memory;
  std::optional<std::vector<AllocationRow>> allocation;
  std::optional<std::vector<StepRow>> steps;
  std::optional<Pace> pace;
  std::optional<Clock> clock;
  std::optional<std::vector<StragglerRow>> stragglers;
  std::optional<std::vector<FindingRow>> findings;
  std::optional<Profile> profile;
  std::optional<Pictures> pictures;

  static const Record& Fields();
};

}  // namespace lockstep::report
