#include "analysis/model/kernel_class.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace lockstep {
namespace {

using Lib = CollectiveLibrary;
using Op = CollectiveOp;
using Type = DataType;

struct CommunicationCase {
  std::string_view name;
  Lib library;
  Op op;
  Type dtype;
};

void ExpectCommunication(const std::vector<CommunicationCase>& cases) {
  for (const CommunicationCase& expected : cases) {
    const KernelClass found = ClassifyKernel(expected.name);
    EXPECT_EQ(Name(found.category), "communication") << expected.name;
    EXPECT_EQ(Name(found.family), "communication") << expected.name;
    EXPECT_EQ(Name(found.library), Name(expected.library)) << expected.name;
    EXPECT_EQ(Name(found.op), Name(expected.op)) << expected.name;
    EXPECT_EQ(Name(found.dtype), Name(expected.dtype)) << expected.name;
  }
}

TEST(KernelClass, ReadsNcclNamesOfEveryVersion) {
  ExpectCommunication({
      {"ncclAllReduceLLKernel_sum_f16(ncclColl)", Lib::kNccl, Op::kAllReduce, Type::kFloat16},
      {"ncclAllReduceRingLL128Kernel_sum_f32(ncclColl)", Lib::kNccl, Op::kAllReduce, Type::kFloat32},
      {"ncclReduceScatterTreeLLKernel_max_i64(ncclColl)", Lib::kNccl, Op::kReduceScatter, Type::kInt64},
      {"ncclSendRecvKernel_copy_i8(ncclColl)", Lib::kNccl, Op::kSendRecv, Type::kUnknown},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", Lib::kNccl, Op::kAllReduce, Type::kFloat32},
      {"ncclKernel_Reduce_RING_LL_Sum___nv_bfloat16(ncclDevComm*, unsigned long, ncclWork*)", Lib::kNccl, Op::kReduce,
       Type::kBfloat16},
      {"ncclKernel_ReduceScatter_NVLS_TREE_LL_Sum_uint8_t(ncclDevComm*, unsigned long, ncclWork*)", Lib::kNccl,
       Op::kReduceScatter, Type::kUint8},
      {"ncclKernel_AllReduce", Lib::kNccl, Op::kAllReduce, Type::kUnknown},
      {"nccl", Lib::kNccl, Op::kUnknown, Type::kUnknown},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Lib::kNccl, Op::kAllReduce,
       Type::kBfloat16},
      {"ncclDevKernel_ReduceScatter_Sum_f8e5m2_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Lib::kNccl,
       Op::kReduceScatter, Type::kFloat8E5m2},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Lib::kNccl, Op::kAllGather, Type::kUnknown},
      {"ncclDevKernel_AllGatherV_RING_LL(x)", Lib::kNccl, Op::kAllGatherV, Type::kUnknown},
      {"ncclDevKernel_Broadcast_RING_LL(x)", Lib::kNccl, Op::kBroadcast, Type::kUnknown},
      {"ncclSymDevKernel_AllReduce_AGxLLMC_R_sum_bf16(x)", Lib::kNcclSymmetric, Op::kAllReduce, Type::kBfloat16},
      {"ncclSymkDevKernel_ReduceScatter_LDMC_sum_f32(x)", Lib::kNcclSymmetric, Op::kReduceScatter, Type::kFloat32},
      {"ncclSymkDevKernel_AllGather_STMC(x)", Lib::kNcclSymmetric, Op::kAllGather, Type::kUnknown},
      {"_Z36ncclDevKernel_AllReduce_Sum_f32_RING24ncclDevKernelArgsStorageILm4096EE", Lib::kNccl, Op::kAllReduce,
       Type::kFloat32},
  });
}

TEST(KernelClass, ClaimsNothingThatAnNcclNameCannotTell) {
  ExpectCommunication({
      {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", Lib::kNccl, Op::kAllGather, Type::kUnknown},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclWorkElem)", Lib::kNccl, Op::kBroadcast, Type::kUnknown},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", Lib::kNccl, Op::kSendRecv, Type::kUnknown},
      {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)", Lib::kNccl, Op::kSendRecv,
       Type::kUnknown},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", Lib::kNccl, Op::kUnknown, Type::kUnknown},
      // Signed integers run in the unsigned kernel.
      {"ncclDevKernel_AllReduce_Sum_u32_TREE_LL(ncclDevKernelArgsStorage<4096ul>)", Lib::kNccl, Op::kAllReduce,
       Type::kUnknown},
  });
}

