// The selected ranks of a run and what the person restricted: what every metric of this folder is a function of.
//
// Rows of a source hold its own times (LocalTime, ns); what is compared between ranks is moved onto the aligned axis by
// the clock model of the matching, and back onto each rank's clock where its rows are summed.
// Thread rule: a plain value that borrows the run; the run, the resolution and the match must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/fleet/asked_ranges.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct FleetRank {
  size_t index = 0;  // into RankResolution::ranks
  int32_t rank = -1;
  std::string host;    // "" = unknown
  int32_t domain = 0;  // as the matching confirmed or split it
  const SourceData* source = nullptr;
};

struct Fleet {
  const RunData& run;
  const RankResolution& ranks;
  const RunMatch& match;
  const AnalysisOptions& options;
  int64_t run_start_ns = 0;        // aligned: earliest device activity of the run
  std::vector<FleetRank> members;  // selected ranks, ascending
  AskedRanges ranges = {};         // of --nvtx

  // Between a rank's own clock and the aligned axis of its component. Absurd times are clamped, nothing overflows.
  [[nodiscard]] int64_t ToAligned(const FleetRank& member, int64_t local_ns) const;
  [[nodiscard]] int64_t ToLocal(const FleetRank& member, int64_t aligned_ns) const;
  // Time of an event of a rank relative to the run's start, as the report shows it.
  [[nodiscard]] int64_t SinceStart(const FleetRank& member, int64_t local_ns) const;

  // The time selection on the aligned axis, and on a rank's own clock; null when none was asked for.
  [[nodiscard]] std::optional<std::pair<int64_t, int64_t>> TimeWindow() const;
  [[nodiscard]] std::optional<std::pair<int64_t, int64_t>> TimeWindowOf(const FleetRank& member) const;
  // Steps are selected by --steps or by the name of their range (--nvtx).
  [[nodiscard]] bool SelectsSteps() const { return options.steps.has_value() || !options.nvtx.empty(); }
  [[nodiscard]] bool SelectsStep(const StepRow& row) const;
  [[nodiscard]] bool Restricted() const { return SelectsSteps() || options.time_ns.has_value(); }
  // The tables hold what was asked for exactly, because the files were condensed with the selection.
  [[nodiscard]] bool TablesSelected() const;
  // The tables are of whole captures, or cut by slices, where less was asked for.
  [[nodiscard]] bool TablesTooWide() const { return Restricted() && !TablesSelected(); }
  // Distinct clock domains among the members.
  [[nodiscard]] size_t Domains() const;
  // Distinct clock components among the members: between them times are only the sources' UTC claims.
  [[nodiscard]] size_t Components() const;
};

// Ranks that pass --ranks; an empty list means all.
[[nodiscard]] std::vector<bool> SelectedRanks(const RankResolution& ranks, const AnalysisOptions& options);

// Earliest start and latest end of device activity over the analysed sources, on the aligned axis; sources without
// activity do not count.
struct RunSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
[[nodiscard]] RunSpan SpanOf(const RunData& run, const RankResolution& ranks, const ClockModel& clock);

[[nodiscard]] Fleet MakeFleet(const RunData& run, const RankResolution& ranks, const RunMatch& match,
                              const AnalysisOptions& options);

// Whether a source has any device activity; its span is meaningless otherwise.
[[nodiscard]] bool HasActivity(const SourceContext& context);

// Largest multiple of `width` that is <= time, as an index; width > 0. Correct for negative times.
[[nodiscard]] int64_t FloorIndex(int64_t time_ns, int64_t width_ns);

// Where a cell of a grid starts; indices of absurd times are clamped, never trusted. width > 0.
[[nodiscard]] int64_t GridTime(int64_t index, int64_t width_ns);

// The name behind an index of RunData::names; "" for kNoId or an index out of range (never trusted).
[[nodiscard]] const std::string& NameOf(const RunData& run, uint32_t name);

}  // namespace lockstep
