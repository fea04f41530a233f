#include "bench/simulator/program/train_kernels.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace lockstep::train {

TimedKernel Gemm(std::string_view tile, int32_t blocks, int64_t device_ns) {
  return {{.name = fmt::format("nvjet_tst_{}", tile),
           .short_name = fmt::format("nvjet_tst_{}", tile),
           .shape = GridOf(blocks, 1, 384),
           .registers = 168,
           .shared_memory = 213'000,
           .host_op = "aten::mm"},
          device_ns};
}

TimedKernel Norm(bool backward) {
  const std::string_view name = backward ? "layer_norm_grad_input_kernel" : "vectorized_layer_norm_kernel";
  return {{.name = fmt::format("void at::native::(anonymous namespace)::{}<c10::BFloat16, float>(int, float, "
                               "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, "
                               "c10::BFloat16*)",
                               name),
           .short_name = std::string(name),
           .shape = GridOf(kTrainTokens, 1, 128),
           .registers = 32,
           .shared_memory = 24,
           .host_op = backward ? "aten::native_layer_norm_backward" : "aten::native_layer_norm"},
          backward ? 78'000 : 34'000};
}

TimedKernel AttentionForward() {
  return {
      {.name = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
               "cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, "
               "false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
       .short_name = "flash_fwd_kernel",
       .shape = GridOf(32, 8, 128),
       .registers = 255,
       .shared_memory = 65'536,
       .host_op = "aten::_flash_attention_forward"},
      410'000};
}

TimedKernel AttentionBackward() {
  return {
      {.name = "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, "
               "8, 2, 4, 2, false, false, cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 8, "
               "cutlass::bfloat16_t> >, false, true, false, false, true, true, "
               "false>(pytorch_flash::Flash_bwd_params)",
       .short_name = "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
       .shape = GridOf(32, 8, 256),
       .registers = 255,
       .shared_memory = 147'456,
       .host_op = "aten::_flash_attention_backward"},
      980'000};
}

TimedKernel Elementwise(std::string_view functor, std::string_view host_op, int64_t device_ns) {
  return {
      {.name = fmt::format("void at::native::vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, 2ul> "
                           ">(int, at::native::{}, std::array<char*, 2ul>)",
                           functor, functor),
       .short_name = "vectorized_elementwise_kernel",
       .shape = GridOf(32'768, 1, 128),
       .registers = 24,
       .host_op = std::string(host_op)},
      device_ns};
}

TimedKernel Adam() {
  return {{.name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
                   "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
                   "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float*, double>()",
           .short_name = "multi_tensor_apply_kernel",
           .shape = GridOf(320, 1, 512),
           .registers = 56,
           .host_op = "aten::_fused_adamw_"},
          310'000};
}

TimedKernel Router() {
  return {{.name = "void moe_router::topk_gating_softmax_kernel<c10::BFloat16, 8, 64, 4, 16>(c10::BFloat16 const*, "
                   "float*, int*, int, int)",
           .short_name = "topk_gating_softmax_kernel",
           .shape = GridOf(kTrainTokens / 8, 1, 256),
           .registers = 48,
           .host_op = "moe::topk_gating"},
          21'000};
}

TimedKernel Permute(bool back) {
  const std::string name = back ? "moe_unpermute_kernel" : "moe_permute_kernel";
  return {
      {.name = fmt::format("void moe_permute::{}<c10::BFloat16, 8>(c10::BFloat16 const*, c10::BFloat16*, int const*, "
                           "int, int)",
                           name),
       .short_name = name,
       .shape = GridOf(kTrainTokens, 1, 256),
       .registers = 28,
       .host_op = back ? "moe::unpermute" : "moe::permute"},
      38'000};
}

TimedKernel ExpertGemm(std::string_view part, int64_t device_ns) {
  const std::string name = fmt::format("grouped_moe_gemm_{}", part);
  return {{.name = name,
           .short_name = name,
           .shape = GridOf(1'056, 1, 256),
           .registers = 168,
           .shared_memory = 196'608,
           .host_op = "moe::grouped_mm"},
          device_ns,
          true};
}

}  // namespace lockstep::train
