// A first idea of the clocks where no ids connect them: good enough to join by time, refined by the clock alignment.
//
// Domains are placed one after the other against those that have been, through the offset of two lanes that may share
// a communicator (lane_shift.h), within 50 ms of what the sources claim, else within 5 s. What an alignment has already
// connected stays connected. Of many domains only those are compared that a first look (common_marks.h) does not
// exclude.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/lanes/lane_shift.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// Rows of one rank that may be of one communicator.
struct RankLane {
  int32_t rank_index = 0;
  // Lanes of different classes never share a communicator.
  uint64_t cls = 0;
  // Position of the rank in its domain: lanes of equal position are the likeliest partners.
  int32_t position = 0;
  bool told = false;  // the class is a communicator that the traces tell: any lane serves as well as another
  // All lanes of the class are of one communicator: told, or the whole known world with one lane a rank. Then nothing
  // that runs in lockstep can be taken for it.
  bool sole = false;
  int64_t tick_ns = 32;
  std::vector<LaneEvent> events;  // in order of end
};

// `model`: the ranks' domains, and what is known of their clocks so far.
[[nodiscard]] ClockModel FindCoarseClocks(const std::vector<RankLane>& lanes, const ClockModel& model, size_t ranks,
                                          Executor& executor);

}  // namespace lockstep
