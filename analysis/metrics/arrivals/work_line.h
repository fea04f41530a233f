// How far a rank's own work has come at the start and the end of each of its collectives.
//
// A rank's own work is all that its device does but stand still for communication: compute, copies, and the gaps in
// which it waits for its host. It stands still in a stretch without compute in which communication is under way, until
// the last end of communication in that stretch. What ends there is joined: what comes next has waited for it.
// Communication that ends while compute runs, or while the work stands still for longer, is not. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lockstep {

// One instance of a rank.
struct CommunicationRow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // Compute beside it: (gap from the previous end, length), the first gap from the start.
  std::span<const std::pair<int64_t, int64_t>> cover;
};

struct WorkAt {
  int64_t start_ns = 0;  // own work from the first row's start to this one's
  int64_t end_ns = 0;    // the same up to its end
  bool stands = false;   // the work stood still already when the row started
  bool joined = false;   // the work stood still until its end
};

// Rows in order of start. As many results, in that order.
[[nodiscard]] std::vector<WorkAt> WorkLine(const std::vector<CommunicationRow>& rows);

}  // namespace lockstep
