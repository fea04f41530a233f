// Where ranks live and which communicators they form. Pure.
//
// Ranks fill hosts in order; tensor parallelism varies fastest, then data parallelism. Communicators and their numbers
// are those that torch.distributed would make: the world first, then every tensor-parallel group, then every
// data-parallel group, counted equally on all ranks because every rank takes part in making every group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/simulator/counter_rng.h"
#include "bench/simulator/simulator_options.h"

namespace lockstep {

enum class GroupKind : uint8_t { kWorld = 0, kTp = 1, kDp = 2 };
inline constexpr size_t kGroupKinds = 3;
[[nodiscard]] std::string_view Name(GroupKind kind);  // "world" | "tp" | "dp"

struct Communicator {
  GroupKind kind = GroupKind::kWorld;
  std::string name;              // process group name of torch: "0", "1", ...
  std::string desc;              // "default_pg", "mesh_tp", "mesh_dp"
  std::vector<int32_t> members;  // global ranks, ascending
  uint64_t hash = 0;             // NCCL's commHash, never 0
  int64_t first_seq = 0;         // collectives it had seen before the capture
  std::string id;                // short hash as in the analysis' reports
};

struct RankPlace {
  int32_t host = 0;
  int32_t device = 0;
  // Index into Cluster::communicators by GroupKind; -1 = the rank is in no such group (size 1).
  int32_t groups[kGroupKinds] = {-1, -1, -1};
};

struct Cluster {
  int32_t hosts = 1;
  int32_t gpus_per_host = 1;
  std::vector<RankPlace> ranks;
  std::vector<Communicator> communicators;

  [[nodiscard]] int32_t world() const { return static_cast<int32_t>(ranks.size()); }
  [[nodiscard]] std::string HostName(int32_t host) const;
  // Index of the communicator of this kind that the rank is in; -1 = none (group of size 1).
  [[nodiscard]] int32_t CommunicatorOf(int32_t rank, GroupKind kind) const {
    return ranks[static_cast<size_t>(rank)].groups[static_cast<size_t>(kind)];
  }
  // The world's members are also those of a parallel group: then no collective runs on the world's own communicator,
  // and NCCL, which makes communicators at their first use, never makes it.
  [[nodiscard]] bool WorldIsParallelGroup() const;
  [[nodiscard]] int32_t PositionIn(const Communicator& group, int32_t rank) const;
  [[nodiscard]] bool SpansHosts(const Communicator& group) const;
};

// The options must have passed CompleteLayout.
[[nodiscard]] Cluster MakeCluster(const SimulatorOptions& options, const CounterRng& rng);

}  // namespace lockstep
