// The instances of one communicator, joined across its ranks.
//
// By id where all ranks carry the same kind of id: comms id, else (sequence number, operation). A join by id is
// accepted with confidence 1 if data types and bytes agree in every instance and the common-point rate of the members
// that share a clock is >= 0.999; else the whole communicator is joined by order.
//
// By order: the k-th instance of the communicator on every rank if all ranks show the same operations in the same
// order, else the k-th of every operation. In a clock domain every rank is compared with the lowest one
// (order_score.h); a rank that does not fit is left out of the join. Between domains only signatures are compared
// (operation, type, bytes and step): no time difference is used; an agreeing shift counts only if no neighbouring shift
// agrees too. Point-to-point kernels are joined by order per (sender, receiver).
//
// The confidence of an order join is the worst of its parts: 1 - exp(-exponent) of each rank in its domain, and
// kSignatureConfidence where several domains were aligned by signature.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/certificate.h"
#include "analysis/metrics/collective_rows.h"
#include "analysis/metrics/communicators.h"
#include "analysis/metrics/match.h"

namespace lockstep {

inline constexpr double kSignatureConfidence = 0.999;
inline constexpr double kAmbiguousConfidence = 0.98;  // upper limit for what is not certain enough to count

// A joined instance before the words of its arrival are computed.
struct JoinedInstance {
  MatchedInstance instance;
  int32_t sender = -1;  // rank indices of a point-to-point pair; -1 otherwise
  int32_t receiver = -1;
  int32_t root = -1;  // rank index of the root of a rooted operation, -1 = unknown or none
};

struct CommunicatorJoin {
  std::vector<JoinedInstance> instances;  // every row of the communicator is in exactly one
  std::vector<ClockEvidence> evidence;
};

struct JoinInput {
  const CommunicatorPlan& plan;
  uint32_t communicator = 0;  // index that the instances get
  const RankResolution& ranks;
  const std::vector<RankRows>& rows;
  const std::vector<int32_t>& domain;  // per rank index
};

[[nodiscard]] CommunicatorJoin JoinInstances(const JoinInput& input);

}  // namespace lockstep
