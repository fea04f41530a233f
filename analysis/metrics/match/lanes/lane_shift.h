// The offset between two clocks, from the ends of two lanes that take part in the same collectives: no ids, no order.
//
// Candidate offsets pair one event of a with every event of b in reach. From each candidate the lanes are walked
// outwards, the nearest end of b sought for every end of a, the drift followed. Collectives synchronise their members,
// so at the right offset the jitter between successive ends is common to both lanes and cancels; at a wrong one it does
// not, however periodic the lanes are. A loss of lock is followed by a new search nearby: a clock that was stepped.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/metrics/match/lanes/end_wander.h"
#include "analysis/model/collective.h"

namespace lockstep {

struct LaneEvent {
  int64_t start_ns = 0;  // on the clock of its domain
  int64_t end_ns = 0;
  uint32_t kind = 0;  // events of different kinds never belong together
  // What has been taken off both times to have them on a common clock.
  int64_t moved_ns = 0;
};

struct OffsetKnot {
  int64_t t_ns = 0;       // on the clock of a
  int64_t offset_ns = 0;  // a - b
};

struct LaneShift {
  std::vector<OffsetKnot> knots;  // ascending in t; two of equal t: a jump
  int64_t pairs = 0;              // ends of a compared
  int64_t deviation_ns = 0;       // median distance of the nearest ends
  double common_rate = 0;         // share of the close pairs that have a common point
  double coverage = 0;            // share of the ends of a, while b runs, that have a close one in b
  double exponent = 0;            // n_eff ln(second deviation / deviation)
  size_t jumps = 0;               // how often the offset had to be sought anew
  bool accepted = false;
  // The distance of the ends wanders: each pair adds to that of the one before. Members of one collective end together
  // anew each time; lanes that only run in lockstep drift apart and back.
  bool wanders = false;
  EndWander end_wander;  // the same from one pair to the next: several lanes of one communicator tell it together
};

struct ShiftQuestion {
  int64_t expected_ns = 0;  // a - b as the sources claim ...
  int64_t reach_ns = 0;     // ... and how far that may be wrong
  int64_t tick_ns = 32;
  // Both lanes certainly are of one communicator: short ones are enough if every event of both is paired.
  bool sole = false;
  int64_t cap_ns = 0;  // the larger CapOf of the lanes where it is known already
};

// Both in order of end. The best offset found, accepted or not; null when there is nothing to compare.
[[nodiscard]] std::optional<LaneShift> FindLaneShift(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                                     const ShiftQuestion& question);

struct LaneQuestion {
  int64_t uncertainty_ns = 0;  // how far the clock may be off
  size_t sample = 0;           // ends of a that are looked at, at most, spread over the lane
  bool one_clock = false;      // only a bias of their devices lies between the lanes, which is looked for first
  bool wander = true;          // whether the distance of the ends wanders is asked as well,
  bool end_wander = true;      // ... and whether it does from one pair to the next
  int64_t cap_ns = 0;          // the larger CapOf of the lanes where it is known already
};

// How two lanes lie against each other on one clock. The deviation is that of the kind whose ends lie closest: those of
// an uneven exchange may scatter in one lane with others that do not. exponent and accepted are not filled, wanders
// only here.
[[nodiscard]] std::optional<LaneShift> CompareLanes(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                                    const LaneQuestion& question);

// A quarter of the usual distance between ends: what chance gives.
[[nodiscard]] int64_t CapOf(const std::vector<LaneEvent>& lane);

}  // namespace lockstep
