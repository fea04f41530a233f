// Training with tensor, data, expert and pipeline parallelism: forward and backward with two tensor-parallel
// all-reduces a layer each, gradients all-reduced in buckets while backward goes on (or after it), three small
// all-reduces over the world (gradient norm, overflow, loss), the optimizer. Layers with experts exchange tokens before
// and after them. A pipeline runs its micro-batches one forward, one backward; both directions of neighbours that
// exchange at the same time share a kernel. Interleaved, each stage has several parts of the model (PipelineSchedule)
// and every transfer a kernel of its own.
//
// With a sharded optimizer gradients are reduced to owners, who broadcast the parameters after the step; a broadcast of
// small buffers begins a step, and the loss is reduced to the first replica. Fully sharded, every layer's parameters
// are gathered one layer ahead, forward and again backward, and its gradients scattered while backward goes on.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/simulator/program/pipeline_schedule.h"
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

constexpr int64_t kTrainHidden = 4096;
constexpr int64_t kLayerParameters = 12 * kTrainHidden * kTrainHidden;
constexpr int32_t kLayersPerBucket = 4;
constexpr int32_t kLogEvery = 4;  // steps between two copies of statistics to the host
constexpr int64_t kLoaderNs = 400'000;
constexpr int64_t kStatisticsBytes = 64 * 1024;  // of a model's running statistics
constexpr int32_t kSmallerMicroBatches = 2;      // a pipeline's have this share of the tokens

