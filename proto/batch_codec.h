// A batch between the model and the wire.
//
// EncodeBatch gives the same bytes for the same batch (they are hashed; so keep to one zstd version among agents that
// may resend each other's batches). DecodeBatch is fed by strangers: every length, range, size and order that a batch
// alone can tell is checked, memory is bounded by the declared and checked decoded sizes; errors are kInvalidArgument
// naming the column. What needs the batches before (dense ids, references, sequence) is checked by the stores. Pure,
// thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "proto/context_codec.h"

namespace lockstep {

// Written; all from 1 on are read. 2: SparseColumn::coding and SegmentColumns::slack_gap_ns.
inline constexpr uint32_t kBatchVersion = 4;

[[nodiscard]] std::string EncodeBatch(const Batch& batch);
[[nodiscard]] absl::StatusOr<Batch> DecodeBatch(std::string_view bytes);

// The same checks, but the instances stay packed as they stand in the body, for UnpackInstances: a store needs no rows.
[[nodiscard]] absl::StatusOr<ReceivedBatch> DecodeForStore(std::string_view body);
// The instances of a batch for UnpackInstances; "" when it has none.
[[nodiscard]] std::string PackedInstancesOf(const ReceivedBatch& received);

// One definition of a communicator, as a plain serialised message, for stores.
[[nodiscard]] std::string EncodeRow(const LocalCommunicator& communicator);
[[nodiscard]] absl::Status DecodeRow(std::string_view bytes, LocalCommunicator* communicator);

}  // namespace lockstep
