#include "analysis/model/collective.h"

#include <array>

namespace lockstep {
namespace {

template <typename Value>
struct Word {
  std::string_view text;
  Value value;
};

// Value of an exactly spelt word, else the zero value, which all enumerations here call unknown.
template <typename Value, size_t kCount>
Value Find(const std::array<Word<Value>, kCount>& words, std::string_view text) {
  for (const auto& word : words) {
    if (word.text == text) return word.value;
  }
  return Value{};
}

template <size_t kCount>
std::string_view Spelling(const std::array<std::string_view, kCount>& names, size_t index) {
  return index < kCount ? names[index] : std::string_view();
}

// Indexed by the wire value.
constexpr std::array kOpNames = std::to_array<std::string_view>(
    {"", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "all_to_allv", "send",
     "recv", "send_recv", "gather", "scatter", "barrier", "all_gather_v"});

constexpr std::array kTypeNames = std::to_array<std::string_view>(
    {"", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32",
     "float64", "float8_e4m3", "float8_e5m2", "bool", "complex64", "complex128"});

constexpr std::array kTypeSizes = std::to_array<int64_t>({0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 1, 8, 16});

constexpr std::array kLibraryNames = std::to_array<std::string_view>({"",
                                                                      "nccl",
                                                                      "rccl",
                                                                      "nccl_symmetric",
                                                                      "msccl",
                                                                      "vllm",
                                                                      "sglang",
                                                                      "tensorrt_llm",
                                                                      "flashinfer",
                                                                      "torch_symmetric",
                                                                      "nvshmem",
                                                                      "deepep",
                                                                      "transformer_engine",
                                                                      "ctran",
                                                                      "mooncake",
                                                                      "custom",
                                                                      "unverified",
                                                                      "hccl",
                                                                      "mori",
                                                                      "pplx",
                                                                      "oneccl"});

constexpr std::array kC10dOps = std::to_array<Word<CollectiveOp>>({
    {"allreduce", CollectiveOp::kAllReduce},
    {"all_reduce", CollectiveOp::kAllReduce},
    {"allreduce_coalesced", CollectiveOp::kAllReduce},
    {"all_reduce_coalesced", CollectiveOp::kAllReduce},
    {"allreduce_sparse", CollectiveOp::kAllReduce},
    {"allgather", CollectiveOp::kAllGather},
    {"all_gather", CollectiveOp::kAllGather},
    {"_allgather_base", CollectiveOp::kAllGather},
    {"_all_gather_base", CollectiveOp::kAllGather},
    {"allgather_coalesced", CollectiveOp::kAllGather},
    {"all_gather_into_tensor", CollectiveOp::kAllGather},
    {"allgather_into_tensor_coalesced", CollectiveOp::kAllGather},
    {"all_gather_into_tensor_coalesced", CollectiveOp::kAllGather},
    {"reduce_scatter", CollectiveOp::kReduceScatter},
    {"_reduce_scatter_base", CollectiveOp::kReduceScatter},
    {"reduce_scatter_tensor", CollectiveOp::kReduceScatter},
    {"reduce_scatter_tensor_coalesced", CollectiveOp::kReduceScatter},
    {"broadcast", CollectiveOp::kBroadcast},
    {"_broadcast_oop", CollectiveOp::kBroadcast},
    {"reduce", CollectiveOp::kReduce},
    {"_reduce_oop", CollectiveOp::kReduce},
    {"all_to_all", CollectiveOp::kAllToAll},
    {"alltoall", CollectiveOp::kAllToAll},
    {"alltoall_base", CollectiveOp::kAllToAll},
    {"all_to_allv", CollectiveOp::kAllToAllV},
    {"alltoallv", CollectiveOp::kAllToAllV},
    {"send", CollectiveOp::kSend},
    {"recv", CollectiveOp::kRecv},
    {"recv_any_source", CollectiveOp::kRecv},
    {"gather", CollectiveOp::kGather},
    {"scatter", CollectiveOp::kScatter},
    {"barrier", CollectiveOp::kBarrier},
});

constexpr std::array kC10Types = std::to_array<Word<DataType>>({
    {"Char", DataType::kInt8},
    {"Byte", DataType::kUint8},
    {"Short", DataType::kInt16},
    {"UInt16", DataType::kUint16},
    {"Int", DataType::kInt32},
    {"UInt32", DataType::kUint32},
    {"Long", DataType::kInt64},
    {"UInt64", DataType::kUint64},
    {"Half", DataType::kFloat16},
    {"BFloat16", DataType::kBfloat16},
    {"Float", DataType::kFloat32},
    {"Double", DataType::kFloat64},
    {"Float8_e4m3fn", DataType::kFloat8E4m3},
    {"Float8_e4m3fnuz", DataType::kFloat8E4m3},
    {"Float8_e5m2", DataType::kFloat8E5m2},
    {"Float8_e5m2fnuz", DataType::kFloat8E5m2},
    {"Bool", DataType::kBool},
    {"ComplexFloat", DataType::kComplex64},
    {"ComplexDouble", DataType::kComplex128},
});

constexpr std::array kNcclApiOps = std::to_array<Word<CollectiveOp>>({
    {"ncclAllReduce", CollectiveOp::kAllReduce},
    {"ncclAllGather", CollectiveOp::kAllGather},
    {"ncclAllGatherV", CollectiveOp::kAllGatherV},
    {"ncclReduceScatter", CollectiveOp::kReduceScatter},
    {"ncclBroadcast", CollectiveOp::kBroadcast},
    {"ncclBcast", CollectiveOp::kBroadcast},
    {"ncclReduce", CollectiveOp::kReduce},
    {"ncclSend", CollectiveOp::kSend},
    {"ncclRecv", CollectiveOp::kRecv},
    {"ncclAlltoAll", CollectiveOp::kAllToAll},
    {"ncclAllToAll", CollectiveOp::kAllToAll},
    {"ncclAllToAllv", CollectiveOp::kAllToAllV},
    {"ncclGather", CollectiveOp::kGather},
    {"ncclScatter", CollectiveOp::kScatter},
});

}  // namespace

std::string_view Name(CollectiveOp op) { return Spelling(kOpNames, static_cast<size_t>(op)); }
std::string_view Name(DataType type) { return Spelling(kTypeNames, static_cast<size_t>(type)); }
std::string_view Name(CollectiveLibrary library) { return Spelling(kLibraryNames, static_cast<size_t>(library)); }

int64_t SizeOf(DataType type) {
  static_assert(kTypeSizes.size() == kTypeNames.size());
  const auto index = static_cast<size_t>(type);
  return index < kTypeSizes.size() ? kTypeSizes[index] : 0;
}

bool IsAllPairs(CollectiveOp op) {
  return op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter ||
         op == CollectiveOp::kAllToAll || op == CollectiveOp::kBarrier;
}

bool IsPointToPoint(CollectiveOp op) { return op == CollectiveOp::kSend || op == CollectiveOp::kRecv; }
bool ComesFromRoot(CollectiveOp op) { return op == CollectiveOp::kBroadcast || op == CollectiveOp::kScatter; }
bool GoesToRoot(CollectiveOp op) { return op == CollectiveOp::kReduce || op == CollectiveOp::kGather; }
bool IsUnevenExchange(CollectiveOp op, size_t members) {
  return op == CollectiveOp::kAllToAllV || (op == CollectiveOp::kSendRecv && members > 2);
}

bool EndsTogether(CollectiveOp op, size_t members) {
  return !IsUnevenExchange(op, members) && !ComesFromRoot(op) && !GoesToRoot(op);
}

CollectiveOp CollectiveOpFromC10d(std::string_view name) { return Find(kC10dOps, name); }
DataType DataTypeFromC10(std::string_view name) { return Find(kC10Types, name); }
CollectiveOp CollectiveOpFromNcclApi(std::string_view name) { return Find(kNcclApiOps, name); }

}  // namespace lockstep
