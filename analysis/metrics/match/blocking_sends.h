// Senders that wait for their receivers. A small message is sent once it lies in the receiver's buffers; a large one
// fills them, and its send does not end before the receiver has come. No trace tells which of the two it is.
//
// The last of a pair to start waits for nobody, so it takes as long as a transfer does. A receiver that comes later
// than that after its sender finds the send done, unless it blocks. The pairs of one sender, receiver and size block if
// several of them show that, and none shows the contrary. Where none shows either, it is not known whether a sender
// waited until its receiver came. docs/algorithms/collectives.md. Pure.
#pragma once

#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// `joined`: instances of one communicator, aligned. Sets JoinedInstance::send_end of its pairs.
void FindBlockingSends(const ClockModel& clock, std::vector<JoinedInstance>& joined);

}  // namespace lockstep
