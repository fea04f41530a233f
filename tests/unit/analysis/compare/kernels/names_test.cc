// What is read from kernel names. The names are those of public nsys files and PyTorch traces.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/compare/kernels/kernel_identity.h"
#include "analysis/compare/kernels/name_words.h"
#include "analysis/compare/kernels/tuner_variant.h"

namespace lockstep::compare {
namespace {

KernelIdentity Read(const std::string& name) {
  KernelOfRun kernel;
  kernel.name = name;
  kernel.kind = ClassifyKernel(name);
  return IdentityOf(kernel);
}

// For names that the classifier, which is not under test here, would read for long.
KernelIdentity ReadUnclassified(const std::string& name) {
  KernelOfRun kernel;
  kernel.name = name;
  kernel.kind.family = Family::kGemm;
  return IdentityOf(kernel);
}

using Words = std::vector<std::string>;

TEST(KernelNames, OneFunctionHasOneSpellingWhateverDemangledIt) {
  EXPECT_EQ(Read("void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int, long)").spelling,
            Read("void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)").spelling);
  EXPECT_EQ(
      Read("void <unnamed>::softmax_warp_forward<float, (int)6, (bool)0, (bool)1>(T2 *, const T1 *)").spelling,
      Read("void (anonymous namespace)::softmax_warp_forward<float, 6, false, true>(float*, float const*)").spelling);
  EXPECT_EQ(Read("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)").spelling,
            Read("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)").spelling);
  EXPECT_EQ(Read("void k<copy(at::T &)::[lambda() (instance 3)]::operator ()() const::[lambda(int) (instance 7)]>(T1)")
                .spelling,
            Read("void k<copy(at::T&)::{lambda()#3}::operator()() const::{lambda(int)#7}>(int)").spelling);
}

TEST(KernelNames, OtherTemplateArgumentsAreAnotherSpelling) {
  EXPECT_NE(Read("void k<16, long>(x)").spelling, Read("void k<8, long>(x)").spelling);
  EXPECT_NE(Read("void a::k<16>(x)").spelling, Read("void b::k<16>(x)").spelling);
  EXPECT_EQ(Read("void a::k<16>(x)").bare, Read("void b::c::k<16>(y)").bare);
}

TEST(KernelNames, WhatCompilersAppendIsNoPartOfTheStem) {
  EXPECT_EQ(StemOf("_fwd_kernel_0d1d2de3c"), "_fwd_kernel");
  EXPECT_EQ(StemOf("_fwd_kernel_1a2b3c4d"), "_fwd_kernel");
  EXPECT_EQ(StemOf("triton_poi_fused_add_bitwise_and_3"), "triton_poi_fused_add_bitwise_and");
  EXPECT_EQ(StemOf("store_kvcache.kd"), "store_kvcache");
  EXPECT_EQ(StemOf("max_pool_2d"), "max_pool_2d");
  EXPECT_EQ(StemOf("kernel_unified_attention_3d"), "kernel_unified_attention_3d");
  EXPECT_EQ(StemOf("copy_feedbeef"), "copy_feedbeef") << "eight letters without a digit are a word";
  EXPECT_EQ(PlainStem("RMSNormKernel_v2"), "rmsnorm");
  EXPECT_EQ(PlainStem("rms_norm_kernel"), "rmsnorm");
  EXPECT_EQ(PlainStem("paged_attention_v1_kernel"), "pagedattention");
}

TEST(KernelNames, WordsAreThoseOfTheOperations) {
  const auto functor = Read(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)");
  EXPECT_EQ(functor.words, Words({"add"}));
  EXPECT_TRUE(functor.container);
  EXPECT_EQ(Read("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0").words,
            Words({"add", "copy", "mean", "mul", "pow", "rsqrt", "to"}));
  EXPECT_EQ(Read("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(x)").words, Words({"add", "norm", "rms"}));
  EXPECT_EQ(Read("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
                 "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}> >(int)")
                .words,
            Words({"copy", "direct"}));
}

TEST(KernelNames, LayoutsAreReadInTheNotationOfEachLibrary) {
  EXPECT_EQ(TunerLayout("ampere_sgemm_128x64_tn"), "tn");
  EXPECT_EQ(TunerLayout("ampere_sgemm_32x32_sliced1x4_nt"), "nt");
  EXPECT_EQ(TunerLayout("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x32x8_stage3_warpsize2x2x1_ffma"), "tn");
  EXPECT_EQ(TunerLayout("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT"), "tn");
  EXPECT_EQ(TunerLayout("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align1>(x)"), "nn");
  EXPECT_EQ(TunerLayout("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x32x512"), "tn");
  EXPECT_EQ(TunerLayout("Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16"), "nt");
  EXPECT_EQ(TunerLayout("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x64"),
            "wgrad");
  EXPECT_EQ(TunerLayout("igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x64_wt32x32x8"), "wgrad");
  EXPECT_EQ(TunerLayout("void gemm(int)"), "");
}

TEST(KernelNames, VariantsAreThoseNamedByATile) {
  EXPECT_TRUE(Read("ampere_sgemm_128x64_tn").variant);
  EXPECT_TRUE(Read("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT").variant);
  EXPECT_TRUE(Read("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(x)").variant);
  EXPECT_FALSE(Read("void gemv2T_kernel_val<int, int, float, 128>(x)").variant);
  EXPECT_TRUE(Read("void gemv2T_kernel_val<int, int, float, 128>(x)").tuner);
  EXPECT_FALSE(Read("void splitKreduce_kernel<32, 16, int, float>(x)").tuner);
  EXPECT_FALSE(Read("void ops::fused_gemm_layer_norm_kernel<4>(x)").tuner);
  EXPECT_FALSE(Read("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)").tuner);
}

TEST(KernelNames, CommunicationIsKnownByItsOperationAcrossTheNamesOfNccl) {
  EXPECT_EQ(Read("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)").plain,
            Read("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)").plain);
  EXPECT_NE(Read("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)").plain,
            Read("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)").plain);
}

TEST(KernelNames, RolesOfOtherFrameworksCompare) {
  const auto role = [](const std::string& name, const std::string& range) {
    return Name(FamilyRole(ClassifyKernel(name), name, range));
  };
  EXPECT_EQ(role("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128> >(x)", ""), "attention");
  EXPECT_EQ(role("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(x)", ""), "attention");
  EXPECT_EQ(role("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", ""), "feed_forward");
  EXPECT_EQ(role("Cijk_Alik_Bljk_BBS_BH_MT16x32x512", "layers.0.attn"), "feed_forward");
  EXPECT_EQ(role("void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(x)", ""), "norm");
  EXPECT_EQ(role("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", ""), "norm");
  EXPECT_EQ(role("triton_poi_fused_add_mul_3", ""), "elementwise");
  EXPECT_EQ(role("triton_poi_fused_add_mul_3", "Optimizer.step#AdamW.step"), "optimizer");
  EXPECT_EQ(role("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(x)", ""),
            "optimizer");
  EXPECT_EQ(role("ncclDevKernel_AllGather_RING_LL(x)", "optimizer"), "communication");
  EXPECT_EQ(role("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>(x)", ""), "copy");
  EXPECT_EQ(role("something_nobody_knows", ""), "other");
}

TEST(KernelNames, HostileNamesAreRead) {
  const std::vector<std::string> units = {"<",    ">",     "(",       ")",        "::",        "_",  "a_",  "* ",
                                          "a<b<", "(int)", "[lambda", "\xff\xfe", "a::b<c>::", "0d", "V2_", " "};
  for (const std::string& unit : units) {
    std::string name;
    while (name.size() < 100'000) name += unit;
    const KernelIdentity identity = ReadUnclassified("triton_poi_" + name);
    EXPECT_LE(identity.spelling.size(), 3 * kMostReadOfName) << unit;
    EXPECT_LE(identity.words.size(), 128U) << unit;
    EXPECT_NE(identity.spelling, ReadUnclassified("triton_poi_" + name + "x").spelling) << unit;
  }
  EXPECT_EQ(Read("").plain, "");
}

}  // namespace
}  // namespace lockstep::compare
