// Where ranks live and which communicators they form. Pure.
//
// Ranks fill hosts in order; tensor parallelism varies fastest, then data parallelism (experts are spread over
// neighbours in it), then the pipeline's stages. Communicators and their numbers are those that torch.distributed would
// make: the world first, then all groups of each kind, counted equally on all ranks because every rank takes part in
// making every group. Two kinds whose groups have the same members share one communicator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/command/simulator_options.h"

namespace lockstep {

enum class GroupKind : uint8_t { kWorld = 0, kTp = 1, kDp = 2, kPp = 3, kEp = 4 };
inline constexpr size_t kGroupKinds = 5;
[[nodiscard]] std::string_view Name(GroupKind kind);  // "world" | "tp" | "dp" | "pp" | "ep"

struct RankGroup {
  GroupKind kind = GroupKind::kWorld;
  std::string name;              // process group name of torch: "0", "1", ...
  std::string desc;              // "default_pg", "mesh_tp", "mesh_dp"
  std::vector<int32_t> members;  // global ranks, ascending
  uint64_t hash = 0;             // NCCL's commHash, never 0
  int64_t first_seq = 0;         // collectives it had seen before the capture
  std::string id;                // short hash as in the analysis' reports
  uint32_t first_meeting = 0;    // see Cluster::MeetingOf
};

struct RankPlace {
  int32_t host = 0;
  int32_t device = 0;
  int32_t stage = 0;  // of the pipeline
  int32_t world = 0;  // index of the communicator that torch made for the whole job
  // Index into Cluster::communicators by GroupKind; -1 = the rank is in no such group (size 1).
  int32_t groups[kGroupKinds] = {-1, -1, -1, -1, -1};
};

struct Cluster {
  int32_t hosts = 1;
  int32_t gpus_per_host = 1;
  bool same_hostname = false;  // the second host bears the first one's name
  std::vector<RankPlace> ranks;
  std::vector<RankGroup> communicators;
  uint32_t meetings = 0;  // how many places to meet there are

  [[nodiscard]] int32_t world() const { return static_cast<int32_t>(ranks.size()); }
  [[nodiscard]] std::string HostName(int32_t host) const;
  // Index of the communicator of this kind that the rank is in; -1 = none (group of size 1).
  [[nodiscard]] int32_t CommunicatorOf(int32_t rank, GroupKind kind) const {
    return ranks[static_cast<size_t>(rank)].groups[static_cast<size_t>(kind)];
  }
  // The world's members are also those of a parallel group: then no collective runs on the world's own communicator,
  // and NCCL, which makes communicators at their first use, never makes it.
  [[nodiscard]] bool WorldIsParallelGroup() const;
  // The communicators that the rank is in, the job's world first, each once.
  [[nodiscard]] std::vector<int32_t> GroupsOf(int32_t rank) const;
  [[nodiscard]] int32_t PositionIn(const RankGroup& group, int32_t rank) const;
  [[nodiscard]] bool SpansHosts(const RankGroup& group) const;
  [[nodiscard]] bool SameHost(int32_t a, int32_t b) const {
    return ranks[static_cast<size_t>(a)].host == ranks[static_cast<size_t>(b)].host;
  }
  // Where the kernels of one instance meet, below `meetings`: all members of the communicator, or two neighbours in it
  // (`position` and the next one; the last and the first where a pipeline is interleaved). The n-th kernels of all
  // ranks at one meeting are one instance.
  [[nodiscard]] uint32_t MeetingOf(int32_t communicator) const {
    return communicators[static_cast<size_t>(communicator)].first_meeting;
  }
  [[nodiscard]] uint32_t PairMeetingOf(int32_t communicator, int32_t position) const {
    return communicators[static_cast<size_t>(communicator)].first_meeting + 1 + static_cast<uint32_t>(position);
  }
};

// The short hash by which the analysis' reports name a communicator of these members (ascending).
[[nodiscard]] std::string CommunicatorIdOf(const std::vector<int32_t>& members);

// The kind whose communicator a group of `kind` uses: itself unless another kind's groups have the same members.
[[nodiscard]] GroupKind SharedKind(const SimulatorOptions& options, GroupKind kind);

// The options must have passed CompleteLayout.
[[nodiscard]] Cluster MakeCluster(const SimulatorOptions& options, const CounterRng& rng);

}  // namespace lockstep
