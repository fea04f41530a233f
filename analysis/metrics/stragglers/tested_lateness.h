// What is late and how surely, before it is known what that costs: needs neither a replay nor blame. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/judge.h"
#include "analysis/metrics/stragglers/own_time.h"

namespace lockstep {

struct TestedLateness {
  TestUnits units;
  std::vector<RankOwnTime> own;  // by rank index; empty without units
  std::vector<Candidate> candidates;
  std::vector<Judgement> judgements;  // of the candidates
};

// `layout`: --layout; "" = infer rails and stages from the communicators where they tell.
[[nodiscard]] TestedLateness TestLateness(const RankResolution& ranks, const MatchResult& match,
                                          const ArrivalGraph& graph, std::string_view layout);

}  // namespace lockstep
