#include "tests/support/compare/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>

namespace lockstep::compare {
namespace {

using Rng = std::mt19937_64;

double Uniform(Rng& rng, double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng); }
int Int(Rng& rng, int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); }
bool Chance(Rng& rng, double p) { return Uniform(rng, 0, 1) < p; }
template <typename T>
const T& Pick(Rng& rng, const std::vector<T>& from) {
  return from[static_cast<size_t>(Int(rng, 0, static_cast<int>(from.size()) - 1))];
}

// A function before it is spelled.
struct Function {
  enum class Style { kCpp, kFunctor, kInductor, kTriton, kGemm, kPlain };
  Style style = Style::kCpp;
  std::string scope;  // namespace
  std::string base;
  std::string functor;               // of an elementwise container
  std::vector<std::string> numbers;  // of the template list
  std::string type = "float";
  std::string layout;  // of gemms
  int ordinal = 0;     // of inductor
  std::string suffix;  // version or hash
  bool nsys = false;   // spelled as nsys does
};

constexpr int kFirstFunctionId = 1'000;

struct Site {
  int id = 0;
  int section = 0;  // 0 prologue, 1 layer, 2 epilogue
  int function = 0;
  double time_ns = 0;  // a launch
  std::string range;
};

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

struct Draft {
  std::vector<Site> sites;
  std::vector<Function> functions;
};

