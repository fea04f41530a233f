// Writes the seeds of nsys_fuzzer: nsys_corpus FOLDER. Small pages, so that a mutation hits something that matters.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "tests/support/nsys_builder.h"

namespace lockstep {
namespace {

constexpr int kPageBytes = 512;
constexpr int64_t kEpoch = 1'700'000'000'000'000'000;

void AddActivity(NsysBuilder& file) {
  const NsysPlace place{.pid = 7, .tid = 9, .device = 1, .stream = 13, .correlation = 5};
  file.Api("cudaLaunchKernel_v7000", 100, 200, place).Api("cudaGraphLaunch_v10000", 210, 220, {.correlation = 6});
  file.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)", 300, 400, place);
  file.Kernel("void gemm<int>()", 350, 500, place, {{"graphNodeId", 77}});
  file.Memcpy(1, 64, 410, 420, place).Memset(32, 430, 440, place);
  file.Add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {{"start", 10}, {"end", 30}, {"syncType", 3}});
  file.Add("CUDA_GPU_MEMORY_USAGE_EVENTS", {{"start", 10}, {"bytes", 100}, {"memKind", 2}});
  file.Nvtx(59, "ProfilerStep#3", 50, 500, place).Nvtx(60, "open", 60, NsysNull{}, place);
}

void AddTarget(NsysBuilder& file) {
  file.System("Hostname", "node").System("CudaDriverVersion", "12040");
  file.System("DeviceEnvironment", "RANK=1;WORLD_SIZE=2;CUDA_VISIBLE_DEVICES=0,1");
  file.Add("TARGET_INFO_GPU", {{"id", 1}, {"name", "H100"}, {"uuid", "abcd"}});
  file.Add("MPI_RANKS", {{"globalTid", NsysGlobalId(7, 9)}, {"rank", 1}});
}

void AddNcclPayload(NsysBuilder& file) {
  const NsysPlace place{.pid = 7, .tid = 9};
  const auto entry = [&](int64_t index, int64_t type, std::string name, int64_t offset) {
    file.Add("NVTX_PAYLOAD_SCHEMA_ENTRIES", {{"domainId", 1},
                                             {"schemaId", 16'777'227},
                                             {"idx", index},
                                             {"type", type},
                                             {"name", std::move(name)},
                                             {"offset", offset}});
  };
  entry(0, 18, "NCCL communicator ID", 0);
  entry(1, 5, "No. of ranks", 8);
  entry(2, 5, "Rank", 12);
  const std::string init = LittleEndianBytes(99, 8) + LittleEndianBytes(8, 4) + LittleEndianBytes(3, 4);
  file.Nvtx(75, "NCCL", 0, NsysNull{}, place, {{"domainId", 1}});
  file.Nvtx(59, "ncclCommInitRank", 1, 2, place,
            {{"domainId", 1}, {"binaryData", NsysBlob{NsysPayload(1, 16'777'227, init)}}});
  file.Nvtx(59, "AllReduce", 3, 4, place,
            {{"domainId", 1}, {"jsonText", R"({"commHash":"0x63","count":8,"dataType":7,"seqNumber":1})"}});
}

void WriteSeed(const std::string& folder, NsysSchema schema) {
  NsysBuilder file(fmt::format("{}/schema_{}", folder, static_cast<int>(schema)), schema, kPageBytes);
  file.Session(kEpoch, 1000);
  AddActivity(file);
  AddTarget(file);
  if (file.HasColumn("NVTX_EVENTS", "binaryData")) AddNcclPayload(file);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: nsys_corpus FOLDER\n");
    return 1;
  }
  for (const lockstep::NsysSchema schema : lockstep::kAllNsysSchemas) lockstep::WriteSeed(argv[1], schema);
  return 0;
}
