// The words of a collective: operation, data type, library. Values are wire values: append, never renumber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep {

enum class CollectiveOp : uint8_t {
  kUnknown = 0,
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kReduce = 5,
  kAllToAll = 6,
  kAllToAllV = 7,
  kSend = 8,
  kRecv = 9,
  kSendRecv = 10,  // what an NCCL SendRecv kernel name says: all-to-all, gather, scatter or point to point
  kGather = 11,
  kScatter = 12,
  kBarrier = 13,
  kAllGatherV = 14,
};

enum class DataType : uint8_t {
  kUnknown = 0,
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kInt64 = 7,
  kUint64 = 8,
  kFloat16 = 9,
  kBfloat16 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
  kFloat8E4m3 = 13,
  kFloat8E5m2 = 14,
  kBool = 15,
  kComplex64 = 16,
  kComplex128 = 17,
};

enum class CollectiveLibrary : uint8_t {
  kNone = 0,
  kNccl = 1,
  kRccl = 2,
  kNcclSymmetric = 3,
  kMsccl = 4,
  kVllmCustom = 5,
  kSglangCustom = 6,
  kTensorRtLlm = 7,
  kFlashInfer = 8,
  kTorchSymmetric = 9,
  kNvshmem = 10,
  kDeepEp = 11,
  kTransformerEngine = 12,
  kMetaCtran = 13,
  kMooncake = 14,
  kCustom = 15,
  kUnverified = 16,  // the generic fallback of the name grammar: possible communication
  kHccl = 17,
  kMori = 18,
  kPplx = 19,
  kOneCcl = 20,
};
inline constexpr CollectiveLibrary kLastCollectiveLibrary = CollectiveLibrary::kOneCcl;

// JSON spellings: "all_reduce", "bfloat16", "nccl", ...; unknown gives an empty string (JSON null).
[[nodiscard]] std::string_view Name(CollectiveOp op);
[[nodiscard]] std::string_view Name(DataType type);
[[nodiscard]] std::string_view Name(CollectiveLibrary library);

// Element size in bytes; 0 when unknown.
[[nodiscard]] int64_t SizeOf(DataType type);

// Every ordered pair (j, i) of members has the relation "i cannot end before j has started" (algorithms: NCCL sources).
// All-reduce, all-gather, reduce-scatter, all-to-all and barrier; not broadcast, reduce, gather, scatter, send,
// receive. SendRecv kernels are all-pairs only by assumption: see the matching's certificate.
[[nodiscard]] bool IsAllPairs(CollectiveOp op);
[[nodiscard]] bool IsPointToPoint(CollectiveOp op);
// One member, the root, sends to all others (broadcast, scatter), or receives from all of them (reduce, gather).
[[nodiscard]] bool ComesFromRoot(CollectiveOp op);
[[nodiscard]] bool GoesToRoot(CollectiveOp op);
// Each of `members` sends and receives bytes of its own, and ends when it is done with them. A SendRecv kernel of two
// members ends on both sides at once.
[[nodiscard]] bool IsUnevenExchange(CollectiveOp op, size_t members);

// The members end together when the last one has come. Where each ends with its own bytes, or one sends to all or
// receives from all, ends say nothing about the members' clocks.
[[nodiscard]] bool EndsTogether(CollectiveOp op, size_t members);

// c10d collective names of Kineto ("_allgather_base", "all_to_allv", ...) and c10 scalar type names ("BFloat16").
[[nodiscard]] CollectiveOp CollectiveOpFromC10d(std::string_view name);
[[nodiscard]] DataType DataTypeFromC10(std::string_view name);
// NCCL API range names of nsys ("ncclAllReduce").
[[nodiscard]] CollectiveOp CollectiveOpFromNcclApi(std::string_view name);

}  // namespace lockstep
