#include "bench/simulator/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/check.h"
#include "analysis/base/hash128.h"

namespace lockstep {
namespace {

constexpr size_t kShortHashDigits = 12;

std::string ShortId(const std::vector<int32_t>& members) {
  HashBuilder builder;
  for (const int32_t member : members) builder.Add(static_cast<int64_t>(member));
  return builder.Add("").Finish().Hex().substr(0, kShortHashDigits);
}

void AddGroup(Cluster& cluster, const CounterRng& rng, GroupKind kind, std::vector<int32_t> members) {
  const auto index = static_cast<int32_t>(cluster.communicators.size());
  const auto op = static_cast<uint32_t>(index);
  Communicator group;
  group.kind = kind;
  group.name = std::to_string(index);
  group.desc = kind == GroupKind::kWorld ? "default_pg" : fmt::format("mesh_{}", Name(kind));
  group.members = std::move(members);
  group.hash = rng.Bits({.op = op, .purpose = Purpose::kCommHash}) | 1;
  group.first_seq = rng.UniformInt({.op = op, .purpose = Purpose::kFirstSeq}, 100, 5000);
  group.id = ShortId(group.members);
  for (const int32_t rank : group.members) {
    cluster.ranks[static_cast<size_t>(rank)].groups[static_cast<size_t>(kind)] = index;
  }
  cluster.communicators.push_back(std::move(group));
}

std::vector<int32_t> Strided(int32_t first, int32_t count, int32_t stride) {
  std::vector<int32_t> members;
  for (int32_t i = 0; i < count; ++i) members.push_back(first + i * stride);
  return members;
}

}  // namespace

std::string_view Name(GroupKind kind) {
  switch (kind) {
    case GroupKind::kWorld:
      return "world";
    case GroupKind::kTp:
      return "tp";
    case GroupKind::kDp:
      return "dp";
  }
  return "";
}

std::string Cluster::HostName(int32_t host) const { return fmt::format("node{:03}", host); }

bool Cluster::WorldIsParallelGroup() const {
  return std::any_of(communicators.begin() + 1, communicators.end(), [&](const Communicator& group) {
    return group.members.size() == communicators.front().members.size();
  });
}

int32_t Cluster::PositionIn(const Communicator& group, int32_t rank) const {
  const auto found = std::lower_bound(group.members.begin(), group.members.end(), rank);
  LOCKSTEP_CHECK(found != group.members.end() && *found == rank);
  return static_cast<int32_t>(found - group.members.begin());
}

bool Cluster::SpansHosts(const Communicator& group) const {
  return ranks[static_cast<size_t>(group.members.front())].host !=
         ranks[static_cast<size_t>(group.members.back())].host;
}

Cluster MakeCluster(const SimulatorOptions& options, const CounterRng& rng) {
  Cluster cluster;
  cluster.hosts = options.hosts;
  cluster.gpus_per_host = options.gpus_per_host;
  const int32_t world = options.world();
  for (int32_t rank = 0; rank < world; ++rank) {
    cluster.ranks.push_back({.host = rank / options.gpus_per_host, .device = rank % options.gpus_per_host});
  }
  AddGroup(cluster, rng, GroupKind::kWorld, Strided(0, world, 1));
  if (options.tp > 1) {
    for (int32_t first = 0; first < world; first += options.tp) {
      AddGroup(cluster, rng, GroupKind::kTp, Strided(first, options.tp, 1));
    }
  }
  if (options.dp > 1) {
    for (int32_t first = 0; first < options.tp; ++first) {
      AddGroup(cluster, rng, GroupKind::kDp, Strided(first, options.dp, options.tp));
    }
  }
  return cluster;
}

}  // namespace lockstep
