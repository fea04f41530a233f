#include "bench/models/random_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace lockstep::compare::random_function {

const std::vector<std::string>& Verbs() {
  static const std::vector<std::string> kVerbs = {
      "rms_norm",      "layer_norm",      "rotary_embedding", "reshape_and_cache", "act_and_mul",   "moe_align",
      "topk_gating",   "scatter_tokens",  "gather_rows",      "residual_mix",      "bias_dropout",  "causal_mask",
      "softcap",       "quantize_rows",   "dequant_cols",     "swap_heads",        "expand_groups", "merge_states",
      "sample_tokens", "penalize_logits", "compute_slots",    "pack_seqs",         "unpack_seqs",   "clip_grad",
      "cross_entropy", "conv_update",     "state_passing",    "chunk_scan",        "router_bias",   "logsumexp_rows",
      "prefix_sum",    "histogram_bins"};
  return kVerbs;
}

Function CppFunction(Rng& rng, const std::string& verb) {
  static const std::vector<std::string> kScopes = {"vllm", "sgl", "tensorrt_llm::kernels",
                                                   "at::native::(anonymous namespace)", "flashinfer"};
  Function f;
  f.style = Function::Style::kCpp;
  f.scope = Pick(rng, kScopes);
  f.base = verb + "_kernel";
  f.numbers = {std::to_string(1 << Int(rng, 2, 9)), std::to_string(Int(rng, 1, 8))};
  f.type = Pick<std::string>(rng, {"float", "c10::BFloat16", "c10::Half"});
  return f;
}

Function FunctorFunction(Rng& rng) {
  static const std::vector<std::string> kFunctors = {"CUDAFunctor_add",
                                                     "MulFunctor",
                                                     "DivFunctor",
                                                     "FillFunctor",
                                                     "exp_kernel_cuda",
                                                     "neg_kernel_cuda",
                                                     "sigmoid_backward_kernel_cuda",
                                                     "tanh_kernel_cuda",
                                                     "direct_copy_kernel_cuda",
                                                     "GeluCUDAKernelImpl",
                                                     "rsqrt_kernel_cuda",
                                                     "where_kernel_impl",
                                                     "silu_kernel",
                                                     "masked_fill_kernel"};
  static const std::vector<std::string> kBases = {"vectorized_elementwise_kernel", "unrolled_elementwise_kernel",
                                                  "elementwise_kernel"};
  Function f = CppFunction(rng, "");
  f.style = Function::Style::kFunctor;
  f.scope = "at::native";
  f.base = Pick(rng, kBases);
  f.functor = Pick(rng, kFunctors);
  f.numbers = {std::to_string(1 << Int(rng, 1, 3))};
  return f;
}

Function InductorFunction(Rng& rng) {
  static const std::vector<std::string> kOps = {
      "add",  "mul", "silu",      "cat", "clone", "mean", "pow", "rsqrt", "native_layer_norm",
      "view", "sub", "embedding", "div", "gelu",  "sum"};
  Function f;
  f.style = Function::Style::kInductor;
  f.base = Pick<std::string>(rng, {"triton_poi_fused", "triton_red_fused", "triton_per_fused"});
  std::set<std::string> ops;
  for (int i = Int(rng, 1, 4); i > 0; --i) ops.insert(Pick(rng, kOps));
  for (const std::string& op : ops) f.base += "_" + op;
  f.ordinal = Int(rng, 0, 30);
  return f;
}

Function PlainFunction(Rng& rng, const std::string& name) {
  Function f = CppFunction(rng, "");
  f.style = Function::Style::kPlain;
  f.base = name;
  return f;
}

Function AttentionFunction(Rng& rng) {
  Function f = CppFunction(rng, "");
  f.scope = Pick<std::string>(rng, {"flash", "pytorch_flash"});
  f.base = Pick<std::string>(rng, {"flash_fwd_kernel", "flash_bwd_dq_dk_dv_loop_kernel", "flash_fwd_splitkv_kernel"});
  return f;
}

Function GemmFunction(Rng& rng) {
  Function f;
  f.style = Function::Style::kGemm;
  f.layout = Pick<std::string>(rng, {"tn", "nn", "nt"});
  return f;
}