TEST(KernelClass, ReadsTheNamesOfOtherLibraries) {
  ExpectCommunication({
      {"ncclDevKernel_Generic_4(x)", Lib::kRccl, Op::kUnknown, Type::kUnknown},
      {"ncclDevKernelDebug_Generic(x)", Lib::kRccl, Op::kUnknown, Type::kUnknown},
      {"mscclKernel_Sum_half_LL_true(x)", Lib::kMsccl, Op::kUnknown, Type::kFloat16},
      {"void allreduce7<mscclpp::DeviceHandle<mscclpp::MemoryChannel>>(x)", Lib::kMsccl, Op::kAllReduce,
       Type::kUnknown},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, (int)8>(vllm::RankData *)", Lib::kVllmCustom,
       Op::kAllReduce, Type::kBfloat16},
      {"_ZN4vllm26cross_device_reduce_2stageI6__halfLi8EEEvPNS_8RankDataE", Lib::kVllmCustom, Op::kAllReduce,
       Type::kUnknown},
      {"void sglang::cross_device_reduce_2stage<half, 4>(x)", Lib::kSglangCustom, Op::kAllReduce, Type::kFloat16},
      {"void cross_device_all_gather<half, 4>(x)", Lib::kSglangCustom, Op::kAllGather, Type::kFloat16},
      {"void aiter::allreduce_fusion_kernel_1stage<8>(x)", Lib::kSglangCustom, Op::kAllReduce, Type::kUnknown},
      {"void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8, true>(x)", Lib::kTensorRtLlm,
       Op::kAllReduce, Type::kBfloat16},
      {"void lamport_initialize_kernel<half>(half*, unsigned long)", Lib::kTensorRtLlm, Op::kUnknown, Type::kFloat16},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::P)1, __half, "
       "8>(x)",
       Lib::kFlashInfer, Op::kAllReduce, Type::kFloat16},
      {"void moereduce_allreduce_fusion_kernel_oneshot_lamport<8>(x)", Lib::kTensorRtLlm, Op::kAllReduce,
       Type::kUnknown},
      {"void twoshotAllreduceKernel<8, float>(x)", Lib::kFlashInfer, Op::kAllReduce, Type::kFloat32},
      {"void twoShotAllReduceKernel<float, 8>(x)", Lib::kTensorRtLlm, Op::kAllReduce, Type::kFloat32},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
       Lib::kTorchSymmetric, Op::kAllReduce, Type::kBfloat16},
      {"_two_shot_all_reduce_kernel_optimized", Lib::kTorchSymmetric, Op::kAllReduce, Type::kUnknown},
      {"multimem_one_shot_reduce_kernel", Lib::kTorchSymmetric, Op::kReduce, Type::kUnknown},
      {"allToAllV_2d(void*)", Lib::kTorchSymmetric, Op::kAllToAllV, Type::kUnknown},
      {"rdxn_float_sum_on_stream_kernel<8>(x)", Lib::kNvshmem, Op::kAllReduce, Type::kFloat32},
      {"fcollect64_on_stream_kernel(x)", Lib::kNvshmem, Op::kAllGather, Type::kUnknown},
      {"nvshmemi_signal_op_on_stream_kernel(x)", Lib::kNvshmem, Op::kUnknown, Type::kUnknown},
      {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", Lib::kDeepEp, Op::kAllToAllV, Type::kUnknown},
      {"void deep_ep::legacy::internode_ll::combine<true>(x)", Lib::kDeepEp, Op::kAllToAllV, Type::kUnknown},
      {"void deep_ep::internode::notify_dispatch<true, 8>(x)", Lib::kDeepEp, Op::kUnknown, Type::kUnknown},
      {"void deep_ep::elastic::pp_recv_impl<8>(x)", Lib::kDeepEp, Op::kRecv, Type::kUnknown},
      {"void kuserbuffers_pushsendrecv(int)", Lib::kTransformerEngine, Op::kSendRecv, Type::kUnknown},
      {"ncclKernel_AllReduce_DDA2_Flat_ipc<float, 8u>(x)", Lib::kMetaCtran, Op::kAllReduce, Type::kFloat32},
      {"void comms::pipes::allToAllvKernel(x)", Lib::kMetaCtran, Op::kAllToAllV, Type::kUnknown},
      {"void mooncake::OneShotAllReduceAdd<float>(x)", Lib::kMooncake, Op::kAllReduce, Type::kFloat32},
      {"hccl::allReduce(x)", Lib::kHccl, Op::kAllReduce, Type::kUnknown},
  });
}

