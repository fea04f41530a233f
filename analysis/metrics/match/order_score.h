// Joining by order: which shift of one rank's sequence of instances against another's is right, and how sure that is.
//
// On one clock a shift is scored by how closely the ends of the paired instances coincide, around a centre that may
// only be a bias between the devices of a session (+-15 us, as measured on real ones): score = median |end_b - end_a -
// centre|, never below a tick. The right shift is certified by the common points of its pairs, not by the score; the
// score says how much worse the neighbours are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/metrics/match/collective_rows.h"

namespace lockstep {

struct OrderedInstance {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool binding = true;  // an all-pairs operation (or one that may be): the pair must have a common point
};

enum class PairRelation : uint8_t {
  kCommonPoint = 0,    // binding pairs share an instant
  kSendToReceive = 1,  // the receive (b) cannot end before the send (a) has started
};

struct ShiftVerdict {
  int64_t shift = 0;  // instance i of a belongs to instance i + shift of b
  int64_t pairs = 0;
  double common_rate = 0;       // share of binding pairs that keep the relation; 1 if there are none
  int64_t end_residual_ns = 0;  // median |end_b - end_a|
  // n ln(score2 / score1) over the neighbouring shifts; null if there is no other shift to compare with.
  std::optional<double> exponent;
  bool constant_offset = false;  // the ends keep a constant distance no clock bias explains: two clocks
};

// Both in order of start, not empty. `tick_ns`: the coarser resolution of the two.
[[nodiscard]] ShiftVerdict FindShift(const std::vector<OrderedInstance>& a, const std::vector<OrderedInstance>& b,
                                     PairRelation relation, int64_t tick_ns);

inline constexpr double kMinCommonRate = 0.99;
inline constexpr double kMinExponent = 5;
inline constexpr int64_t kMaxClockBiasNs = 15'000;
inline constexpr int64_t kMaxBiasDifferenceNs = 2 * kMaxClockBiasNs;  // between two devices of one clock
inline constexpr int64_t kMaxEndResidualNs = 50'000;                  // of ends on one clock, their median distance
inline constexpr int64_t kInDomainUncertaintyNs = 20'000;             // devices of one session differ by as much

// Across clocks only what the instances are can be compared: operation, type, bytes and step, unknown parts agreeing
// with anything.
struct SignatureVerdict {
  bool agrees = false;
  bool unique = false;  // no other shift in reach agrees
  int64_t shift = 0;
};
[[nodiscard]] SignatureVerdict FindSignatureShift(const std::vector<const CollectiveRow*>& a,
                                                  const std::vector<const CollectiveRow*>& b);

// Operations that two traces of one instance may show: equal, or one of them does not tell.
[[nodiscard]] bool Compatible(CollectiveOp a, CollectiveOp b);

// Each member sends and receives bytes of its own, and ends when it is done with them.
[[nodiscard]] bool MovesUnevenly(CollectiveOp op);

// Operation, type and bytes agree where both rows tell them; the step too if asked. Steps are each source's own count.
[[nodiscard]] bool SameSignature(const CollectiveRow& a, const CollectiveRow& b, bool with_step);

}  // namespace lockstep
