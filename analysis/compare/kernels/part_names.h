// Whether the name of one kernel names another one as a part of it. Inside of this room. Pure and thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/compare/kernels/kernel_identity.h"

namespace lockstep::compare {

// Most of the part's operations are in the name of the whole. A product is named by its variant, so that the whole only
// has to say that it is one, too.
[[nodiscard]] bool NamesPart(const KernelIdentity& part, const KernelIdentity& whole);

// Some of the part's operations are in the name of the whole.
[[nodiscard]] bool NamesSome(const KernelIdentity& part, const KernelIdentity& whole);

// Whether one has all operations of the other and further ones: it is that one fused with something.
[[nodiscard]] bool NamesMore(const KernelIdentity& more, const KernelIdentity& less);

// The words of the whole that its parts do not explain. A word that the whole has twice is explained by two parts, or
// by one that has it twice, too.
[[nodiscard]] std::vector<std::string> WordsLeft(const KernelIdentity& whole,
                                                 const std::vector<const KernelIdentity*>& parts);

}  // namespace lockstep::compare
