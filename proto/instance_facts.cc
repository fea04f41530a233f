#include "proto/instance_facts.h"

#include <algorithm>
#include <span>

namespace lockstep {
namespace {

using codec::InstanceGroup;
using codec::InstanceGroups;

void AddGroup(const InstanceGroup& group, InstanceFacts* facts) {
  const auto [first, last] = std::minmax_element(group.start_ns.begin(), group.start_ns.end());
  facts->first_start_ns = facts->count == 0 ? *first : std::min(facts->first_start_ns, *first);
  facts->last_start_ns = facts->count == 0 ? *last : std::max(facts->last_start_ns, *last);
  facts->count += static_cast<int64_t>(group.rows);
  facts->greatest_communicator = std::max(facts->greatest_communicator, group.communicator);
  const std::span<const int64_t> names = group.name.stored();
  facts->greatest_name =
      std::max(facts->greatest_name, static_cast<uint32_t>(*std::max_element(names.begin(), names.end())));
  for (const int64_t tile : group.segment.tile_instances) facts->greatest_tile = std::max(facts->greatest_tile, tile);
}

CollectiveOpKey KeyOf(const InstanceGroup& group, size_t row) {
  return {group.communicator, static_cast<CollectiveOp>(group.op[row]), static_cast<DataType>(group.dtype[row]),
          group.bytes[row], static_cast<CollectiveLibrary>(group.library[row])};
}

}  // namespace

// A block is read only if its rows ascend in their places: the least start is the first.
InstanceFacts FactsOf(const InstanceGroups& all) {
  InstanceFacts facts;
  for (const InstanceGroup& group : all.groups) AddGroup(group, &facts);
  return facts;
}

std::vector<CollectiveOpRow> CollectiveOpsOf(const InstanceGroups& all) {
  CollectiveOps ops;
  for (const InstanceGroup& group : all.groups) {
    for (size_t i = 0; i < group.rows; ++i) ops.Add(KeyOf(group, i), group.duration_ns[i]);
  }
  return ops.Take();
}

}  // namespace lockstep
