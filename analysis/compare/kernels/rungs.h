// The rungs of the ladder of kernel_matches.h, strongest first. Each takes unmatched kernels only and adds matches.
// Inside of this room. Pure.
#pragma once

#include <absl/status/statusor.h>

#include <vector>

#include "analysis/compare/kernels/match_state.h"

namespace lockstep::compare {

// Returns the lines of the map that matched nothing.
[[nodiscard]] absl::StatusOr<std::vector<size_t>> MatchByMap(const KernelMap& map, MatchState& state);
void MatchByExactName(MatchState& state);
void MatchByDemangledName(MatchState& state);
// same_place: only kernels between the same neighbours, where places are known. Others are looked at after the fused
// ones, of which they may be a part.
void MatchByBaseName(MatchState& state, bool same_place);
// Kernels whose operations are in the name of one unmatched kernel at the same place: fused or split.
void MatchFusedAndSplit(MatchState& state);
void MatchByRange(MatchState& state);
void MatchTunerVariants(MatchState& state);
void MatchByPosition(MatchState& state);

}  // namespace lockstep::compare
