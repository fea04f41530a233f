// Who holds a communicator up, told without any clock: a cross-check of the propagated blame.
//
// Within one communicator and section every rank accumulates its own time (between instances, without its waits in
// other collectives; wait = duration - shortest duration of the instance). The frontier is the largest such sum after
// each instance; its increments telescope to that of the last one, and each increment beyond the members' mean is
// charged to the rank that leads. Durations only, so offsets, drift and bias of clocks change nothing. After
// StageFrontier (arXiv 2606.06751). Pure. Units: ns.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"

namespace lockstep {

struct FrontierSuspect {
  int32_t rank_index = -1;
  int64_t lead_ns = 0;  // sum of its increments of the frontier beyond the mean
};

// Of one communicator.
struct FrontierLeads {
  std::vector<FrontierSuspect> members;  // ascending; who never led has 0
  int64_t sections = 0;
};

// The section (step, or block of time) that an instance belongs to; instances of one follow each other.
using SectionOf = std::function<int64_t(const MatchedInstance&)>;

// By communicator; those without a usable instance are left out. Instances that are not all-pairs or lack a member are
// passed over.
[[nodiscard]] std::vector<FrontierLeads> MeasureFrontier(const ArrivalGraph& graph, const MatchResult& match,
                                                         const SectionOf& section_of);

enum class FrontierAnswer : uint8_t { kCannotTell = 0, kAgrees = 1, kDisagrees = 2 };
[[nodiscard]] std::string_view Name(FrontierAnswer answer);  // "cannot_tell" | "agrees" | "disagrees"

// Whether the frontier too says that these ranks hold the others up: they lead by more than their even part in the
// communicators that they share with others, beyond what chance explains. It disagrees if they lead by no more than
// that, and a rank that is not `excused` (named already; ascending) leads by more. Both ascending.
[[nodiscard]] FrontierAnswer AskFrontier(const std::vector<FrontierLeads>& leads,
                                         const std::vector<int32_t>& rank_indices, const std::vector<int32_t>& excused);

}  // namespace lockstep