Draft RandomDraft(Rng& rng, bool ranges) {
  Draft draft;
  std::vector<std::string> verbs = Verbs();
  std::shuffle(verbs.begin(), verbs.end(), rng);
  const int count = Int(rng, 10, 80);
  const int coarse = Int(rng, 0, 2);  // 0 a range a few sites, 1 a range a section, 2 none
  for (int id = 0; id < count; ++id) {
    Site site{.id = id,
              .section = id < count / 10          ? 0
                         : id < count - count / 8 ? 1
                                                  : 2,
              .function = 0,
              .time_ns = 0,
              .range = {}};
    site.time_ns = std::exp(Uniform(rng, std::log(2e3), std::log(4e5)));
    const bool again = !draft.functions.empty() && Chance(rng, 0.1);  // the same kernel from another place
    if (again) {
      site.function = Int(rng, 0, static_cast<int>(draft.functions.size()) - 1);
    } else {
      Function f = RandomFunction(rng, verbs);
      site.function = static_cast<int>(draft.functions.size());
      for (size_t k = 0; k < draft.functions.size(); ++k) {
        if (IdentityText(draft.functions[k]) == IdentityText(f)) site.function = static_cast<int>(k);
      }
      if (site.function == static_cast<int>(draft.functions.size())) draft.functions.push_back(f);
      if (f.style == Function::Style::kGemm) site.time_ns *= 4;
    }
    if (ranges && coarse == 0) site.range = fmt::format("module_{}", static_cast<char>('a' + id / 4));
    if (ranges && coarse == 1) site.range = site.section == 1 ? "model.forward" : "model.rest";
    draft.sites.push_back(site);
  }
  return draft;
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

// No function takes the name of another one: that would be another kernel by its name.
void ChangeFunctions(Rng& rng, const ModelOptions& options, Draft& draft) {
  std::set<std::string> names;
  for (const Function& f : draft.functions) names.insert(IdentityText(f));
  for (Function& f : draft.functions) {
    Function changed = f;
    if (Chance(rng, options.changed)) Change(rng, changed);
    const bool taken = IdentityText(changed) != IdentityText(f) && !names.insert(IdentityText(changed)).second;
    if (!taken) f = changed;
    if (f.style == Function::Style::kInductor && options.changed > 0) f.ordinal = Int(rng, 0, 30);
  }
}

// A kernel in the making.
struct Launched {
  std::string name;
  std::set<int> sites;
};

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

struct Versions {
  std::vector<std::string> names;  // of each function, "" for gemms
  std::vector<std::string> gemms;  // of each site
};

Versions NamesOfVersion(Rng& rng, const Draft& draft, int library, int variants) {
  Versions out;
  for (const Function& f : draft.functions) out.names.push_back(SpelledFunction(f));
  std::map<std::string, std::vector<std::string>> pool;
  for (const std::string layout : {"tn", "nn", "nt"}) {
    for (int i = 0; i < variants; ++i) pool[layout].push_back(GemmVariant(rng, library, layout));
  }
  for (const Site& site : draft.sites) {
    const Function& f = draft.functions[static_cast<size_t>(site.function)];
    out.gemms.push_back(f.style == Function::Style::kGemm ? Pick(rng, pool[f.layout]) : "");
  }
  return out;
}

// site -> name of the fused kernel, for sites that are fused on one side.
std::map<int, std::string> Fusions(Rng& rng, const Draft& draft, const ModelOptions& options, std::set<int>& taken,
                                   std::set<int>& opaque) {
  std::map<int, int> uses;
  for (const Site& site : draft.sites) ++uses[site.function];
  std::map<int, std::string> fused;
  for (size_t i = 0; i + 1 < draft.sites.size(); ++i) {
    if (!Chance(rng, options.fused)) continue;
    const size_t length = static_cast<size_t>(Int(rng, 2, 4));
    std::vector<size_t> parts;
    std::set<std::string> operations;
    for (size_t p = i; p < std::min(i + length, draft.sites.size()); ++p) {
      const Function& f = draft.functions[static_cast<size_t>(draft.sites[p].function)];
      const bool fits = draft.sites[p].section == draft.sites[i].section && uses[draft.sites[p].function] == 1 &&
                        taken.count(draft.sites[p].id) == 0 && f.style != Function::Style::kPlain &&
                        (f.style != Function::Style::kGemm || p == i);
      if (!fits || !operations.insert(OperationOf(f)).second) break;
      parts.push_back(p);
    }
    if (parts.size() < 2) continue;
    const bool says_nothing = Chance(rng, options.opaque);
    std::string name = says_nothing ? fmt::format("megablock_{}", static_cast<char>('a' + Int(rng, 0, 25))) : "fused";
    for (const size_t p : parts) {
      taken.insert(draft.sites[p].id);
      if (says_nothing) opaque.insert(draft.sites[p].id);
      if (says_nothing) opaque.insert(kFirstFunctionId + draft.sites[p].function);
      if (!says_nothing) name += "_" + OperationOf(draft.functions[static_cast<size_t>(draft.sites[p].function)]);
    }
    for (const size_t p : parts) fused[draft.sites[p].id] = fmt::format("void next::{}_kernel<{}>(float*)", name, i);
    i += parts.size();
  }
  return fused;
}

// Start of each launch of each site, as fractions of the step.
std::vector<std::vector<double>> PlacesOf(Rng& rng, const Draft& draft, const std::vector<double>& times,
                                          const std::set<int>& absent, int layers) {
  std::vector<std::vector<double>> starts(draft.sites.size());
  double now = 0;
  for (int section = 0; section < 3; ++section) {
    for (int layer = 0; layer < (section == 1 ? layers : 1); ++layer) {
      for (size_t s = 0; s < draft.sites.size(); ++s) {
        if (draft.sites[s].section != section || absent.count(draft.sites[s].id) > 0) continue;
        starts[s].push_back(now + Uniform(rng, 0, 300));
        now += times[s] + Uniform(rng, 500, 2'000);
      }
    }
  }
  for (std::vector<double>& of_site : starts) {
    for (double& start : of_site) start /= now;
  }
  return starts;
}

ModelSide SideOfModel(Rng& rng, const Draft& draft, const Versions& versions, const std::vector<double>& times,
                      const std::map<int, std::string>& fused, const std::set<int>& absent, int layers, bool places) {
  const auto starts = PlacesOf(rng, draft, times, absent, layers);
  std::map<std::string, Launched> by_name;
  std::map<std::string, KernelOfRun> kernels;
  for (size_t s = 0; s < draft.sites.size(); ++s) {
    const Site& site = draft.sites[s];
    if (absent.count(site.id) > 0) continue;
    const bool is_fused = fused.count(site.id) > 0;
    const std::string name = is_fused                    ? fused.at(site.id)
                             : versions.gemms[s].empty() ? versions.names[static_cast<size_t>(site.function)]
                                                         : versions.gemms[s];
    KernelOfRun& kernel = kernels[name];
    const bool part = is_fused && !by_name[name].sites.empty();
    // A product is known by its place, as its name is that of a variant; another kernel by its function.
    const bool product = draft.functions[static_cast<size_t>(site.function)].style == Function::Style::kGemm;
    by_name[name].sites.insert(product ? site.id : kFirstFunctionId + site.function);
    kernel.name = name;
    kernel.time_per_step_ns += times[s] * static_cast<double>(starts[s].size()) * (is_fused ? 0.6 : 1);
    if (part) continue;
    kernel.range = kernel.places.empty() || kernel.range == site.range ? site.range : "";
    kernel.launches_per_step += static_cast<double>(starts[s].size());
    kernel.places.insert(kernel.places.end(), starts[s].begin(), starts[s].end());
  }
  ModelSide side;
  for (auto& entry : kernels) {
    std::sort(entry.second.places.begin(), entry.second.places.end());
    if (!places) entry.second.places.clear();
    entry.second.kind = ClassifyKernel(entry.first);
    side.kernels.push_back(entry.second);
    side.sites.push_back(by_name[entry.first].sites);
  }
  return side;
}

}  // namespace

RandomModel MakeRandomModel(uint64_t seed, const ModelOptions& options) {
  Rng rng(seed);
  Draft draft = RandomDraft(rng, options.ranges);
  const int layers = Int(rng, 2, 40);
  const int library = Int(rng, 0, 4);
  const Versions before = NamesOfVersion(rng, draft, library, Int(rng, 1, 4));
  RandomModel model;
  std::set<int> taken;
  const auto fused_before = Fusions(rng, draft, options, taken, model.before.opaque);
  const auto fused_after = Fusions(rng, draft, options, taken, model.before.opaque);
  std::set<int> absent_before;
  std::set<int> absent_after;
  std::vector<double> times_before;
  std::vector<double> times_after;
  for (const Site& site : draft.sites) {
    const int side = Int(rng, 0, 1);
    if (Chance(rng, options.added) && taken.count(site.id) == 0)
      (side == 0 ? absent_before : absent_after).insert(site.id);
    times_before.push_back(site.time_ns);
    times_after.push_back(site.time_ns * (Chance(rng, 0.5) ? std::exp(Uniform(rng, std::log(0.3), std::log(3.0)))
                                                           : Uniform(rng, 0.98, 1.02)));
  }
  ChangeFunctions(rng, options, draft);
  Versions after = NamesOfVersion(rng, draft, Chance(rng, 0.6) ? library : Int(rng, 0, 4), Int(rng, 1, 4));
  if (!options.retuned) after.gemms = before.gemms;
  std::set<int> opaque = model.before.opaque;
  model.before = SideOfModel(rng, draft, before, times_before, fused_before, absent_before, layers, options.places);
  model.after = SideOfModel(rng, draft, after, times_after, fused_after, absent_after, layers, options.places);
  model.before.opaque = model.after.opaque = opaque;
  return model;
}

namespace {

std::set<int> SitesOf(const ModelSide& side, const std::vector<size_t>& members) {
  std::set<int> sites;
  for (const size_t m : members) sites.insert(side.sites[m].begin(), side.sites[m].end());
  return sites;
}

std::set<int> Common(std::set<int> ids, const std::set<int>& others) {
  std::erase_if(ids, [&others](int id) { return others.count(id) == 0; });
  return ids;
}

double TimeOf(const ModelSide& side, const std::vector<size_t>& members) {
  double time = 0;
  for (const size_t m : members) time += side.kernels[m].time_per_step_ns;
  return time;
}

bool HasCounterpart(const ModelSide& side, size_t kernel, const std::set<int>& others) {
  for (const int site : side.sites[kernel]) {
    if (others.count(site) > 0 && side.opaque.count(site) == 0) return true;
  }
  return false;
}

std::vector<size_t> AllOf(const ModelSide& side) {
  std::vector<size_t> all(side.kernels.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

// Fused kernels of either side whose name says what is in them, without products, which no name can tell apart.
void CountFusions(const RandomModel& model, const KernelMatches& matches, ModelScore& score) {
  const auto is_fusion = [](const KernelOfRun& kernel) {
    return kernel.name.find("next::fused_") != std::string::npos && kernel.name.find("gemm") == std::string::npos;
  };
  for (const KernelMatch& match : matches.matches) {
    int fusions = 0;
    for (const size_t b : match.before) fusions += is_fusion(model.before.kernels[b]) ? 1 : 0;
    for (const size_t a : match.after) fusions += is_fusion(model.after.kernels[a]) ? 1 : 0;
    score.fusions += fusions;
    if (match.kind == MatchKind::kFused || match.kind == MatchKind::kSplit) score.fusions_told += fusions;
  }
}

}  // namespace

ModelScore ScoreOf(const RandomModel& model, const KernelMatches& matches) {
  ModelScore score;
  const std::set<int> sites_before = SitesOf(model.before, AllOf(model.before));
  const std::set<int> sites_after = SitesOf(model.after, AllOf(model.after));
  const double step = std::max(TimeOf(model.before, AllOf(model.before)), TimeOf(model.after, AllOf(model.after)));
  double known = 0;
  double all = 0;
  for (const KernelMatch& match : matches.matches) {
    double of_match = 0;
    for (const size_t b : match.before) {
      if (HasCounterpart(model.before, b, sites_after)) of_match += model.before.kernels[b].time_per_step_ns;
    }
    for (const size_t a : match.after) {
      if (HasCounterpart(model.after, a, sites_before)) of_match += model.after.kernels[a].time_per_step_ns;
    }
    known += of_match;
    const double time = TimeOf(model.before, match.before) + TimeOf(model.after, match.after);
    all += time;
    if (match.kind == MatchKind::kAdded || match.kind == MatchKind::kRemoved) continue;
    score.matched += time;
    const std::set<int> before = Common(SitesOf(model.before, match.before), sites_after);
    const std::set<int> after = Common(SitesOf(model.after, match.after), sites_before);
    const bool same_name = match.before.size() == 1 && match.after.size() == 1 &&
                           model.before.kernels[match.before[0]].name == model.after.kernels[match.after[0]].name &&
                           model.before.kernels[match.before[0]].name.find("triton_") == std::string::npos;
    if ((before == after && !before.empty()) || same_name) {
      score.right += of_match;
      continue;
    }
    const double share = std::max(TimeOf(model.before, match.before), TimeOf(model.after, match.after)) / step;
    score.worst = std::max(score.worst, share);
    if (share > 0.01) ++score.wrong;
  }
  CountFusions(model, matches, score);
  score.right = known > 0 ? score.right / known : 1;
  score.matched = all > 0 ? score.matched / all : 1;
  return score;
}

}  // namespace lockstep::compare