TEST(KernelClass, ForeignNamesOfCollectivesAreUnverified) {
  ExpectCommunication({
      {"void my::fusedAllReduceNorm<16>(x)", Lib::kUnverified, Op::kAllReduce, Type::kUnknown},
      {"ring_reduce_scatter_v2", Lib::kUnverified, Op::kReduceScatter, Type::kUnknown},
      {"broadcast_kernel(float*)", Lib::kUnverified, Op::kBroadcast, Type::kUnknown},
  });
}

struct ComputeCase {
  std::string_view name;
  Family family;
};

void ExpectCompute(const std::vector<ComputeCase>& cases) {
  for (const ComputeCase& expected : cases) {
    const KernelClass found = ClassifyKernel(expected.name);
    EXPECT_EQ(Name(found.category), "compute") << expected.name;
    EXPECT_EQ(Name(found.family), Name(expected.family)) << expected.name;
    EXPECT_EQ(Name(found.library), "") << expected.name;
    EXPECT_EQ(Name(found.op), "") << expected.name;
  }
}

TEST(KernelClass, ComputeThatSpeaksOfCollectivesStaysCompute) {
  ExpectCompute({
      {"void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*, int>::PtxReduceByKeyPolicy>(int)",
       Family::kReduction},
      {"_combined_routing_compute", Family::kMoeRouting},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)",
       Family::kCopy},
      {"void gather_kernel<int>(int*)", Family::kCopy},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(x)",
       Family::kReduction},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)", Family::kElementwise},
      {"void oneRankReduce<FuncPreMulSum<float> >(void*, void*, unsigned long)", Family::kCopy},
      {"void deep_ep::layout::get_dispatch_layout<256, 32>(x)", Family::kMoeRouting},
      {"small_reduce_kernel", Family::kReduction},
      {"triton_poi_fused_all_gather_into_tensor_out_3", Family::kTriton},
      {"void broadcast_add_kernel<float>(x)", Family::kElementwise},
  });
}

