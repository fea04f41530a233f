// Rows of the checked columns of instances. Pure, thread safe.
#pragma once

#include <vector>

#include "analysis/model/batch.h"
#include "proto/instance_group.h"

namespace lockstep::codec {

// Of a batch, in their places.
[[nodiscard]] std::vector<InstanceRow> RowsOf(const InstanceGroups& all);
// Of one communicator, in the order of its columns.
[[nodiscard]] std::vector<InstanceRow> RowsOf(const InstanceGroup& group);

}  // namespace lockstep::codec
