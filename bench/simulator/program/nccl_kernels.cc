#include "bench/simulator/program/nccl_kernels.h"

#include <fmt/format.h>

#include <string>

namespace lockstep {
namespace {

bool MovesOnly(CollectiveOp op) {
  return op != CollectiveOp::kAllReduce && op != CollectiveOp::kReduceScatter && op != CollectiveOp::kReduce;
}

bool IsSendReceive(CollectiveOp op) {
  return op == CollectiveOp::kSend || op == CollectiveOp::kRecv || op == CollectiveOp::kSendRecv ||
         op == CollectiveOp::kAllToAllV;
}

std::string_view NcclOpName(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllGather:
      return "AllGather";
    case CollectiveOp::kReduceScatter:
      return "ReduceScatter";
    case CollectiveOp::kBroadcast:
      return "Broadcast";
    case CollectiveOp::kReduce:
      return "Reduce";
    default:
      return "AllReduce";
  }
}

// The names speak of rings and trees only, whatever runs.
std::string_view AlgorithmName(CollectiveOp op, Transport transport) {
  return transport == Transport::kTree && op == CollectiveOp::kAllReduce ? "TREE" : "RING";
}

std::string NewNcclName(CollectiveOp op, DataType dtype, Transport transport) {
  if (IsSendReceive(op)) return "ncclDevKernel_SendRecv";
  const std::string_view type = dtype == DataType::kFloat32 ? "f32" : "bf16";
  const std::string typed = MovesOnly(op) ? std::string() : fmt::format("_Sum_{}", type);
  return fmt::format("ncclDevKernel_{}{}_{}_LL", NcclOpName(op), typed, AlgorithmName(op, transport));
}

std::string OldNcclName(CollectiveOp op, DataType dtype, Transport transport) {
  if (IsSendReceive(op)) return "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t";
  std::string_view type = dtype == DataType::kFloat32 ? "float" : "__nv_bfloat16";
  if (MovesOnly(op)) type = "int8_t";
  return fmt::format("ncclKernel_{}_{}_LL_Sum_{}", NcclOpName(op), AlgorithmName(op, transport), type);
}

KernelShape SymmetricKernel(DataType dtype) {
  const std::string name =
      fmt::format("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_{}", dtype == DataType::kFloat32 ? "f32" : "bf16");
  return {.name = name + "(ncclSymkDevWorkArgs4K)",
          .short_name = name,
          .shape = {.grid = {16, 1, 1}, .block = {512, 1, 1}},
          .registers = 64};
}

// One stage for what a single round of reads can carry, two beyond.
KernelShape CustomKernel(int64_t bytes, int32_t members) {
  constexpr int64_t kOneStageBytes = 512 * 1024;
  const bool one_stage = members == 2 || bytes < kOneStageBytes;
  const std::string name = one_stage ? "cross_device_reduce_1stage" : "cross_device_reduce_2stage";
  return {.name = fmt::format("void vllm::{}<__nv_bfloat16, {}>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, "
                              "__nv_bfloat16*, int, int)",
                              name, members),
          .short_name = name,
          .shape = {.grid = {36, 1, 1}, .block = {512, 1, 1}},
          .registers = 40};
}

}  // namespace

KernelShape CollectiveKernel(CollectiveOp op, DataType dtype, int64_t bytes, Transport transport, bool old_names,
                             int32_t members) {
  if (transport == Transport::kSymmetric) return SymmetricKernel(dtype);
  if (transport == Transport::kCustom) return CustomKernel(bytes, members);
  KernelShape kernel;
  kernel.short_name = old_names ? OldNcclName(op, dtype, transport) : NewNcclName(op, dtype, transport);
  kernel.name = kernel.short_name +
                (old_names ? "(ncclDevComm*, unsigned long, ncclWork*)" : "(ncclDevKernelArgsStorage<4096ul>)");
  const int32_t channels = bytes < 64 * 1024 ? 4 : IsSendReceive(op) ? 16 : 24;
  kernel.shape = {.grid = {channels, 1, 1}, .block = {channels == 4 ? 288 : 544, 1, 1}};
  kernel.registers = 96;
  kernel.shared_memory = 103'808;
  return kernel;
}

}  // namespace lockstep
