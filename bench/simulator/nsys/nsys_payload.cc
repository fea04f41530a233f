#include "bench/simulator/nsys/nsys_payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/hash128.h"

namespace lockstep {
namespace {

constexpr int64_t kStaticSchemaBase = 16'777'216;
constexpr int64_t kTypeInt = 5;
constexpr int64_t kTypeUint64 = 18;
constexpr int64_t kTypeSize = 22;
constexpr int64_t kTypeRedop = kStaticSchemaBase + 16;
constexpr std::string_view kCommunicatorField = "NCCL communicator ID";
constexpr std::string_view kSizeField = "Message size [bytes]";
constexpr std::string_view kRootField = "Root";

constexpr std::array kInitEntries = {
    PayloadEntry{kTypeUint64, kCommunicatorField, 0},
    PayloadEntry{kTypeInt, "No. of ranks", 8},
    PayloadEntry{kTypeInt, "Rank", 12},
    PayloadEntry{kTypeInt, "CUDA device", 16},
};
constexpr std::array kGatherEntries = {
    PayloadEntry{kTypeUint64, kCommunicatorField, 0},
    PayloadEntry{kTypeSize, kSizeField, 8},
};
constexpr std::array kReduceEntries = {
    PayloadEntry{kTypeUint64, kCommunicatorField, 0},
    PayloadEntry{kTypeSize, kSizeField, 8},
    PayloadEntry{kTypeRedop, "Reduction operation", 16},
};
constexpr std::array kBroadcastEntries = {
    PayloadEntry{kTypeUint64, kCommunicatorField, 0},
    PayloadEntry{kTypeSize, kSizeField, 8},
    PayloadEntry{kTypeInt, kRootField, 16},
};
constexpr std::array kToRootEntries = {
    PayloadEntry{kTypeUint64, kCommunicatorField, 0},
    PayloadEntry{kTypeSize, kSizeField, 8},
    PayloadEntry{kTypeInt, kRootField, 16},
    PayloadEntry{kTypeRedop, "Reduction operation", 20},
};
constexpr std::array kPairEntries = {
    PayloadEntry{kTypeUint64, kCommunicatorField, 0},
    PayloadEntry{kTypeSize, kSizeField, 8},
    PayloadEntry{kTypeInt, "Peer rank", 16},
};
constexpr std::array kPayloadSchemas = {
    PayloadSchema{kNcclInitRange, kStaticSchemaBase + 11, 24, kInitEntries},
    PayloadSchema{"ncclAllGather", kStaticSchemaBase + 4, 16, kGatherEntries},
    PayloadSchema{"ncclAllReduce", kStaticSchemaBase + 5, 24, kReduceEntries},
    PayloadSchema{"ncclBroadcast", kStaticSchemaBase + 6, 24, kBroadcastEntries},
    PayloadSchema{"ncclReduceScatter", kStaticSchemaBase + 7, 24, kReduceEntries},
    PayloadSchema{"ncclReduce", kStaticSchemaBase + 8, 24, kToRootEntries},
    PayloadSchema{"ncclSend", kStaticSchemaBase + 9, 24, kPairEntries},
    PayloadSchema{"ncclRecv", kStaticSchemaBase + 10, 24, kPairEntries},
};

void PutLittleEndian(std::string& bytes, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

const PayloadSchema& SchemaOf(std::string_view range) {
  const auto found =
      std::find_if(kPayloadSchemas.begin(), kPayloadSchemas.end(), [&](const auto& s) { return s.range == range; });
  LOCKSTEP_CHECK(found != kPayloadSchemas.end());
  return *found;
}

std::string WithHeader(const PayloadSchema& schema, std::string payload) {
  constexpr uint64_t kHeaderSize = 32;
  payload.resize(static_cast<size_t>(schema.payload_size), '\0');
  std::string bytes;
  PutLittleEndian(bytes, kNcclDomain, 4);
  PutLittleEndian(bytes, 0, 4);
  PutLittleEndian(bytes, static_cast<uint64_t>(schema.schema_id), 4);
  PutLittleEndian(bytes, 0, 4);
  PutLittleEndian(bytes, payload.size(), 8);
  PutLittleEndian(bytes, kHeaderSize + payload.size(), 8);
  return bytes + payload;
}

}  // namespace

std::span<const PayloadSchema> NcclPayloadSchemas() { return kPayloadSchemas; }

std::string_view NcclRangeOf(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllGather:
      return "ncclAllGather";
    case CollectiveOp::kReduceScatter:
      return "ncclReduceScatter";
    case CollectiveOp::kBroadcast:
      return "ncclBroadcast";
    case CollectiveOp::kReduce:
      return "ncclReduce";
    case CollectiveOp::kSend:
      return "ncclSend";
    case CollectiveOp::kRecv:
      return "ncclRecv";
    default:
      return "ncclAllReduce";
  }
}

std::string InitPayload(const RankGroup& group, int32_t own_position, int32_t device) {
  std::string payload;
  PutLittleEndian(payload, group.hash, 8);
  PutLittleEndian(payload, group.members.size(), 4);
  PutLittleEndian(payload, static_cast<uint64_t>(own_position), 4);
  PutLittleEndian(payload, static_cast<uint64_t>(device), 4);
  return WithHeader(SchemaOf(kNcclInitRange), std::move(payload));
}

std::string CollectivePayload(const NcclCall& call, const RankGroup& group) {
  std::string payload;
  PutLittleEndian(payload, group.hash, 8);
  PutLittleEndian(payload, static_cast<uint64_t>(call.bytes), 8);  // the reduction, sum, is 0
  const int32_t other = std::max(call.peer, call.root);
  if (other >= 0) PutLittleEndian(payload, static_cast<uint64_t>(other), 4);
  return WithHeader(SchemaOf(NcclRangeOf(call.op)), std::move(payload));
}

uint64_t OperationIdOf(const RankGroup& group, const NcclCall& call) {
  const bool sends = call.op == CollectiveOp::kSend;
  const int64_t source = call.peer < 0 ? -1 : sends ? call.own_position : call.peer;
  const int64_t target = call.peer < 0 ? -1 : sends ? call.peer : call.own_position;
  HashBuilder builder;
  builder.Add(static_cast<int64_t>(group.hash)).Add(call.shared).Add(source).Add(target);
  return builder.Finish().low >> 11;  // exact also where a reader takes it for a double
}

std::string CollectiveJson(const NcclCall& call, const RankGroup& group) {
  const bool pairwise = call.peer >= 0;
  std::string number = pairwise ? fmt::format(R"("peer":{})", call.peer) : fmt::format(R"("seqNumber":{})", call.seq);
  if (call.shared >= 0) number += fmt::format(R"(,"operationId":{})", OperationIdOf(group, call));
  return fmt::format(R"({{"operationClass":"{}","commHash":{},"commRank":{},{},"count":{},"dataType":"{}"}})",
                     pairwise ? "p2p" : "collective", group.hash, call.own_position, number,
                     call.bytes / SizeOf(call.dtype),
                     call.dtype == DataType::kFloat32 ? "ncclFloat32" : "ncclBfloat16");
}

}  // namespace lockstep
