// Tensor-parallel decoding: one token for a batch of sequences a step. Many kernels of a few microseconds and two small
// all-reduces a layer; the host launches only little ahead of the device and synchronises after every token.
#include <fmt/format.h>

#include "bench/simulator/step_builder.h"

namespace lockstep {
namespace {

constexpr int64_t kBatch = 32;
constexpr int64_t kHidden = 4096;
constexpr int64_t kMessageBytes = kBatch * kHidden * 2;
constexpr int64_t kSchedulerNs = 180'000;  // the serving framework between two tokens

LaunchShape Shape(int32_t grid_x, int32_t grid_y, int32_t block_x) {
  return {.grid = {grid_x, grid_y, 1}, .block = {block_x, 1, 1}};
}

TimedKernel Norm() {
  return {{.name = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, "
                   "c10::BFloat16 const*, float, int, int)",
           .short_name = "fused_add_rms_norm_kernel",
           .shape = Shape(kBatch, 1, 512),
           .registers = 40,
           .host_op = "_C::fused_add_rms_norm"},
          2'400};
}

TimedKernel Gemm(std::string_view tile, int32_t blocks, int64_t device_ns) {
  return {{.name = fmt::format("nvjet_tst_{}", tile),
           .short_name = fmt::format("nvjet_tst_{}", tile),
           .shape = Shape(blocks, 1, 384),
           .registers = 168,
           .shared_memory = 213'000,
           .host_op = "aten::mm"},
          device_ns};
}

TimedKernel Rotary() {
  return {
      {.name = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, "
               "c10::BFloat16 const*, int, long, long, int, int, int)",
       .short_name = "rotary_embedding_kernel",
       .shape = Shape(kBatch, 1, 256),
       .registers = 28,
       .host_op = "_C::rotary_embedding"},
      2'000};
}

TimedKernel StoreCache() {
  return {{.name = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, "
                   "(vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, "
                   "__nv_bfloat16*, long const*, int, int, int, int, int, int)",
           .short_name = "reshape_and_cache_flash_kernel",
           .shape = Shape(kBatch, 1, 128),
           .registers = 24,
           .host_op = "_C_cache_ops::reshape_and_cache_flash"},
          1'900};
}

TimedKernel Attention() {
  return {
      {.name = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
               "cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t> >, false, false, false, "
               "false, true, false, true, false>(flash::Flash_fwd_params)",
       .short_name = "flash_fwd_splitkv_kernel",
       .shape = Shape(1, kBatch, 128),
       .registers = 255,
       .shared_memory = 81'920,
       .host_op = "vllm::unified_attention_with_output"},
      9'500};
}

TimedKernel Activation() {
  return {{.name = "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>"
                   "(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)",
           .short_name = "act_and_mul_kernel",
           .shape = Shape(kBatch, 1, 1024),
           .registers = 26,
           .host_op = "_C::silu_and_mul"},
          2'200};
}

TimedKernel Embedding() {
  return {
      {.name = "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, "
               "-2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, "
               "at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, "
               "at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, long)",
       .short_name = "indexSelectSmallIndex",
       .shape = Shape(128, 1, 128),
       .registers = 32,
       .host_op = "aten::embedding"},
      3'100};
}

TimedKernel ArgMax() {
  return {
      {.name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, "
               "unsigned int, long, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, "
               "4>)",
       .short_name = "reduce_kernel",
       .shape = Shape(1, kBatch, 512),
       .registers = 32,
       .shared_memory = 16,
       .host_op = "aten::argmax"},
      11'000};
}

class DecodeProgram : public StepProgram {
 public:
  explicit DecodeProgram(const SimulatorOptions& options) {
    StepBuilder builder(&kernels_, OldNcclNames(options));
    const bool parallel = options.tp > 1;
    builder.HostWork(kSchedulerNs);
    builder.BeginRange(fmt::format("step[DECODE bs={}]", kBatch));
    builder.Copy(CopyKind::kHostToDevice, kBatch * 8, 1'300);
    builder.Copy(CopyKind::kHostToDevice, kBatch * 8, 1'300);
    builder.Kernel(Embedding());
    for (int32_t layer = 0; layer < options.layers; ++layer) AddLayer(builder, parallel);
    builder.Kernel(Norm());
    builder.Kernel(Gemm("64x16_64x15_1x4_h_bz_TNT", 132, 24'000));
    builder.Kernel(ArgMax());
    builder.Copy(CopyKind::kDeviceToHost, kBatch * 8, 1'500);
    builder.Sync();
    builder.EndRange();
    step_ = builder.Take();
  }

  const StepOps& StepOf(int32_t /*step*/, int32_t /*rank*/) const override { return step_; }

 private:
  static void AllReduce(StepBuilder& builder) {
    builder.Collective(GroupKind::kTp, CollectiveOp::kAllReduce, DataType::kBfloat16, kMessageBytes, true);
  }

  static void AddLayer(StepBuilder& builder, bool parallel) {
    builder.Kernel(Norm());
    builder.Kernel(Gemm("64x8_64x16_4x1_v_bz_TNT", 96, 7'200));
    builder.Kernel(Rotary());
    builder.Kernel(StoreCache());
    builder.Kernel(Attention());
    builder.Kernel(Gemm("64x8_64x16_4x1_v_bz_splitK_TNT", 128, 5'400));
    if (parallel) AllReduce(builder);
    builder.Kernel(Norm());
    builder.Kernel(Gemm("128x8_64x12_2x1_v_bz_TNT", 112, 10'600));
    builder.Kernel(Activation());
    builder.Kernel(Gemm("64x8_64x16_2x1_v_bz_TNT", 64, 7'600));
    if (parallel) AllReduce(builder);
  }

  StepOps step_;
};

}  // namespace

std::unique_ptr<StepProgram> MakeDecodeProgram(const SimulatorOptions& options) {
  return std::make_unique<DecodeProgram>(options);
}

}  // namespace lockstep
