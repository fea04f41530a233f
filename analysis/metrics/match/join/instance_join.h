// The instances of one communicator, joined across its ranks.
//
// By id where all ranks carry the same kind of id: comms id, else (sequence number, operation). A join by id is
// accepted with confidence 1 if data types and bytes agree in every instance and the common-point rate of the members
// that share a clock is >= 0.999; else the whole communicator is joined by order.
//
// By order: the k-th instance of the communicator on every rank if all ranks show the same operations in the same
// order, else the k-th of every operation. In a clock domain every rank is compared with the lowest one
// (order_score.h). Between domains signatures are compared (operation, type, bytes and step): an agreeing shift counts
// only if no neighbouring shift agrees too, and if the distances of successive ends agree with it.
//
// By time, where the order is broken on some rank or the signatures do not tell: timed_join.h, on the clocks as far as
// they are known. Operations whose ends need not coincide (broadcast, reduce) are joined by order between those that
// do. Point-to-point kernels are joined per (sender, receiver).
//
// The confidence of an order join is the worst of its parts: 1 - exp(-exponent) of each rank in its domain, and
// kSignatureConfidence where several domains were aligned by signature. That of a join by time is 1 - exp(-exponent) of
// the whole, times the instance's own.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/certificate.h"
#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/communicators.h"
#include "analysis/metrics/match/match.h"

namespace lockstep {

inline constexpr double kSignatureConfidence = 0.999;
inline constexpr double kAmbiguousConfidence = 0.98;  // upper limit for what is not certain enough to count

// The root of a rooted operation where it is no rank index.
inline constexpr int32_t kNoRoot = -1;            // not known, or there is none
inline constexpr int32_t kRootWithoutTrace = -2;  // told, but its rank is not among the traces

// When a send ends: once its message is stored, or not before its receiver has come.
enum class SendEnd : uint8_t { kUnknown, kWhenStored, kAfterReceiver };

// A joined instance before the words of its arrival are computed.
struct JoinedInstance {
  MatchedInstance instance;
  int32_t sender = -1;  // rank indices of a point-to-point pair; -1 otherwise
  int32_t receiver = -1;
  SendEnd send_end = SendEnd::kUnknown;  // of a pair (blocking_sends.h)
  bool pair = false;                     // of two members, whatever the size of the communicator
  int32_t root = kNoRoot;                // rank index of the root of a rooted operation
  // Among the communicator's instances, in the order in which they were joined: of those joined by id, that of the ids.
  size_t place = SIZE_MAX;
  bool by_order = false;  // its rows were joined by their order beside instances that all members have (sparse_join.h)
  bool sparse = false;    // an uneven exchange in which not every member awaited every other one (sparse_exchange.h)
  // Of a rooted operation: a member that takes longer has waited for somebody, whatever its role (roots.h).
  int64_t takes_at_most_ns = INT64_MAX;
  // Where a member has no record: what it takes by itself in any case (least_durations.h).
  int64_t takes_at_least_ns = 0;
};

struct CommunicatorJoin {
  std::vector<JoinedInstance> instances;  // every row of the communicator is in exactly one
  std::vector<ClockEvidence> evidence;
  bool settled = false;  // by id, or by an order that every rank keeps: better clocks would change nothing
};

struct JoinInput {
  const CommunicatorPlan& plan;
  uint32_t communicator = 0;  // index that the instances get
  const RankResolution& ranks;
  const std::vector<RankRows>& rows;
  const std::vector<int32_t>& domain;  // per rank index
  const ClockModel& clock;             // what is known of the clocks so far; ranks of one component are comparable
  bool domains_known = false;          // no evidence about them is asked for
};

// Whether enough is known of the members to join anything; else every row is in an instance of its own, and unsettled.
[[nodiscard]] bool CanJoin(const CommunicatorPlan& plan);

[[nodiscard]] CommunicatorJoin JoinInstances(const JoinInput& input);

}  // namespace lockstep
