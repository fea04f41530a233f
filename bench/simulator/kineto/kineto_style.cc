#include "bench/simulator/kineto/kineto_style.h"

#include <fmt/format.h>

#include "analysis/base/hash128.h"

namespace lockstep {
namespace {

KinetoStyle Style2021() {
  KinetoStyle style{.year = 2021, .whole_us = true, .text_tids = true};
  style.kernel = "Kernel";
  style.memcpy = "Memcpy";
  style.memset = "Memset";
  style.runtime = "Runtime";
  style.cpu_op = "Operator";
  style.annotation = "Operator";
  style.flow = "async";
  style.external_id = "external id";
  return style;
}

KinetoStyle Style2023() {
  return {.year = 2023,
          .whole_us = true,
          .external_id_is_correlation = true,
          .sync_rows = true,
          .device_annotations = true,
          .annotation_before_ns = 1000};
}

KinetoStyle Style2024() {
  return {.year = 2024,
          .group_config = true,
          .collective_args = true,
          .host_name = true,
          .sync_rows = true,
          .device_annotations = true,
          .annotation_before_ns = 1000,
          .annotation_after_ns = 500};
}

KinetoStyle Style2026() {
  return {.year = 2026,
          .group_config = true,
          .collective_args = true,
          .sequence = true,
          .elides_middle = true,
          .base_first = true,
          .host_name = true,
          .sync_rows = true,
          .device_annotations = true,
          .device_steps = true,
          .annotation_before_ns = 1,
          .annotation_after_ns = 1};
}

}  // namespace

KinetoStyle StyleOf(const SimulatorOptions& options) {
  KinetoStyle style = options.kineto_version == 2021   ? Style2021()
                      : options.kineto_version == 2023 ? Style2023()
                      : options.kineto_version == 2024 ? Style2024()
                                                       : Style2026();
  if (options.ids == IdLevel::kNames) style.group_config = style.collective_args = false;
  if (options.ids != IdLevel::kFull) style.sequence = false;
  if (options.files.elided_groups) style.group_config = style.strides = false;
  return style;
}

uint64_t CommsIdOf(const RankGroup& group, int64_t seq, bool pairwise) {
  const int32_t stride = group.members.size() > 1 ? group.members[1] - group.members[0] : 1;
  HashBuilder builder;
  builder.Add(group.name).Add(seq).Add(int64_t{pairwise}).Add(int64_t{group.members.front()}).Add(int64_t{stride});
  return builder.Add(static_cast<int64_t>(group.members.size())).Finish().low;
}

C10dNames C10dNamesOf(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllGather:
      return {"_allgather_base", "nccl:_all_gather_base", "c10d::_allgather_base_"};
    case CollectiveOp::kReduceScatter:
      return {"_reduce_scatter_base", "nccl:_reduce_scatter_base", "c10d::_reduce_scatter_base_"};
    case CollectiveOp::kBroadcast:
      return {"broadcast", "nccl:broadcast", "c10d::broadcast_"};
    case CollectiveOp::kReduce:
      return {"reduce", "nccl:reduce", "c10d::reduce_"};
    case CollectiveOp::kAllToAllV:
      return {"all_to_allv", "nccl:all_to_all", "c10d::alltoall_base_"};
    case CollectiveOp::kSend:
      return {"send", "nccl:send", "c10d::send"};
    case CollectiveOp::kRecv:
      return {"recv", "nccl:recv", "c10d::recv_"};
    case CollectiveOp::kSendRecv:
      return {"coalesced", "nccl:coalesced", "c10d::send"};
    default:
      return {"allreduce", "nccl:all_reduce", "c10d::allreduce_"};
  }
}

std::string_view C10ScalarType(DataType type) { return type == DataType::kFloat32 ? "Float" : "BFloat16"; }

std::string RankListText(const std::vector<int32_t>& members, bool elides_middle) {
  const size_t size = members.size();
  if (size <= kListedRanks) return fmt::format("[{}]", fmt::join(members, ", "));
  const size_t shown = elides_middle ? kListedRanks - 1 : kListedRanks;
  const std::string head =
      fmt::format("{}", fmt::join(members.begin(), members.begin() + static_cast<int64_t>(shown), ", "));
  return elides_middle ? fmt::format("[{}, ..., {}]", head, members.back()) : fmt::format("[{}, ...]", head);
}

std::string CollectiveArgs(const KinetoStyle& style, const CollectiveCall& call, const RankGroup& group) {
  const auto members = static_cast<int64_t>(group.members.size());
  const int64_t own = call.bytes / SizeOf(call.dtype);
  const int64_t in = call.op == CollectiveOp::kReduceScatter ? own * members : own;
  const int64_t out = call.op == CollectiveOp::kAllGather ? own * members : own;
  std::string text = fmt::format(
      R"("Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, "dtype": "{}", )"
      R"("In split size": "[]", "Out split size": "[]", "Process Group Name": "{}", )"
      R"("Process Group Description": "{}", "Process Group Ranks": "{}")",
      C10dNamesOf(call.op).collective, in, out, members, C10ScalarType(call.dtype), group.name, group.desc,
      RankListText(group.members, style.elides_middle));
  if (call.source >= 0) text += fmt::format(R"(, "Src Rank": {})", call.source);
  if (call.target >= 0) text += fmt::format(R"(, "Dst Rank": {})", call.target);
  if (style.sequence && call.seq >= 0) {
    const bool pairwise = call.source >= 0 || call.target >= 0;
    text += fmt::format(R"(, "Seq": {}, "Comms Id": {})", call.seq, CommsIdOf(group, call.seq, pairwise));
  }
  return text;
}

std::string LaunchArgs(const KinetoStyle& style, const KernelShape& kernel, const LaunchShape& shape,
                       int32_t multiprocessors) {
  const auto& [grid, block] = shape;
  const double blocks = static_cast<double>(int64_t{grid[0]} * grid[1] * grid[2]) / multiprocessors;
  const double warps = blocks * (block[0] * block[1] * block[2]) / 32;
  std::string text =
      fmt::format(R"("registers per thread": {}, "shared memory": {}, )", kernel.registers, kernel.shared_memory);
  if (style.year > 2021) text += fmt::format(R"("blocks per SM": {:.6f}, )", blocks);
  text += fmt::format(R"("warps per SM": {:.6f}, "grid": [{}, {}, {}], "block": [{}, {}, {}])", warps, grid[0], grid[1],
                      grid[2], block[0], block[1], block[2]);
  if (style.year > 2021) text += fmt::format(R"(, "est. achieved occupancy %": {})", blocks >= 4 ? 75 : 19);
  return text;
}

}  // namespace lockstep
