// What the agents of a crowd send: sources that differ in their identity alone, batches that are the same for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/source.h"

namespace lockstep {

struct EncodedBatch {
  std::string body;
  Hash128 content_hash;
};

[[nodiscard]] SourceContext CrowdSource(int64_t number);
// `count` batches in sequence, none of them the last of its source.
[[nodiscard]] std::vector<EncodedBatch> CrowdBatches(int64_t count, int64_t instances);

}  // namespace lockstep
