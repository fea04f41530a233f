// What a store has to know of a block of instances, without making rows of it. Pure, thread safe.
#pragma once

#include <vector>

#include "analysis/model/received_batch.h"
#include "proto/instance_group.h"

namespace lockstep {

[[nodiscard]] InstanceFacts FactsOf(const codec::InstanceGroups& all);
[[nodiscard]] std::vector<CollectiveOpRow> CollectiveOpsOf(const codec::InstanceGroups& all);

}  // namespace lockstep
