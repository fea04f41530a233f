#include "bench/simulator/program/serving_kernels.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::serving {
namespace {

int64_t Length(const Cost& cost, int64_t tokens) { return std::max(cost.floor_ns, cost.token_ps * tokens / 1000); }

int32_t Rows(int64_t tokens) { return static_cast<int32_t>(std::max<int64_t>(1, tokens)); }

}  // namespace

TimedKernel Norm(int64_t tokens) {
  return {{.name = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, "
                   "c10::BFloat16 const*, float, int, int)",
           .short_name = "fused_add_rms_norm_kernel",
           .shape = GridOf(Rows(tokens), 1, 512),
           .registers = 40,
           .host_op = "_C::fused_add_rms_norm"},
          Length({2'400, 4'200}, tokens)};
}

TimedKernel Gemm(std::string_view tile, int32_t blocks, const Cost& cost, int64_t tokens) {
  return {{.name = fmt::format("nvjet_tst_{}", tile),
           .short_name = fmt::format("nvjet_tst_{}", tile),
           .shape = GridOf(blocks, 1, 384),
           .registers = 168,
           .shared_memory = 213'000,
           .host_op = "aten::mm"},
          Length(cost, tokens)};
}

TimedKernel Rotary(int64_t tokens) {
  return {
      {.name = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, "
               "c10::BFloat16 const*, int, long, long, int, int, int)",
       .short_name = "rotary_embedding_kernel",
       .shape = GridOf(Rows(tokens), 1, 256),
       .registers = 28,
       .host_op = "_C::rotary_embedding"},
      Length({2'000, 2'900}, tokens)};
}

TimedKernel StoreCache(int64_t tokens) {
  return {{.name = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, "
                   "(vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, "
                   "__nv_bfloat16*, long const*, int, int, int, int, int, int)",
           .short_name = "reshape_and_cache_flash_kernel",
           .shape = GridOf(Rows(tokens), 1, 128),
           .registers = 24,
           .host_op = "_C_cache_ops::reshape_and_cache_flash"},
          Length({1'900, 1'700}, tokens)};
}

TimedKernel DecodeAttention(int64_t sequences) {
  return {
      {.name = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
               "cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t> >, false, false, false, "
               "false, true, false, true, false>(flash::Flash_fwd_params)",
       .short_name = "flash_fwd_splitkv_kernel",
       .shape = GridOf(1, Rows(sequences), 128),
       .registers = 255,
       .shared_memory = 81'920,
       .host_op = "vllm::unified_attention_with_output"},
      Length({6'000, 297'000}, sequences)};
}

TimedKernel PrefillAttention(int64_t tokens) {
  return {
      {.name = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
               "cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, "
               "false, true, true, false, false>(flash::Flash_fwd_params)",
       .short_name = "flash_fwd_kernel",
       .shape = GridOf(Rows(tokens / 128), 8, 128),
       .registers = 255,
       .shared_memory = 65'536,
       .host_op = "vllm::unified_attention_with_output"},
      Length({18'000, 50'000}, tokens)};
}

TimedKernel Activation(int64_t tokens) {
  return {{.name = "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>"
                   "(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)",
           .short_name = "act_and_mul_kernel",
           .shape = GridOf(Rows(tokens), 1, 1024),
           .registers = 26,
           .host_op = "_C::silu_and_mul"},
          Length({2'200, 6'100}, tokens)};
}

TimedKernel Embedding(int64_t tokens) {
  return {
      {.name = "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, "
               "-2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, "
               "at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, "
               "at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, long)",
       .short_name = "indexSelectSmallIndex",
       .shape = GridOf(128, 1, 128),
       .registers = 32,
       .host_op = "aten::embedding"},
      Length({3'100, 2'600}, tokens)};
}

TimedKernel ArgMax(int64_t sequences) {
  return {
      {.name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, "
               "unsigned int, long, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, "
               "4>)",
       .short_name = "reduce_kernel",
       .shape = GridOf(1, Rows(sequences), 512),
       .registers = 32,
       .shared_memory = 16,
       .host_op = "aten::argmax"},
      Length({11'000, 90'000}, sequences)};
}

}  // namespace lockstep::serving
