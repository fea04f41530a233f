// An inference server with tensor parallelism: decoding (one token a step for every sequence of a batch), prefilling
// (long prompts), and continuous batching, where a step decodes and may first take in chunks of new prompts.
//
// Decoding has many kernels of a few microseconds and two small all-reduces a layer after one for the embedding; the
// host launches only little ahead of the device and synchronises after every token. As a CUDA graph it is one launch.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/program/serving_kernels.h"
#include "bench/simulator/program/step_builder.h"

namespace lockstep {
namespace {

constexpr int64_t kServingHidden = 4096;
constexpr int64_t kBatch = 32;
constexpr int64_t kPromptTokens = 8192;
constexpr int64_t kSchedulerNs = 180'000;  // the serving framework between two steps

class ServingProgram : public StepProgram {
 public:
  explicit ServingProgram(const SimulatorOptions& options) : options_(options), builder_(&kernels_, options_) {}

 protected:
  // A step that takes in `chunks` pieces of prompts and then decodes; a batch of 0 decodes nothing.
  StepOps Step(int64_t chunks, int64_t chunk_tokens, int64_t batch) {
    builder_.HostWork(kSchedulerNs);
    const bool mixed = chunks > 0;
    builder_.BeginRange(mixed ? fmt::format("step[EXTEND bs={} tokens={}]", batch + chunks, chunks * chunk_tokens)
                              : fmt::format("step[DECODE bs={}]", batch));
    for (int64_t chunk = 0; chunk < chunks; ++chunk) Prefill(chunk_tokens);
    if (batch > 0) Decode(batch);
    builder_.Copy(CopyKind::kDeviceToHost, (batch + chunks) * 8, 1'500);
    builder_.Sync();
    builder_.EndRange();
    return builder_.Take();
  }

 private:
  static int64_t MessageBytes(int64_t tokens) { return tokens * kServingHidden * 2; }

  void Prefill(int64_t tokens) {
    builder_.Copy(CopyKind::kHostToDevice, tokens * 8, 2'600);
    builder_.Copy(CopyKind::kHostToDevice, tokens * 8, 2'600);
    Pass(tokens, true);
    Sample(1);
  }

  void Decode(int64_t batch) {
    builder_.Copy(CopyKind::kHostToDevice, batch * 8, 1'300);
    builder_.Copy(CopyKind::kHostToDevice, batch * 8, 1'300);
    if (options_.graphs) builder_.BeginGraph();
    Pass(batch, false);
    Sample(batch);
    if (options_.graphs) builder_.EndGraph();
  }

  void Pass(int64_t tokens, bool prefill) {
    builder_.Kernel(serving::Embedding(tokens));
    builder_.LayerAllReduce(MessageBytes(tokens));
    for (int32_t layer = 0; layer < options_.layers; ++layer) {
      Layer(tokens, prefill);
      builder_.EndLayer();
    }
  }

  void Layer(int64_t tokens, bool prefill) {
    const char* wide = prefill ? "256x128_64x4_2x1_v_bz_coopA_TNT" : "64x8_64x16_4x1_v_bz_TNT";
    const char* narrow = prefill ? "128x256_64x4_1x2_h_bz_coopA_TNT" : "64x8_64x16_4x1_v_bz_splitK_TNT";
    builder_.Kernel(serving::Norm(tokens));
    builder_.Kernel(serving::Gemm(wide, prefill ? 132 : 96, {7'200, 40'000}, tokens));
    builder_.Kernel(serving::Rotary(tokens));
    builder_.Kernel(serving::StoreCache(tokens));
    builder_.Kernel(prefill ? serving::PrefillAttention(tokens) : serving::DecodeAttention(tokens));
    builder_.Kernel(serving::Gemm(narrow, prefill ? 132 : 128, {5'400, 15'000}, tokens));
    builder_.LayerAllReduce(MessageBytes(tokens));
    builder_.Kernel(serving::Norm(tokens));
    builder_.Kernel(serving::Gemm(prefill ? "192x192_64x4_2x1_v_bz_coopA_TNT" : "128x8_64x12_2x1_v_bz_TNT",
                                  prefill ? 132 : 112, {10'600, 54'000}, tokens));
    builder_.Kernel(serving::Activation(tokens));
    builder_.Kernel(serving::Gemm(prefill ? "128x256_64x4_2x1_v_bz_coopA_TNT" : "64x8_64x16_2x1_v_bz_TNT",
                                  prefill ? 132 : 64, {7'600, 53'000}, tokens));
    builder_.LayerAllReduce(MessageBytes(tokens));
  }

  void Sample(int64_t sequences) {
    builder_.Kernel(serving::Norm(sequences));
    builder_.Kernel(serving::Gemm("64x16_64x15_1x4_h_bz_TNT", 132, {24'000, 90'000}, sequences));
    builder_.Kernel(serving::ArgMax(sequences));
  }

 protected:
  const SimulatorOptions options_;

 private:
  StepBuilder builder_;
};

// The same in every step.
class SteadyProgram : public ServingProgram {
 public:
  SteadyProgram(const SimulatorOptions& options, int64_t prompts, int64_t prompt_tokens, int64_t batch)
      : ServingProgram(options), step_(Step(prompts, prompt_tokens, batch)) {}

  const StepOps& StepOf(int32_t /*step*/, int32_t /*rank*/) const override { return step_; }

 private:
  StepOps step_;
};

// Some steps take in one or two chunks of prompts, and batches grow and shrink: alike on all ranks, as the one
// scheduler decides it.
class BatchingProgram : public ServingProgram {
 public:
  explicit BatchingProgram(const SimulatorOptions& options) : ServingProgram(options), rng_(options.seed) {
    for (const int64_t chunks : {0, 1, 2}) {
      for (const int64_t batch : kBatches) {
        for (const int64_t tokens : kChunkTokens) variants_.push_back(Step(chunks, tokens, batch));
      }
    }
  }

  const StepOps& StepOf(int32_t step, int32_t /*rank*/) const override {
    const uint64_t bits = rng_.Bits({.step = step, .purpose = Purpose::kBatchKind});
    constexpr std::array<size_t, 8> kChunks = {0, 0, 0, 0, 0, 1, 1, 2};
    const size_t chunks = kChunks[bits % kChunks.size()];
    const size_t batch = (bits >> 8) % kBatches.size();
    const size_t tokens = (bits >> 16) % kChunkTokens.size();
    return variants_[(chunks * kBatches.size() + batch) * kChunkTokens.size() + (chunks == 0 ? 0 : tokens)];
  }

 private:
  static constexpr std::array<int64_t, 3> kBatches = {24, 32, 48};
  static constexpr std::array<int64_t, 3> kChunkTokens = {512, 1024, 2048};
  CounterRng rng_;
  std::vector<StepOps> variants_;
};

}  // namespace

std::unique_ptr<StepProgram> MakeServingProgram(const SimulatorOptions& options) {
  if (options.program == ProgramKind::kBatching) return std::make_unique<BatchingProgram>(options);
  const bool prefill = options.program == ProgramKind::kPrefill;
  return std::make_unique<SteadyProgram>(options, prefill ? 1 : 0, kPromptTokens, prefill ? 0 : kBatch);
}

std::unique_ptr<StepProgram> MakePromptProgram(const SimulatorOptions& options, int64_t tokens) {
  return std::make_unique<SteadyProgram>(options, 1, tokens, 0);
}

}  // namespace lockstep
