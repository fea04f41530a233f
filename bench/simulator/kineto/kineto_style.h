// How torch.profiler's files looked at a time: one row of a table for each year that --kineto-version knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

struct KinetoStyle {
  int32_t year = 0;
  bool whole_us = false;   // times are integer microseconds since the Unix epoch, else us.fff since a base
  bool text_tids = false;  // "stream 7" instead of 7
  bool external_id_is_correlation = false;
  bool group_config = false;     // pg_config, pg_count, nccl_version in distributedInfo
  bool collective_args = false;  // on kernels and record_param_comms
  bool sequence = false;         // "Seq" and "Comms Id"
  bool strides = true;           // "Global rank start" and "stride" on record_param_comms
  bool elides_middle = false;    // rank lists beyond 30: 29 and the last, else the first 30
  bool base_first = false;       // displayTimeUnit and baseTimeNanoseconds before the events
  bool host_name = false;
  bool sync_rows = false;  // cuda_sync
  bool device_annotations = false;
  bool device_steps = false;         // ProfilerStep mirrored on the device
  int64_t annotation_before_ns = 0;  // how much wider device annotations are than what they enclose
  int64_t annotation_after_ns = 0;
  std::string_view kernel = "kernel";
  std::string_view memcpy = "gpu_memcpy";
  std::string_view memset = "gpu_memset";
  std::string_view runtime = "cuda_runtime";
  std::string_view cpu_op = "cpu_op";
  std::string_view annotation = "user_annotation";
  std::string_view flow = "ac2g";
  std::string_view external_id = "External id";
};

[[nodiscard]] KinetoStyle StyleOf(const SimulatorOptions& options);

// c10d's words for a collective.
struct C10dNames {
  std::string_view collective;  // "allreduce"
  std::string_view annotation;  // "nccl:all_reduce"
  std::string_view host_op;     // "c10d::allreduce_"
};
[[nodiscard]] C10dNames C10dNamesOf(CollectiveOp op);
// c10d's hash of a collective call: the same on every participant. Of pairwise operations, whose numbers each process
// counts for itself, it is not.
[[nodiscard]] uint64_t CommsIdOf(const RankGroup& group, int64_t seq, bool pairwise = false);
[[nodiscard]] std::string_view C10ScalarType(DataType type);

inline constexpr size_t kListedRanks = 30;  // those of longer lists are not all told
// The list as "Process Group Ranks" shows it.
[[nodiscard]] std::string RankListText(const std::vector<int32_t>& members, bool elides_middle);

// One call of a collective or pairwise operation as its args tell it.
struct CollectiveCall {
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  int64_t bytes = 0;
  int32_t source = -1;  // of a receive: global rank
  int32_t target = -1;  // of a send
  int64_t seq = -1;     // < 0: none
};
// Its args, without braces: `"Collective name": "allreduce", ...`.
[[nodiscard]] std::string CollectiveArgs(const KinetoStyle& style, const CollectiveCall& call, const RankGroup& group);

// `"registers per thread": ..., "grid": [...], ...` of a kernel.
[[nodiscard]] std::string LaunchArgs(const KinetoStyle& style, const KernelShape& kernel, const LaunchShape& shape,
                                     int32_t multiprocessors);

}  // namespace lockstep
