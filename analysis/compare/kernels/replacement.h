// Whether a kernel may have taken the place of another one whose name it does not have. Inside of this room. Pure.
#pragma once

#include <cstddef>

#include "analysis/compare/kernels/match_state.h"
#include "analysis/compare/kernels/surroundings.h"

namespace lockstep::compare {

// As often, about as long, the same role, and no other operation. Of roles with many small kernels, of which a removed
// and an added one easily have the same place, the names must have a word in common.
[[nodiscard]] bool MayReplace(const MatchState& state, const Surroundings& around, size_t b, size_t a);

// Stricter in what they are: with half of their words in common, or of one family that says what its kernels do.
[[nodiscard]] bool DoesTheSame(const MatchState& state, const Surroundings& around, size_t b, size_t a);

// Whether less than half of their words are common ones, but some are: one may be a fused kernel with another part.
[[nodiscard]] bool HaveLittleInCommon(const KernelIdentity& before, const KernelIdentity& after);

// Whether both are of one family that says by itself what they do, and not by the argument of a template.
[[nodiscard]] bool AreOfOneFamily(const MatchSide& side, size_t i, const MatchSide& other_side, size_t j);

}  // namespace lockstep::compare
