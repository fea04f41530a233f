// Why each arrival was late: the exact integer decomposition of lateness into carry-in and parts.
//
//   m * lateness_q = [m * end_{q,k'} - sum_j end_{j,k'}] + sum over parts of (m * G_q - sum_j G_j)
// over the members present of an instance k, k' the last instance of the communicator that they share (of two members:
// that both took part in), G the parts of the segments between. Exact in int64: the parts sum to the lateness. A member
// that lacks k' or has no segment is not told: it stands for the mean of the others and what it differs is its rest.
// With fewer than two told members, or fewer than half, an instance is not decomposed. Boehme et al., TOPC 2016;
// docs/algorithms/causes.md. Units: ns times m. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"

namespace lockstep {

enum class LatenessPart : uint8_t {
  kCarryIn = 0,  // it was late already when the previous instance of the communicator ended
  kCompute = 1,
  kCopy = 2,
  kWait = 3,      // in other collectives, before their last arrival
  kTransfer = 4,  // in other collectives, after their last arrival, and in those that cannot be split
  kHost = 5,      // the launch call came after the device had finished
  kLaunch = 6,
  kDependency = 7,
  kRest = 8,
};
inline constexpr size_t kLatenessParts = 9;
[[nodiscard]] std::string_view Name(LatenessPart part);  // "carry_in" | "compute" | ...

struct MemberLateness {
  int32_t rank_index = 0;
  int64_t row = 0;
  bool told = false;
  int64_t lateness_times_m_ns = 0;
  std::array<int64_t, kLatenessParts> times_m_ns{};  // sums to lateness_times_m_ns
};

struct InstanceLateness {
  bool decomposed = false;
  std::vector<MemberLateness> members;  // parallel to MatchedInstance::members
};

[[nodiscard]] InstanceLateness DecomposeLateness(const ArrivalGraph& graph, const MatchResult& match,
                                                 uint32_t instance);

}  // namespace lockstep
