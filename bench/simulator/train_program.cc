// Training with tensor and data parallelism: forward and backward with two tensor-parallel all-reduces a layer each,
// gradients all-reduced in buckets on the data-parallel stream while backward goes on, a gradient-norm all-reduce over
// the world, the optimizer. All-reduces only: their kernels' names tell the data type, so that every form of trace
// tells it.
#include <fmt/format.h>

#include <algorithm>

#include "bench/simulator/step_builder.h"

namespace lockstep {
namespace {

constexpr int64_t kTokens = 4096;
constexpr int64_t kHidden = 4096;
constexpr int64_t kActivationBytes = kTokens * kHidden * 2;
constexpr int64_t kLayerParameters = 12 * kHidden * kHidden;
constexpr int32_t kLayersPerBucket = 4;
constexpr int32_t kLogEvery = 4;  // steps between two copies of statistics to the host
constexpr int64_t kLoaderNs = 400'000;

LaunchShape Shape(int32_t grid_x, int32_t grid_y, int32_t block_x) {
  return {.grid = {grid_x, grid_y, 1}, .block = {block_x, 1, 1}};
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

TimedKernel Norm(bool backward) {
  const std::string_view name = backward ? "layer_norm_grad_input_kernel" : "vectorized_layer_norm_kernel";
  return {{.name = fmt::format("void at::native::(anonymous namespace)::{}<c10::BFloat16, float>(int, float, "
                               "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, "
                               "c10::BFloat16*)",
                               name),
           .short_name = std::string(name),
           .shape = Shape(kTokens, 1, 128),
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
       .shape = Shape(32, 8, 128),
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
       .shape = Shape(32, 8, 256),
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
       .shape = Shape(32'768, 1, 128),
       .registers = 24,
       .host_op = std::string(host_op)},
      device_ns};
}

TimedKernel Adam() {
  return {{.name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
                   "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
                   "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float*, double>()",
           .short_name = "multi_tensor_apply_kernel",
           .shape = Shape(320, 1, 512),
           .registers = 56,
           .host_op = "aten::_fused_adamw_"},
          310'000};
}

class TrainProgram : public StepProgram {
 public:
  explicit TrainProgram(const SimulatorOptions& options) : layers_(options.layers), tp_(options.tp), dp_(options.dp) {
    StepBuilder builder(&kernels_, OldNcclNames(options));
    usual_ = Build(builder, false);
    logging_ = Build(builder, true);
  }

  const StepOps& StepOf(int32_t step, int32_t /*rank*/) const override {
    return step % kLogEvery == kLogEvery - 1 ? logging_ : usual_;
  }

 private:
  StepOps Build(StepBuilder& builder, bool logging) const {
    builder.HostWork(kLoaderNs);
    builder.Copy(CopyKind::kHostToDevice, kTokens * 8, 3'200);
    builder.Copy(CopyKind::kHostToDevice, kTokens * 8, 3'200);
    Forward(builder);
    Backward(builder);
    Optimizer(builder);
    builder.Copy(CopyKind::kDeviceToHost, 4, 1'500);
    builder.Sync();
    if (logging) {
      builder.Copy(CopyKind::kDeviceToHost, 64 * 1024, 6'000);
      builder.Sync();
    }
    return builder.Take();
  }

  void TensorAllReduce(StepBuilder& builder) const {
    if (tp_ > 1) {
      builder.Collective(GroupKind::kTp, CollectiveOp::kAllReduce, DataType::kBfloat16, kActivationBytes, true);
    }
  }

  void Forward(StepBuilder& builder) const {
    builder.BeginRange("## forward ##");
    for (int32_t layer = 0; layer < layers_; ++layer) {
      builder.Kernel(Norm(false));
      builder.Kernel(Gemm("256x128_64x4_2x1_v_bz_coopA_TNT", 132, 330'000));
      builder.Kernel(AttentionForward());
      builder.Kernel(Gemm("128x256_64x4_1x2_h_bz_coopA_TNT", 132, 120'000));
      TensorAllReduce(builder);
      builder.Kernel(Norm(false));
      builder.Kernel(Gemm("192x192_64x4_2x1_v_bz_coopA_TNT", 132, 440'000));
      builder.Kernel(Elementwise("GeluCUDAKernelImpl", "aten::gelu", 62'000));
      builder.Kernel(Gemm("128x256_64x4_2x1_v_bz_coopA_TNT", 132, 430'000));
      TensorAllReduce(builder);
    }
    builder.EndRange();
  }

  void Backward(StepBuilder& builder) const {
    builder.BeginRange("## backward ##");
    int32_t in_bucket = 0;
    for (int32_t layer = layers_ - 1; layer >= 0; --layer) {
      BackwardLayer(builder);
      if (++in_bucket == kLayersPerBucket || layer == 0) {
        ReduceGradients(builder, in_bucket);
        in_bucket = 0;
      }
    }
    builder.EndRange();
  }

  void BackwardLayer(StepBuilder& builder) const {
    builder.Kernel(Gemm("128x256_64x4_2x1_v_bz_coopA_NNT", 132, 440'000));
    builder.Kernel(Gemm("256x128_64x4_1x2_h_bz_coopA_NTN", 132, 450'000));
    builder.Kernel(Elementwise("GeluBackwardCUDAKernelImpl", "aten::gelu_backward", 90'000));
    builder.Kernel(Gemm("192x192_64x4_2x1_v_bz_coopA_NNT", 132, 450'000));
    builder.Kernel(Gemm("192x192_64x4_1x2_h_bz_coopA_NTN", 132, 460'000));
    builder.Kernel(Norm(true));
    TensorAllReduce(builder);
    builder.Kernel(Gemm("128x256_64x4_1x2_h_bz_coopA_NNT", 132, 125'000));
    builder.Kernel(Gemm("128x256_64x4_1x2_h_bz_coopA_NTN", 132, 130'000));
    builder.Kernel(AttentionBackward());
    builder.Kernel(Gemm("256x128_64x4_2x1_v_bz_coopA_NNT", 132, 340'000));
    builder.Kernel(Gemm("256x128_64x4_2x1_v_bz_coopA_NTN", 132, 345'000));
    builder.Kernel(Norm(true));
    TensorAllReduce(builder);
  }

  [[nodiscard]] int64_t GradientBytes(int32_t layers) const { return kLayerParameters * 2 / tp_ * layers; }

  void ReduceGradients(StepBuilder& builder, int32_t layers) const {
    if (dp_ == 1) return;
    builder.Collective(GroupKind::kDp, CollectiveOp::kAllReduce, DataType::kBfloat16, GradientBytes(layers), false);
  }

  void Optimizer(StepBuilder& builder) const {
    builder.BeginRange("Optimizer.step#AdamW.step");
    if (dp_ > 1) builder.Wait(Stream::kDp);
    builder.Kernel(Elementwise("NormOpsImpl", "aten::_foreach_norm", 140'000));
    GradientNorm(builder);
    const int32_t buckets = (layers_ + kLayersPerBucket - 1) / kLayersPerBucket;
    for (int32_t bucket = 0; bucket < buckets; ++bucket) {
      builder.Kernel(Adam());
    }
    builder.Set(64 * int64_t{1} << 20, 45'000);
    builder.EndRange();
  }

  // On the world, or on the group that equals it: no two communicators with collectives have the same members.
  void GradientNorm(StepBuilder& builder) const {
    if (tp_ * dp_ == 1) return;
    const GroupKind group = dp_ == 1 ? GroupKind::kTp : tp_ == 1 ? GroupKind::kDp : GroupKind::kWorld;
    builder.Collective(group, CollectiveOp::kAllReduce, DataType::kFloat32, 4, true);
  }

  int32_t layers_;
  int32_t tp_;
  int32_t dp_;
  StepOps usual_;
  StepOps logging_;
};

}  // namespace

std::unique_ptr<StepProgram> MakeTrainProgram(const SimulatorOptions& options) {
  return std::make_unique<TrainProgram>(options);
}

}  // namespace lockstep
