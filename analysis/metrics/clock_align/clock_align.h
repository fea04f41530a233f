// Clock alignment from collectives alone: offset and drift of every clock domain, bias of every device inside its
// domain, with certified bands and honest uncertainty.
//
// A collective tells about clocks what its operation guarantees: a member cannot end before those it depends on have
// started. Between two domains every matched instance bounds the difference of their offsets from one or from both
// sides. Method and sources: docs/algorithms/clocks.md. Pure; deterministic whatever the executor. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/model/run_data.h"

namespace lockstep {

enum class ClockRelation : uint8_t {
  kAllPairs = 0,  // every member depends on every other one
  kOneWay = 1,    // each later member depends on the first one (broadcast's root, a send); nothing else is certain
  kToOne = 2,     // the first member depends on every later one (reduce's root)
};

struct ClockMember {
  int32_t rank_index = 0;
  int64_t start_ns = 0;  // LocalTime
  int64_t end_ns = 0;
};

struct ClockInstance {
  uint32_t first_member = 0;  // into ClockInput::members
  uint32_t members = 0;
  ClockRelation relation = ClockRelation::kAllPairs;
  // Instances of one class (communicator, operation, bytes) behave alike: their end spreads are comparable.
  uint32_t cls = 0;
  // Each member ends with its own volume (uneven exchanges): what depends on whom holds, but ends are not comparable.
  bool own_ends = false;
};

struct ClockInput {
  std::vector<int32_t> domain;           // per rank index, dense
  std::vector<int64_t> tick_ns;          // per rank index
  std::vector<ClockMember> members;      // flattened, by instance
  std::vector<ClockInstance> instances;  // confidently matched ones, in any order
  size_t most_pair_ends = SIZE_MAX;      // of two devices of a domain: more are thinned evenly
};

// What the alignment thinks of single instances: those whose constraints contradict the rest.
struct ClockSolution {
  ClockModel model;
  std::vector<uint32_t> suspicious;  // indices of instances that were removed: wrong matches, or damaged times
};

[[nodiscard]] ClockSolution AlignClocks(const ClockInput& input, Executor& executor);

}  // namespace lockstep
