// The answer in words: slower or faster, by how much, how sure that is, and what it is made of. Pure, thread safe.
#pragma once

#include "analysis/compare/rows/comparison.h"

namespace lockstep::compare {

// Of a document that has everything else.
[[nodiscard]] report::ComparisonHeadline HeadlineOf(const report::ComparisonDocument& document);

}  // namespace lockstep::compare
