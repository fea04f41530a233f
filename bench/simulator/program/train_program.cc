// Training with tensor, data, expert and pipeline parallelism: forward and backward with two tensor-parallel
// all-reduces a layer each, gradients all-reduced in buckets while backward goes on (or after it), three small
// all-reduces over the world (gradient norm, overflow, loss), the optimizer. Layers with experts exchange tokens before
// and after them. A pipeline runs its micro-batches one forward, one backward; both directions of neighbours that
// exchange at the same time share a kernel.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/simulator/program/step_builder.h"
#include "bench/simulator/program/train_kernels.h"

namespace lockstep {
namespace {

using train::Adam;
using train::AttentionBackward;
using train::AttentionForward;
using train::Elementwise;
using train::ExpertGemm;
using train::Gemm;
using train::kTrainTokens;
using train::Norm;
using train::Permute;
using train::Router;

constexpr int64_t kHidden = 4096;
constexpr int64_t kLayerParameters = 12 * kHidden * kHidden;
constexpr int32_t kLayersPerBucket = 4;
constexpr int32_t kLogEvery = 4;  // steps between two copies of statistics to the host
constexpr int64_t kLoaderNs = 400'000;
constexpr int32_t kSmallerMicroBatches = 2;  // a pipeline's have this share of the tokens

class TrainProgram : public StepProgram {
 public:
  explicit TrainProgram(const SimulatorOptions& options)
      : options_(options),
        stage_ranks_(options.tp * options.dp),
        tokens_(options.pp > 1 ? kTrainTokens / kSmallerMicroBatches : kTrainTokens),
        builder_(&kernels_, options_) {
    for (stage_ = 0; stage_ < options.pp; ++stage_) {
      steps_.push_back(Build(false));
      steps_.push_back(Build(true));
    }
  }

  const StepOps& StepOf(int32_t step, int32_t rank) const override {
    const bool logging = step % kLogEvery == kLogEvery - 1;
    return steps_[static_cast<size_t>(2 * (rank / stage_ranks_) + (logging ? 1 : 0))];
  }

 private:
  [[nodiscard]] bool first_stage() const { return stage_ == 0; }
  [[nodiscard]] bool last_stage() const { return stage_ == options_.pp - 1; }
  [[nodiscard]] int64_t activation_bytes() const { return tokens_ * kHidden * 2; }
  // Layers of this stage: the first stages have one more where they do not divide.
  [[nodiscard]] int32_t layers() const {
    return options_.layers / options_.pp + (stage_ < options_.layers % options_.pp ? 1 : 0);
  }
  [[nodiscard]] int32_t buckets() const { return (layers() + kLayersPerBucket - 1) / kLayersPerBucket; }
  [[nodiscard]] bool has_experts(int32_t layer) const {
    return options_.ep > 1 && (options_.program == ProgramKind::kMoe || layer % 2 == 1);
  }

