#include "bench/load/crowd_batches.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

constexpr int64_t kStartNs = 1'700'000'000'000'000'000;
constexpr int64_t kGapNs = 40'000;
constexpr int64_t kDurationNs = 12'000;
constexpr int64_t kKinds = 16;

InstanceRow Instance(int64_t number) {
  InstanceRow row;
  // Not quite regular, so that it does not compress to nothing.
  row.start_ns = kStartNs + number * kGapNs + (number * 7919 % 911) * 32;
  row.duration_ns = kDurationNs + (number * 104'729 % 977) * 32;
  row.seq = number;
  row.bytes = 262'144;
  row.communicator = 0;
  row.name = static_cast<uint32_t>(number % kKinds);
  row.stream = 7;
  row.op = CollectiveOp::kAllReduce;
  row.dtype = DataType::kBfloat16;
  row.library = CollectiveLibrary::kNccl;
  return row;
}

Batch MakeBatch(int64_t sequence, int64_t instances) {
  Batch batch;
  batch.sequence = sequence;
  for (int64_t i = 0; i < kKinds && sequence == 0; ++i) {
    const std::string text = fmt::format("ncclDevKernel_AllReduce_Sum_bf16_RING_LL_{}", i);
    batch.names.push_back({.id = static_cast<uint32_t>(i), .hash = HashOf(text), .text = text});
  }
  if (sequence == 0) {
    batch.communicators.push_back({.id = 0, .known = false});
  }
  for (int64_t i = 0; i < instances; ++i) {
    batch.instances.push_back(Instance(sequence * instances + i));
  }
  return batch;
}

}  // namespace

SourceContext CrowdSource(int64_t number) {
  SourceContext context;
  context.path = fmt::format("/load/rank{}.json.gz", number);
  context.source_id = HashOf(context.path);
  context.host = fmt::format("node{}", number);
  return context;
}

std::vector<EncodedBatch> CrowdBatches(int64_t count, int64_t instances) {
  std::vector<EncodedBatch> batches;
  for (int64_t sequence = 0; sequence < count; ++sequence) {
    std::string body = EncodeBatch(MakeBatch(sequence, instances));
    const Hash128 hash = HashOf(body);
    batches.push_back({.body = std::move(body), .content_hash = hash});
  }
  return batches;
}

}  // namespace lockstep
