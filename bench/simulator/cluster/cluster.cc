#include "bench/simulator/cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/hash128.h"

namespace lockstep {
namespace {

constexpr size_t kShortHashDigits = 12;

void AddGroup(Cluster& cluster, const CounterRng& rng, GroupKind kind, std::vector<int32_t> members) {
  const auto index = static_cast<int32_t>(cluster.communicators.size());
  const auto op = static_cast<uint32_t>(index);
  RankGroup group;
  group.kind = kind;
  group.name = std::to_string(index);
  group.desc = kind == GroupKind::kWorld ? "default_pg" : fmt::format("mesh_{}", Name(kind));
  group.members = std::move(members);
  group.hash = rng.Bits({.op = op, .purpose = Purpose::kCommHash}) | 1;
  group.first_seq = rng.UniformInt({.op = op, .purpose = Purpose::kFirstSeq}, 100, 5000);
  group.id = CommunicatorIdOf(group.members);
  group.first_meeting = cluster.meetings;
  cluster.meetings += static_cast<uint32_t>(group.members.size());  // all together, and each pair of neighbours
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

// Groups of `count` ranks that are `stride` apart, over the whole world. `closed`: the last meets the first, too.
void AddGroups(Cluster& cluster, const CounterRng& rng, GroupKind kind, int32_t count, int32_t stride,
               bool closed = false) {
  if (count < 2) return;
  for (int32_t block = 0; block < cluster.world(); block += count * stride) {
    for (int32_t i = 0; i < stride; ++i) {
      AddGroup(cluster, rng, kind, Strided(block + i, count, stride));
      if (closed) ++cluster.meetings;
    }
  }
}

int32_t GroupSizeOf(const SimulatorOptions& options, GroupKind kind) {
  switch (kind) {
    case GroupKind::kWorld:
      return options.world();
    case GroupKind::kTp:
      return options.tp;
    case GroupKind::kDp:
      return options.dp;
    case GroupKind::kPp:
      return options.pp;
    case GroupKind::kEp:
      return options.ep;
  }
  return 1;
}

void ShareGroups(Cluster& cluster, const SimulatorOptions& options) {
  for (RankPlace& place : cluster.ranks) {
    for (const GroupKind kind : {GroupKind::kWorld, GroupKind::kEp}) {
      place.groups[static_cast<size_t>(kind)] = place.groups[static_cast<size_t>(SharedKind(options, kind))];
    }
  }
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
    case GroupKind::kPp:
      return "pp";
    case GroupKind::kEp:
      return "ep";
  }
  return "";
}

std::string Cluster::HostName(int32_t host) const {
  return fmt::format("node{:03}", same_hostname && host == 1 ? 0 : host);
}

bool Cluster::WorldIsParallelGroup() const {
  return std::any_of(communicators.begin(), communicators.end(), [&](const RankGroup& group) {
    return group.kind != GroupKind::kWorld && group.members.size() == communicators.front().members.size();
  });
}

std::vector<int32_t> Cluster::GroupsOf(int32_t rank) const {
  const RankPlace& place = ranks[static_cast<size_t>(rank)];
  std::vector<int32_t> found = {place.world};
  for (const int32_t index : place.groups) {
    if (index >= 0 && std::find(found.begin(), found.end(), index) == found.end()) found.push_back(index);
  }
  return found;
}

int32_t Cluster::PositionIn(const RankGroup& group, int32_t rank) const {
  const auto found = std::lower_bound(group.members.begin(), group.members.end(), rank);
  LOCKSTEP_CHECK(found != group.members.end() && *found == rank);
  return static_cast<int32_t>(found - group.members.begin());
}

bool Cluster::SpansHosts(const RankGroup& group) const {
  return ranks[static_cast<size_t>(group.members.front())].host !=
         ranks[static_cast<size_t>(group.members.back())].host;
}

std::string CommunicatorIdOf(const std::vector<int32_t>& members) {
  HashBuilder builder;
  for (const int32_t member : members) builder.Add(static_cast<int64_t>(member));
  return builder.Add("").Finish().Hex().substr(0, kShortHashDigits);
}

GroupKind SharedKind(const SimulatorOptions& options, GroupKind kind) {
  if (kind == GroupKind::kEp && options.ep == options.dp && options.dp > 1) kind = GroupKind::kDp;
  if (kind != GroupKind::kWorld || options.world() < 2) return kind;
  for (const GroupKind other : {GroupKind::kTp, GroupKind::kDp, GroupKind::kPp}) {
    if (GroupSizeOf(options, other) == options.world()) return other;
  }
  return kind;
}

Cluster MakeCluster(const SimulatorOptions& options, const CounterRng& rng) {
  Cluster cluster;
  cluster.hosts = options.hosts;
  cluster.gpus_per_host = options.gpus_per_host;
  cluster.same_hostname = options.files.same_hostname;
  const int32_t world = options.world();
  const int32_t stage_size = options.tp * options.dp;
  for (int32_t rank = 0; rank < world; ++rank) {
    cluster.ranks.push_back(
        {.host = rank / options.gpus_per_host, .device = rank % options.gpus_per_host, .stage = rank / stage_size});
  }
  AddGroup(cluster, rng, GroupKind::kWorld, Strided(0, world, 1));
  AddGroups(cluster, rng, GroupKind::kTp, options.tp, 1);
  AddGroups(cluster, rng, GroupKind::kDp, options.dp, options.tp);
  AddGroups(cluster, rng, GroupKind::kPp, options.pp, stage_size, options.interleave > 1);
  if (options.ep != options.dp) AddGroups(cluster, rng, GroupKind::kEp, options.ep, options.tp);
  ShareGroups(cluster, options);
  return cluster;
}

}  // namespace lockstep
