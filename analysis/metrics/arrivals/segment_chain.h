// Segments as they came from the node made to begin where the arrival graph says: at the end of the rank's previous
// instance of the same matched communicator.
//
// A source that does not tell communicators keeps one segment chain for all of its instances, so that a segment begins
// at the end of whatever collective came before. Such segments are put together: what lies between is the chain's own
// segments, and the instances between them become tiles. Also throws out what does not tile. Pure. Local ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/model/instance_row.h"

namespace lockstep {

// Sum of all parts.
[[nodiscard]] int64_t PartsOf(const Segment& segment);

// `communicator`: the source's own communicator of every row. Nodes whose segment cannot be told lose it.
void ChainSegments(const std::vector<uint32_t>& communicator, std::vector<ArrivalNode>& nodes);

}  // namespace lockstep