Function RandomFunction(Rng& rng, std::vector<std::string>& verbs) {
  const int kind = Int(rng, 0, 9);
  if (kind <= 2) return GemmFunction(rng);
  if (kind == 3) return FunctorFunction(rng);
  if (kind == 4) return InductorFunction(rng);
  if (kind == 5 && Chance(rng, 0.5)) return AttentionFunction(rng);
  if (kind == 6 && Chance(rng, 0.6)) {
    return PlainFunction(
        rng, Pick<std::string>(rng, {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllGather_RING_LL",
                                     "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "ncclDevKernel_SendRecv"}));
  }
  if (kind == 7 && Chance(rng, 0.3))
    return PlainFunction(rng, Pick<std::string>(rng, {"Memcpy DtoD (Device -> Device)", "Memset (Device)"}));
  if (verbs.empty()) return InductorFunction(rng);
  const std::string verb = verbs.back();
  verbs.pop_back();
  Function f = CppFunction(rng, verb);
  if (Chance(rng, 0.3)) {
    f.style = Function::Style::kTriton;
    f.suffix = Chance(rng, 0.5) ? "_0d1d2d3de" : "";
  }
  return f;
}

std::string Number(const Function& f, const std::string& number) { return f.nsys ? "(int)" + number : number; }

std::string SpelledFunction(const Function& f) {
  const std::string scope = f.scope.empty() ? "" : f.scope + "::";
  std::string list;
  switch (f.style) {
    case Function::Style::kInductor:
      return fmt::format("{}_{}", f.base, f.ordinal);
    case Function::Style::kTriton:
      return "_" + f.base + f.suffix;
    case Function::Style::kPlain:
      return f.base;
    case Function::Style::kGemm:
      return f.base;
    case Function::Style::kFunctor:
      return fmt::format("void {}{}<{}, at::native::{}<{}>, std::array<char{}*, {}>{}>(int, at::native::{}<{}>)", scope,
                         f.base, Number(f, f.numbers[0]), f.functor, f.type, f.nsys ? " " : "",
                         f.nsys ? "(unsigned long)3" : "3ul", f.nsys ? "" : " ", f.functor, f.type);
    default:
      break;
  }
  for (const std::string& number : f.numbers) list += ", " + Number(f, number);
  std::string name = fmt::format("void {}{}{}<{}{}>({}{}*, int)", scope, f.base, f.suffix, f.type, list,
                                 f.nsys ? "const " : "", f.nsys ? f.type + " " : f.type + " const");
  if (f.nsys) {
    const size_t at = name.find("(anonymous namespace)");
    if (at != std::string::npos) name.replace(at, 21, "<unnamed>");
  }
  return name;
}

// Two functions are one if these are equal.
std::string IdentityText(Function f) {
  f.nsys = false;
  if (f.style == Function::Style::kInductor) f.ordinal = 0;
  return f.style == Function::Style::kGemm ? "gemm " + f.layout : SpelledFunction(f);
}

std::string GemmVariant(Rng& rng, int library, std::string layout) {
  const int m = 32 << Int(rng, 0, 3);
  const int n = 32 << Int(rng, 0, 3);
  const int stages = Int(rng, 3, 6);
  switch (library) {
    case 0:
      return fmt::format("ampere_bf16_s16816gemm_bf16_{}x{}_ldg8_f2f_stages_64x{}_{}", m, n, stages, layout);
    case 1:
      return fmt::format(
          "sm80_xmma_gemm_bf16bf16_bf16f32_f32_{}_n_tilesize{}x{}x64_stage{}_warpsize2x2x1_tensor16x8x16_execute_"
          "kernel__5x_cublas",
          layout, m, n, stages);
    case 2: {
      const std::string inner =
          fmt::format("cutlass_80_tensorop_bf16_s16816gemm_bf16_{}x{}_32x{}_{}_align8", m, n, stages, layout);
      return fmt::format("void cutlass::Kernel2<{}>({}::Params)", inner, inner);
    }
    case 3: {
      const std::string order = layout == "nn" ? "Ailk_Bljk" : layout == "tn" ? "Alik_Bljk" : "Ailk_Bjlk";
      return fmt::format("Cijk_{}_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{}x{}x64_MI16x16x1_SN_LDSB{}", order, m, n, stages);
    }
    default:
      for (char& c : layout) c = static_cast<char>(c - 'a' + 'A');
      return fmt::format("nvjet_tst_{}x{}_64x{}_2x1_v_bz_{}N", m, n, stages, layout);
  }
}

void Change(Rng& rng, Function& f) {
  const int kind = Int(rng, 0, 3);
  if (f.style == Function::Style::kPlain || f.style == Function::Style::kGemm) return;
  if (f.style == Function::Style::kTriton) {
    f.suffix = Pick<std::string>(rng, {"", "_0d1d2d3d4", "_1a2b3c4d"});
    return;
  }
  if (kind == 0 && f.style == Function::Style::kCpp)
    f.scope = "next::" + Pick<std::string>(rng, {"ops", "kernels::detail", "v3"});
  if (kind == 0 && f.style == Function::Style::kFunctor) f.nsys = !f.nsys;
  if (kind == 1 && f.style == Function::Style::kCpp) f.suffix = Pick<std::string>(rng, {"_v2", "V3"});
  if (kind >= 2) {
    for (std::string& number : f.numbers) number = std::to_string(1 << Int(rng, 1, 10));
    f.type = Pick<std::string>(rng, {"float", "c10::BFloat16", "__half"});
    if (kind == 3) f.nsys = !f.nsys;
    if (kind == 3 && f.style == Function::Style::kCpp) f.numbers.push_back("true");
  }
}

// Names of vLLM, SGLang, FlashInfer, TensorRT-LLM, Transformer Engine, FlashAttention and Liger for the same
// operations.
const std::map<std::string, std::vector<std::string>>& NamesOfLibraries() {
  static const std::map<std::string, std::vector<std::string>> kNames = {
      {"rms_norm_kernel", {"generalRmsNorm", "rmsnorm_fwd_general_kernel", "RMSNormKernel"}},
      {"layer_norm_kernel", {"generalLayerNorm", "ln_fwd_kernel", "vectorized_layer_norm_kernel"}},
      {"rotary_embedding_kernel", {"BatchQKApplyRotaryPosIdsKernel", "applyBiasRopeUpdateKVCache", "rope_fwd_kernel"}},
      {"reshape_and_cache_kernel", {"AppendPagedKVCacheKernel", "concat_and_cache_kernel", "store_kv_cache"}},
      {"act_and_mul_kernel", {"doActivationKernel", "swiglu_fwd_kernel", "silu_mul_kernel"}},
      {"moe_align_kernel", {"moe_align_block_size_kernel", "routingIndicesClusterKernel"}},
      {"topk_gating_kernel", {"topkGatingSoftmax", "moe_fused_gate_kernel"}},
      {"quantize_rows_kernel", {"per_token_quant_fp8_kernel", "scaled_fp8_quant_kernel"}},
      {"sample_tokens_kernel", {"TopKTopPSamplingFromProbKernel", "SamplingFromProbKernel"}},
      {"cross_entropy_kernel", {"liger_cross_entropy_kernel", "cross_entropy_fwd_kernel"}},
      {"merge_states_kernel", {"MergeStateInPlaceKernel", "merge_attn_states_kernel"}},
      {"chunk_scan_kernel", {"chunk_scan_fwd_kernel", "selective_scan_fwd_kernel"}},
      {"flash_fwd_kernel", {"fmha_cutlassF_bf16_aligned", "fmhaSm100Kernel", "attn_fwd"}},
      {"flash_fwd_splitkv_kernel", {"BatchDecodeWithPagedKVCacheKernel", "paged_attention_v2_kernel"}},
      {"flash_bwd_dq_dk_dv_loop_kernel", {"fmha_cutlassB_bf16_aligned", "attn_bwd"}}};
  return kNames;
}

void Rename(Rng& rng, Function& f) {
  static const std::vector<std::string> kScopes = {"other", "other::kernels", "lib::ops"};
  const auto names = NamesOfLibraries().find(f.base);
  if (names == NamesOfLibraries().end()) return;
  f.style = Function::Style::kCpp;
  f.scope = Pick(rng, kScopes);
  f.base = Pick(rng, names->second);
  f.suffix.clear();
}

std::pair<Function, Function> PiecesOf(Rng& rng, const Function& f) {
  static const std::vector<std::pair<std::string, std::string>> kSuffixes = {
      {"_stage1", "_stage2"}, {"_partial", "_reduce"}, {"_prepare", "_main"}};
  std::string stem = f.base;
  if (const size_t at = stem.rfind("_kernel"); at != std::string::npos) stem.erase(at);
  auto [first, second] = Pick(rng, kSuffixes);
  constexpr std::string_view kBackward = "_dq_dk_dv_loop";
  if (stem.ends_with(kBackward)) {
    stem.erase(stem.size() - kBackward.size());
    first = "_dq";
    second = Chance(rng, 0.5) ? "_dkdv" : "_dk_dv";
  }
  std::pair<Function, Function> pieces(f, f);
  pieces.first.base = stem + first + "_kernel";
  pieces.second.base = stem + second + "_kernel";
  return pieces;
}

// What a fused kernel is named after a part: its operation.
std::string OperationOf(const Function& f) {
  if (f.style == Function::Style::kGemm) return "gemm";
  if (f.style == Function::Style::kFunctor) return f.functor;
  std::string name = f.base;
  for (const std::string_view word : {"triton_poi_fused_", "triton_red_fused_", "triton_per_fused_", "_kernel"}) {
    if (const size_t at = name.find(word); at != std::string::npos) name.erase(at, word.size());
  }
  return name;
}

}  // namespace lockstep::compare::random_function