  StepOps Build(bool logging) {
    exchange_ = 0;
    builder_.HostWork(kLoaderNs);
    if (first_stage() || last_stage()) {
      builder_.Copy(CopyKind::kHostToDevice, tokens_ * 8, 3'200);
      builder_.Copy(CopyKind::kHostToDevice, tokens_ * 8, 3'200);
    }
    if (options_.pp > 1) {
      Pipeline();
    } else {
      Forward();
      Backward(true);
    }
    Optimizer();
    builder_.Copy(CopyKind::kDeviceToHost, 4, 1'500);
    builder_.Sync();
    if (logging) {
      builder_.Copy(CopyKind::kDeviceToHost, 64 * 1024, 6'000);
      builder_.Sync();
    }
    return builder_.Take();
  }

  // One forward, one backward: enough forwards first that every later stage has work.
  void Pipeline() {
    const int32_t ahead = std::min(options_.pp - 1 - stage_, options_.micro_batches);
    const int32_t paired = options_.micro_batches - ahead;
    for (int32_t i = 0; i < ahead; ++i) {
      FromPrevious(true, false);
      Forward();
      ToNext(true, false);
    }
    if (paired > 0) FromPrevious(true, false);
    for (int32_t i = 0; i < paired; ++i) {
      Forward();
      ToNext(true, true);
      Backward(ahead == 0 && i == paired - 1);
      FromPrevious(i < paired - 1, true);
    }
    for (int32_t i = 0; i < ahead; ++i) {
      ToNext(false, true);
      Backward(i == ahead - 1);
      FromPrevious(false, true);
    }
  }

  // With the stage before: receive activations, send gradients, or both at once.
  void FromPrevious(bool activations, bool gradients) {
    if (first_stage()) return;
    builder_.PointToPoint(GroupKind::kPp, gradients ? stage_ - 1 : -1, activations ? stage_ - 1 : -1,
                          activation_bytes());
  }
  // With the stage after: send activations, receive gradients, or both at once.
  void ToNext(bool activations, bool gradients) {
    if (last_stage()) return;
    builder_.PointToPoint(GroupKind::kPp, activations ? stage_ + 1 : -1, gradients ? stage_ + 1 : -1,
                          activation_bytes());
  }

  void Run(TimedKernel kernel) {
    kernel.device_ns = kernel.device_ns * tokens_ / kTrainTokens;
    builder_.Kernel(kernel);
  }

  void Forward() {
    builder_.BeginRange("## forward ##");
    for (int32_t layer = 0; layer < layers(); ++layer) {
      Run(Norm(false));
      Run(Gemm("256x128_64x4_2x1_v_bz_coopA_TNT", 132, 330'000));
      Run(AttentionForward());
      Run(Gemm("128x256_64x4_1x2_h_bz_coopA_TNT", 132, 120'000));
      builder_.LayerAllReduce(activation_bytes());
      Run(Norm(false));
      if (has_experts(layer)) {
        Experts(false);
      } else {
        Run(Gemm("192x192_64x4_2x1_v_bz_coopA_TNT", 132, 440'000));
        Run(Elementwise("GeluCUDAKernelImpl", "aten::gelu", 62'000));
        Run(Gemm("128x256_64x4_2x1_v_bz_coopA_TNT", 132, 430'000));
      }
      builder_.LayerAllReduce(activation_bytes());
    }
    builder_.EndRange();
  }

  // Tokens to their experts, the experts' work, tokens back.
  void Experts(bool backward) {
    Run(Router());
    Run(Permute(false));
    builder_.TokenExchange(activation_bytes(), exchange_, false);
    Run(ExpertGemm(backward ? "dgrad" : "up", backward ? 900'000 : 440'000));
    Run(ExpertGemm(backward ? "wgrad" : "down", backward ? 910'000 : 430'000));
    builder_.TokenExchange(activation_bytes(), exchange_++, true);
    Run(Permute(true));
  }

  // `last`: of the step; gradients are complete afterwards.
  void Backward(bool last) {
    builder_.BeginRange("## backward ##");
    int32_t in_bucket = 0;
    for (int32_t layer = layers() - 1; layer >= 0; --layer) {
      BackwardLayer(has_experts(layer));
      if (!last || !options_.overlap) continue;
      if (++in_bucket == kLayersPerBucket || layer == 0) ReduceGradients(std::exchange(in_bucket, 0));
    }
    builder_.EndRange();
  }

  void BackwardLayer(bool experts) {
    if (experts) {
      Experts(true);
    } else {
      Run(Gemm("128x256_64x4_2x1_v_bz_coopA_NNT", 132, 440'000));
      Run(Gemm("256x128_64x4_1x2_h_bz_coopA_NTN", 132, 450'000));
      Run(Elementwise("GeluBackwardCUDAKernelImpl", "aten::gelu_backward", 90'000));
      Run(Gemm("192x192_64x4_2x1_v_bz_coopA_NNT", 132, 450'000));
      Run(Gemm("192x192_64x4_1x2_h_bz_coopA_NTN", 132, 460'000));
    }
    Run(Norm(true));
    builder_.LayerAllReduce(activation_bytes());
    Run(Gemm("128x256_64x4_1x2_h_bz_coopA_NNT", 132, 125'000));
    Run(Gemm("128x256_64x4_1x2_h_bz_coopA_NTN", 132, 130'000));
    Run(AttentionBackward());
    Run(Gemm("256x128_64x4_2x1_v_bz_coopA_NNT", 132, 340'000));
    Run(Gemm("256x128_64x4_2x1_v_bz_coopA_NTN", 132, 345'000));
    Run(Norm(true));
    builder_.LayerAllReduce(activation_bytes());
  }

  [[nodiscard]] int64_t GradientBytes(int32_t layers) const { return kLayerParameters * 2 / options_.tp * layers; }

  void ReduceGradients(int32_t layers) {
    if (options_.dp == 1) return;
    builder_.Collective(GroupKind::kDp, CollectiveOp::kAllReduce, DataType::kBfloat16, GradientBytes(layers), false);
  }

  void Optimizer() {
    builder_.BeginRange("Optimizer.step#AdamW.step");
    for (int32_t left = layers(); !options_.overlap && left > 0; left -= kLayersPerBucket) {
      ReduceGradients(std::min(left, kLayersPerBucket));
    }
    if (options_.dp > 1) builder_.WaitFor(GroupKind::kDp);
    builder_.Kernel(Elementwise("NormOpsImpl", "aten::_foreach_norm", 140'000));
    SmallAllReduce();
    builder_.Kernel(Elementwise("NonFiniteCheckImpl", "aten::_amp_foreach_non_finite_check", 60'000));
    SmallAllReduce();
    for (int32_t bucket = 0; bucket < buckets(); ++bucket) builder_.Kernel(Adam());
    builder_.Set(64 * int64_t{1} << 20, 45'000);
    builder_.Kernel(Elementwise("MeanOpsImpl", "aten::mean", 4'000));
    SmallAllReduce();
    builder_.EndRange();
  }

  // Gradient norm, overflow, loss: over all ranks. A bare pipeline has none, so that its stages meet in pairs only.
  void SmallAllReduce() {
    const bool bare = options_.program == ProgramKind::kPipeline && options_.tp * options_.dp == 1;
    if (options_.world() == 1 || bare) return;
    builder_.Collective(GroupKind::kWorld, CollectiveOp::kAllReduce, DataType::kFloat32, 4, true);
  }

  const SimulatorOptions options_;
  int32_t stage_ranks_;
  int64_t tokens_;
  StepBuilder builder_;
  int32_t stage_ = 0;      // the one that is being built
  uint32_t exchange_ = 0;  // the next layer with experts
  std::vector<StepOps> steps_;
};

}  // namespace

std::unique_ptr<StepProgram> MakeTrainProgram(const SimulatorOptions& options) {
  return std::make_unique<TrainProgram>(options);
}

}  // namespace lockstep