class TrainProgram : public StepProgram {
 public:
  explicit TrainProgram(const SimulatorOptions& options)
      : options_(options),
        stage_ranks_(options.tp * options.dp),
        tokens_(options.pp > 1 ? kTrainTokens / kSmallerMicroBatches : kTrainTokens),
        builder_(&kernels_, options_) {
    if (options.interleave > 1) {
      schedule_ = InterleavedSchedule(options.pp, options.interleave, options.micro_batches);
    }
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
  [[nodiscard]] int64_t activation_bytes() const { return tokens_ * kTrainHidden * 2; }
  [[nodiscard]] bool shards(Sharding what) const { return options_.shard == what; }
  // Layers of the part of this stage: the first ones of the pipeline have one more where they do not divide.
  [[nodiscard]] int32_t LayersOf(int32_t part) const {
    const int32_t parts = options_.pp * options_.interleave;
    return options_.layers / parts + (part * options_.pp + stage_ < options_.layers % parts ? 1 : 0);
  }
  [[nodiscard]] int32_t layers() const { return LayersOf(part_); }
  [[nodiscard]] int32_t StageLayers() const {
    int32_t layers = 0;
    for (int32_t part = 0; part < options_.interleave; ++part) layers += LayersOf(part);
    return layers;
  }
  [[nodiscard]] int32_t buckets() const { return (StageLayers() + kLayersPerBucket - 1) / kLayersPerBucket; }
  [[nodiscard]] bool has_experts(int32_t layer) const {
    return options_.ep > 1 && (options_.program == ProgramKind::kMoe || layer % 2 == 1);
  }

  StepOps Build(bool logging) {
    exchange_ = 0;
    bucket_ = 0;
    part_ = 0;
    builder_.HostWork(kLoaderNs);
    if (first_stage() || last_stage()) {
      builder_.Copy(CopyKind::kHostToDevice, tokens_ * 8, 3'200);
      builder_.Copy(CopyKind::kHostToDevice, tokens_ * 8, 3'200);
    }
    if (shards(Sharding::kOptimizer)) Owned(CollectiveOp::kBroadcast, kStatisticsBytes, 0, true);
    if (options_.interleave > 1) {
      Interleaved();
    } else if (options_.pp > 1) {
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

  void Interleaved() {
    std::vector<int32_t> backward(static_cast<size_t>(options_.interleave));  // passes done, by part
    for (const PipelineItem& item : schedule_[static_cast<size_t>(stage_)]) {
      part_ = item.part;
      switch (item.work) {
        case PipelineWork::kForward:
          Forward();
          break;
        case PipelineWork::kBackward:
          Backward(++backward[static_cast<size_t>(part_)] == options_.micro_batches);
          break;
        case PipelineWork::kSend:
          builder_.PointToPoint(GroupKind::kPp, item.peer, -1, activation_bytes());
          break;
        case PipelineWork::kReceive:
          builder_.PointToPoint(GroupKind::kPp, -1, item.peer, activation_bytes());
          break;
      }
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
    GatherLayer();
    for (int32_t layer = 0; layer < layers(); ++layer) {
      AwaitShards();
      if (layer + 1 < layers()) GatherLayer();
      ForwardLayer(has_experts(layer));
      builder_.EndLayer();
    }
    builder_.EndRange();
  }

  void ForwardLayer(bool experts) {
    Run(Norm(false));
    Run(Gemm("256x128_64x4_2x1_v_bz_coopA_TNT", 132, 330'000));
    Run(AttentionForward());
    Run(Gemm("128x256_64x4_1x2_h_bz_coopA_TNT", 132, 120'000));
    builder_.LayerAllReduce(activation_bytes());
    Run(Norm(false));
    if (experts) {
      Experts(false);
    } else {
      Run(Gemm("192x192_64x4_2x1_v_bz_coopA_TNT", 132, 440'000));
      Run(Elementwise("GeluCUDAKernelImpl", "aten::gelu", 62'000));
      Run(Gemm("128x256_64x4_2x1_v_bz_coopA_TNT", 132, 430'000));
    }
    builder_.LayerAllReduce(activation_bytes());
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

  // `last`: of the step; gradients are complete afterwards. The next layer's parameters are awaited before this one's
  // gradients go out on the same stream.
  void Backward(bool last) {
    builder_.BeginRange("## backward ##");
    int32_t in_bucket = 0;
    GatherLayer();
    AwaitShards();
    for (int32_t layer = layers() - 1; layer >= 0; --layer) {
      if (layer > 0) GatherLayer();
      BackwardLayer(has_experts(layer));
      builder_.EndLayer();
      if (layer > 0) AwaitShards();
      ScatterLayer();
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

  // Fully sharded: a layer's parameters, and its gradients.
  void GatherLayer() { ShardedLayer(CollectiveOp::kAllGather); }
  void ScatterLayer() { ShardedLayer(CollectiveOp::kReduceScatter); }
  void ShardedLayer(CollectiveOp op) {
    if (!shards(Sharding::kFull)) return;
    builder_.Collective(GroupKind::kDp, op, DataType::kBfloat16, GradientBytes(1) / options_.dp, false);
  }
  void AwaitShards() {
    if (shards(Sharding::kFull)) builder_.WaitFor(GroupKind::kDp);
  }

  // From or to the owner of something among the replicas.
  void Owned(CollectiveOp op, int64_t bytes, int32_t owner, bool compute_waits) {
    builder_.Rooted(GroupKind::kDp, op, DataType::kBfloat16, bytes, owner % options_.dp, compute_waits);
  }

  void ReduceGradients(int32_t layers) {
    if (options_.dp == 1 || shards(Sharding::kFull)) return;
    if (shards(Sharding::kOptimizer)) {
      return Owned(CollectiveOp::kReduce, GradientBytes(layers), bucket_++, false);
    }
    builder_.Collective(GroupKind::kDp, CollectiveOp::kAllReduce, DataType::kBfloat16, GradientBytes(layers), false);
  }

  void Optimizer() {
    builder_.BeginRange("Optimizer.step#AdamW.step");
    for (int32_t left = StageLayers(); !options_.overlap && left > 0; left -= kLayersPerBucket) {
      ReduceGradients(std::min(left, kLayersPerBucket));
    }
    if (options_.dp > 1) builder_.WaitFor(GroupKind::kDp);
    builder_.Kernel(Elementwise("NormOpsImpl", "aten::_foreach_norm", 140'000));
    if (shards(Sharding::kOptimizer)) {
      builder_.Collective(GroupKind::kDp, CollectiveOp::kAllReduce, DataType::kFloat32, 4, true);
    }
    SmallAllReduce();
    builder_.Kernel(Elementwise("NonFiniteCheckImpl", "aten::_amp_foreach_non_finite_check", 60'000));
    SmallAllReduce();
    UpdateParameters();
    builder_.Set(64 * int64_t{1} << 20, 45'000);
    builder_.Kernel(Elementwise("MeanOpsImpl", "aten::mean", 4'000));
    if (shards(Sharding::kOptimizer)) Owned(CollectiveOp::kReduce, 4, 0, true);
    SmallAllReduce();
    builder_.EndRange();
  }

  // Replicas that divide the optimizer's state divide its work, too.
  void UpdateParameters() {
    TimedKernel update = Adam();
    if (!shards(Sharding::kNone)) update.device_ns /= options_.dp;
    for (int32_t bucket = 0; bucket < buckets(); ++bucket) builder_.Kernel(update);
    if (!shards(Sharding::kOptimizer)) return;
    for (int32_t left = StageLayers(), owner = 0; left > 0; left -= kLayersPerBucket) {
      Owned(CollectiveOp::kBroadcast, GradientBytes(std::min(left, kLayersPerBucket)), owner++,
            left <= kLayersPerBucket);
    }
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
  int32_t stage_ = 0;                                // the one that is being built
  int32_t part_ = 0;                                 // ... and its part
  int32_t bucket_ = 0;                               // the next one of gradients
  uint32_t exchange_ = 0;                            // the next layer with experts
  std::vector<std::vector<PipelineItem>> schedule_;  // of an interleaved pipeline
  std::vector<StepOps> steps_;
};

}  // namespace

std::unique_ptr<StepProgram> MakeTrainProgram(const SimulatorOptions& options) {
  return std::make_unique<TrainProgram>(options);
}

}  // namespace lockstep
