// Several runs in one input: how the sources fall apart into groups that can each be one run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// One source as the grouping sees it.
struct GroupCandidate {
  size_t source = 0;
  std::optional<int32_t> rank;   // as claimed
  std::optional<int32_t> world;  // number of ranks of the job that its trace states, if that can be so
};

// World sizes claimed, ascending, each once.
[[nodiscard]] std::vector<int32_t> ClaimedWorldSizes(const std::vector<GroupCandidate>& candidates);

// Why the candidates cannot be one run: contradicting world sizes, or a rank beyond the world size another file states.
// Empty if nothing speaks against it.
[[nodiscard]] std::string WorldSizeContradiction(const RunData& run, const std::vector<GroupCandidate>& candidates);

// Of traces each of whose ranks occurs several times at one time: what that says of them.
[[nodiscard]] std::string EveryRankRepeats(const std::vector<GroupCandidate>& candidates);

// Whether the candidates are the ranks of one run whatever their clocks say: no rank occurs twice, and together they
// are all ranks of the world that the files state, or as many as the person expects.
[[nodiscard]] bool ComplementEachOther(const RunData& run, const std::vector<GroupCandidate>& candidates,
                                       const AnalysisOptions& options);

// Why the candidates share no common time: their windows on the Unix clock fall into several clusters more than a
// second apart (clocks of hosts are claims, never better than that). Empty if they form one.
[[nodiscard]] std::string NoCommonTime(const RunData& run, const std::vector<GroupCandidate>& candidates);

// The longest time between windows during which no candidate is active; 0 if they form one cluster.
[[nodiscard]] int64_t LargestGapNs(const RunData& run, const std::vector<GroupCandidate>& candidates);

// Groups of sources that can be one run: whole files, overlapping in time, agreeing in world size, no rank twice.
// Ordered by the natural order of their first path.
[[nodiscard]] std::vector<std::vector<size_t>> GroupSources(const RunData& run,
                                                            const std::vector<GroupCandidate>& candidates);

}  // namespace lockstep