TEST(KernelClass, TellsTheFamiliesOfRealKernels) {
  ExpectCompute({
      {"nvjet_tst_192x8_64x8_4x1_v_bz_TNT", Family::kGemm},
      {"Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT16x64x64_MI16x16x1_SN", Family::kGemm},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel__5x_cublas", Family::kGemm},
      {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(x)", Family::kGemm},
      {"void splitKreduce_kernel<32, 16, int, float, float>(cublasSplitKParams<float>)", Family::kGemm},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", Family::kMoeExperts},
      {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(x)", Family::kGemv},
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128> >(x)", Family::kAttention},
      {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<x> > >(x)", Family::kAttention},
      {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext", Family::kAttention},
      {"void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128>(x)", Family::kAttentionDecode},
      {"kernel_unified_attention_2d", Family::kAttention},
      {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>(x)", Family::kKvCache},
      {"create_flashinfer_kv_indices_triton", Family::kKvCache},
      {"void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(x)", Family::kNorm},
      {"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassE", Family::kNorm},
      {"void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(x)", Family::kNorm},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(x)", Family::kSoftmax},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(x)", Family::kRotary},
      {"volta_scudnn_128x64_relu_interior_nn_v1", Family::kConvolution},
      {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", Family::kConvolution},
      {"sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_cudnn_train", Family::kConvolution},
      {"void split_embedding_codegen_forward_weighted_kernel<float, float, float, long, 1ul>(x)", Family::kEmbedding},
      {"void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int)", Family::kEmbedding},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(x)", Family::kOptimizer},
      {"_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16EEvPS3_PS4_i", Family::kActivation},
      {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long>::Policy800>(x)", Family::kSort},
      {"void moe::dev::routing::routingIndicesOffsetsKernel<moe::dev::routing::KernelParams<8> >(x)",
       Family::kMoeRouting},
      {"void at::native::elementwise_kernel<128, 2, "
       "at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::"
       "T&)::{lambda()#2}> >(x)",
       Family::kCopy},
      {"void flashinfer::sampling::TopPSamplingFromProbKernel<1024>(x)", Family::kSampling},
      {"triton_poi_fused_add_cos_sin_0", Family::kTriton},
      {"some_unheard_of_kernel", Family::kOther},
      {"", Family::kOther},
  });
}

TEST(KernelClass, TellsPrefillFromDecodeAttentionWhereTheKernelIsMadeForOne) {
  ExpectCompute({
      {"void vllm::paged_attention_v2_kernel<__half, unsigned char, 128, 16, 128>(x)", Family::kAttentionDecode},
      {"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4> >(x)", Family::kAttention},
      {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<2, 4, 8>(x)", Family::kAttentionDecode},
      {"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<x>(x)", Family::kAttentionPrefill},
      {"void flashinfer::BatchPrefillWithPagedKVCacheKernel<x>(x)", Family::kAttention},  // decodes as well
      {"void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<uint16_t, 128>(x)",
       Family::kAttentionDecode},
      {"_fwd_grouped_kernel_stage1", Family::kAttentionDecode},
      {"_fwd_kernel_stage2", Family::kAttentionDecode},
      {"kernel_unified_attention_3d", Family::kAttentionDecode},
      {"void flash_fwd_splitkv_mla_kernel<x>(x)", Family::kAttentionDecode},
      {"void sm100::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<x>(x)", Family::kAttentionDecode},
      {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<x>(x)", Family::kAttention},
  });
}

TEST(KernelClass, TellsTheRoutingOfExpertsFromTheirWork) {
  ExpectCompute({
      {"void vllm::moe::topkGatingSoftmax<4, 8, 4, 16>(x)", Family::kMoeRouting},
      {"void vllm::moe::moe_align_block_size_kernel<int, unsigned short>(x)", Family::kMoeRouting},
      {"void count_and_sort_expert_tokens_kernel<int>(x)", Family::kMoeRouting},
      {"fused_moe_kernel", Family::kMoeExperts},
      {"void vllm::moe::moe_sum_kernel<c10::BFloat16, 4>(x)", Family::kMoeExperts},
      {"void moe::dev::finalize::finalizeKernelVecLoad<x>(x)", Family::kMoeExperts},
      {"void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<__nv_bfloat16>(x)", Family::kMoeRouting},
  });
}

TEST(KernelClass, TellsWhatServingAddsAroundTheModel) {
  ExpectCompute({
      {"void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, unsigned char>(x)", Family::kKvCache},
      {"void flashinfer::AppendPagedKVCacheKernel<128, 8>(x)", Family::kKvCache},
      {"void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16>(x)", Family::kQuantization},
      {"void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn>(x)", Family::kQuantization},
      {"void vllm::apply_repetition_penalties_kernel<float>(x)", Family::kSampling},
      {"void vllm::silu_and_mul<c10::BFloat16>(x)", Family::kActivation},
      {"void flashinfer::norm::FusedAddRMSNormKernel<8, __nv_bfloat16>(x)", Family::kNorm},
      {"void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true>(x)", Family::kRotary},
  });
}

// Names that an independent reader counted as collectives in the real traces, or not.
TEST(KernelClass, AgreesWithTheReferenceOnTheNamesOfTheRealTraces) {
  std::ifstream file("../shared/reference/expected.json");
  if (!file) GTEST_SKIP() << "NO REFERENCE RESULTS at ../shared/reference: real kernel names NOT checked";
  const auto expected = nlohmann::json::parse(file).at("files");
  size_t collectives = 0;
  size_t others = 0;
  for (const auto& [path, entry] : expected.items()) {
    std::set<std::string> of_file;
    const auto counted = entry.value("collective_kernels", nlohmann::json::object());
    for (const auto& [name, count] : counted.items()) {
      EXPECT_EQ(ClassifyKernel(name).category, Category::kCommunication) << path << ": " << name;
      of_file.insert(name);
      ++collectives;
    }
    const auto longest = entry.value("top_kernels", nlohmann::json::array());
    for (const auto& kernel : longest) {
      const auto name = kernel.at("name").get<std::string>();
      const bool communicates = ClassifyKernel(name).category == Category::kCommunication;
      EXPECT_EQ(communicates, of_file.contains(std::string(BaseName(name)))) << path << ": " << name;
      ++others;
    }
  }
  EXPECT_GE(collectives, 20U);
  EXPECT_GE(others, 50U);
}

TEST(KernelClass, FamilyNamesAreDistinct) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(kLastFamily); ++i) names.insert(Name(static_cast<Family>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kLastFamily) + 1);
  EXPECT_EQ(Name(static_cast<Family>(99)), "");
}

}  // namespace
}  // namespace lockstep
