// The rungs of the ladder, one by one.
#include "analysis/compare/kernels/kernel_matches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace lockstep::compare {
namespace {

KernelOfRun Kernel(const std::string& name, double launches, double time_us, double place,
                   const std::string& range = "") {
  KernelOfRun kernel;
  kernel.name = name;
  kernel.kind = ClassifyKernel(name);
  kernel.range = range;
  kernel.launches_per_step = launches;
  kernel.time_per_step_ns = time_us * 1e3;
  for (int i = 0; place >= 0 && i < static_cast<int>(launches); ++i) kernel.places.push_back(place + 0.1 * i);
  return kernel;
}

// Four kernels that both sides have, around what is tested.
std::vector<KernelOfRun> Around(std::vector<KernelOfRun> tested) {
  double place = 0.01;
  for (const char* name : {"mark_one", "mark_two", "mark_three", "mark_four"})
    tested.push_back(Kernel(name, 8, 10, place += 0.02));
  return tested;
}

KernelMatch MatchOf(const KernelMatches& all, const std::vector<KernelOfRun>& before, const std::string& name) {
  for (const KernelMatch& match : all.matches) {
    for (const size_t b : match.before) {
      if (before[b].name == name) return match;
    }
  }
  return {};
}

KernelMatch Matched(const std::vector<KernelOfRun>& before, const std::vector<KernelOfRun>& after,
                    const KernelMap& map = {}) {
  const auto all = MatchKernels(before, after, map);
  EXPECT_TRUE(all.ok());
  return MatchOf(*all, before, before[0].name);
}

// Places between mark_two (0.05) and mark_three (0.07).
constexpr double kHere = 0.06;

TEST(KernelMatches, EqualNamesAreCertain) {
  const auto match =
      Matched({Kernel("void a::k<4>(int)", 8, 100, kHere)}, {Kernel("void a::k<4>(int)", 8, 300, kHere)});
  EXPECT_EQ(match.by, MatchedBy::kExact);
  EXPECT_EQ(match.kind, MatchKind::kSame);
  EXPECT_EQ(match.certainty, Certainty::kCertain);
}

TEST(KernelMatches, EqualMangledNamesAreEqualNames) {
  KernelOfRun before = Kernel("void k<T>(T)", 8, 100, kHere);
  KernelOfRun after = Kernel("k", 8, 100, kHere);
  before.mangled = after.mangled = "_Z1kIiEvT_";
  EXPECT_EQ(Matched({before}, {after}).by, MatchedBy::kExact);
}

TEST(KernelMatches, AnotherDemanglerIsNoOtherKernel) {
  const auto match = Matched({Kernel("void <unnamed>::k<(int)4>(const T1 *)", 8, 100, kHere)},
                             {Kernel("void (anonymous namespace)::k<4>(float const*)", 8, 100, kHere)});
  EXPECT_EQ(match.by, MatchedBy::kDemangled);
  EXPECT_EQ(match.certainty, Certainty::kCertain);
}

TEST(KernelMatches, NamespacesTemplatesAndVersionsChange) {
  for (const char* name :
       {"void b::c::rms_norm_kernel<float, 8>(int)", "void a::rms_norm_kernel<half, 4, true>(x)",
        "void a::rms_norm_kernel_v2<float, 8>(x)", "_rms_norm_kernel_0d1d2d3de", "_rms_norm_kernel_12ab34cd"}) {
    const auto match = Matched(Around({Kernel("void a::rms_norm_kernel<float, 8>(int)", 8, 100, kHere)}),
                               Around({Kernel(name, 8, 100, kHere)}));
    EXPECT_EQ(match.by, MatchedBy::kBase) << name;
    EXPECT_EQ(match.certainty, Certainty::kLikely) << name;
  }
}

TEST(KernelMatches, KernelsOfAContainerAreKnownByTheirFunctor) {
  const auto functor = [](const std::string& name) {
    return Kernel("void at::native::elementwise_kernel<4, at::native::" + name + "<float> >(int)", 8, 100, kHere);
  };
  EXPECT_EQ(Matched(Around({functor("MulFunctor")}), Around({functor("DivFunctor")})).kind, MatchKind::kRemoved);
  KernelOfRun after =
      Kernel("void at::native::elementwise_kernel<8, at::native::MulFunctor<half> >(int)", 8, 100, kHere);
  EXPECT_EQ(Matched(Around({functor("MulFunctor")}), Around({after})).by, MatchedBy::kBase);
}

TEST(KernelMatches, OrdinalsOfInductorAreNoNames) {
  // The same operations at two places, numbered the other way round in the new compilation.
  const std::vector<KernelOfRun> before =
      Around({Kernel("triton_poi_fused_add_3", 8, 100, 0.04), Kernel("triton_poi_fused_add_7", 8, 50, 0.08)});
  const std::vector<KernelOfRun> after =
      Around({Kernel("triton_poi_fused_add_7", 8, 100, 0.04), Kernel("triton_poi_fused_add_3", 8, 50, 0.08)});
  const auto match = Matched(before, after);
  ASSERT_EQ(match.after.size(), 1U);
  EXPECT_EQ(after[match.after[0]].name, "triton_poi_fused_add_7");
  EXPECT_EQ(match.by, MatchedBy::kBase);
}

TEST(KernelMatches, TheMapIsStrongerThanNames) {
  const auto map = KernelMap::Parse("old = new_one\nunused = nothing\n", "f");
  const std::vector<KernelOfRun> before = {Kernel("old", 8, 100, kHere)};
  const std::vector<KernelOfRun> after = {Kernel("old", 8, 100, kHere),
                                          Kernel("void ns::new_one<3>(x)", 8, 100, kHere)};
  const auto all = MatchKernels(before, after, *map);
  ASSERT_TRUE(all.ok());
  const KernelMatch match = MatchOf(*all, before, "old");
  EXPECT_EQ(match.by, MatchedBy::kMap);
  EXPECT_EQ(match.after, std::vector<size_t>{1});
  EXPECT_EQ(all->unused_map_lines, std::vector<size_t>{2});
}

TEST(KernelMatches, FusedKernelsNameTheirParts) {
  const std::vector<KernelOfRun> parts = Around({Kernel("void a::rms_norm_kernel<4>(x)", 8, 100, 0.055),
                                                 Kernel("void a::quantize_rows_kernel<4>(x)", 8, 50, 0.06)});
  const std::vector<KernelOfRun> whole = Around({Kernel("void b::fused_rms_norm_quantize_rows(x)", 8, 90, 0.055)});
  const auto fused = Matched(parts, whole);
  EXPECT_EQ(fused.kind, MatchKind::kFused);
  EXPECT_EQ(fused.before.size(), 2U);
  EXPECT_EQ(fused.certainty, Certainty::kGuess);
  EXPECT_EQ(Matched(whole, parts).kind, MatchKind::kSplit);
}

TEST(KernelMatches, AFusionWithoutNamesIsNotClaimed) {
  const std::vector<KernelOfRun> parts = Around(
      {Kernel("void a::rms_norm_kernel<4>(x)", 8, 100, 0.055), Kernel("void a::rope_kernel<4>(x)", 8, 50, 0.06)});
  const auto match = Matched(parts, Around({Kernel("megakernel", 8, 90, 0.055)}));
  EXPECT_EQ(match.kind, MatchKind::kRemoved);
  EXPECT_EQ(match.reason, UnmatchedReason::kPlaceOfSeveral);
  EXPECT_EQ(match.candidates.size(), 1U);
}

TEST(KernelMatches, TheSameRangeAndRoleIsAGuess) {
  const auto match = Matched({Kernel("void flash::flash_fwd_kernel<4>(x)", 8, 100, -1, "layer.3.attn")},
                             {Kernel("fmhaSm100aKernel_QkvE4m3", 8, 80, -1, "layer.4.attn")});
  EXPECT_EQ(match.by, MatchedBy::kRange);
  EXPECT_EQ(match.certainty, Certainty::kGuess);
}

TEST(KernelMatches, ThePlaceBetweenTheSameNeighboursIsAGuess) {
  const KernelOfRun flash = Kernel("void flash::flash_fwd_kernel<4>(x)", 8, 100, kHere);
  EXPECT_EQ(Matched(Around({flash}), Around({Kernel("fmhaSm100aKernel_QkvE4m3", 8, 80, kHere)})).by,
            MatchedBy::kPosition);
  EXPECT_EQ(Matched(Around({flash}), Around({Kernel("fmhaSm100aKernel_QkvE4m3", 8, 80, 0.08)})).kind,
            MatchKind::kRemoved)
      << "another place";
  EXPECT_EQ(Matched(Around({flash}), Around({Kernel("fmhaSm100aKernel_QkvE4m3", 4, 80, kHere)})).kind,
            MatchKind::kRemoved)
      << "half as often";
  EXPECT_EQ(Matched(Around({flash}), Around({Kernel("void a::rms_norm<4>(x)", 8, 80, kHere)})).kind,
            MatchKind::kRemoved)
      << "another role";
}

// Three kernels of one range become one of the family of the third, whose name says the other two.
TEST(KernelMatches, WhoseNameSaysOtherKernelsOfTheRangeIsNotOneOfThem) {
  const KernelOfRun merged = Kernel("void next::both_quantize_merge_kernel<45>(x)", 8, 100, -1, "layer.3.mlp");
  const KernelOfRun quant = Kernel("void other::per_token_quant_fp8_kernel<4>(x)", 8, 80, -1, "layer.4.mlp");
  const KernelOfRun merge = Kernel("void flashinfer::merge_states_kernel<8>(x)", 8, 90, -1, "layer.4.mlp");
  EXPECT_EQ(Matched({merged}, {quant}).by, MatchedBy::kRange);
  EXPECT_EQ(Matched({merged}, {quant, merge}).kind, MatchKind::kRemoved);
}

// Fused kernels of a compiler that have one operation of three in common, at one place.
TEST(KernelMatches, WhatSharesLittleOfItsNameAtItsPlaceIsNotTheSame) {
  const KernelOfRun before = Kernel("triton_per_fused_embedding_pow_19", 8, 60, kHere);
  EXPECT_EQ(Matched(Around({before}), Around({Kernel("triton_per_fused_embedding_mean_sum_25", 8, 80, kHere)})).kind,
            MatchKind::kRemoved);
  EXPECT_EQ(Matched(Around({before}), Around({Kernel("triton_per_fused_embedding_pow_25", 8, 80, kHere)})).kind,
            MatchKind::kSame);
}

TEST(KernelMatches, VariantsOfATunerAreReportedWithBothNames) {
  const auto match = Matched(Around({Kernel("ampere_sgemm_128x64_tn", 8, 100, kHere)}),
                             Around({Kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 8, 60, kHere)}));
  EXPECT_EQ(match.kind, MatchKind::kVariantChanged);
  EXPECT_EQ(match.by, MatchedBy::kFamily);
  EXPECT_EQ(Matched(Around({Kernel("ampere_sgemm_128x64_tn", 8, 100, kHere)}),
                    Around({Kernel("ampere_sgemm_128x64_nt", 8, 60, kHere)}))
                .kind,
            MatchKind::kRemoved)
      << "other operands are transposed";
}

TEST(KernelMatches, AVariantThatTakesManyTimesAsLongIsNotGuessed) {
  for (const double us : {90.0, 300.0, 500.0, 12'000.0}) {
    const auto match = Matched(Around({Kernel("ampere_sgemm_128x64_tn", 8, 100, kHere)}),
                               Around({Kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 8, us, kHere)}));
    EXPECT_EQ(match.kind, us < 400 ? MatchKind::kVariantChanged : MatchKind::kRemoved) << us;
  }
}

// One attention kernel was replaced by another library's, and a further one, with the old name, was added.
TEST(KernelMatches, ABaseNameIsNoMatchWhereAnotherKernelTakesAsLong) {
  const KernelOfRun before = Kernel("void flash::flash_fwd_kernel<half, 16>(x)", 8, 100, kHere);
  const KernelOfRun other_list = Kernel("void flash::flash_fwd_kernel<float, 64>(x)", 8, 700, kHere);
  const KernelOfRun replacement = Kernel("void lib::fmha_cutlassF_f16_aligned<half>(x)", 8, 105, kHere + 0.001);
  EXPECT_EQ(Matched(Around({before}), Around({other_list})).by, MatchedBy::kBase);
  const auto beside = Matched(Around({before}), Around({other_list, replacement}));
  EXPECT_NE(beside.by, MatchedBy::kBase);
  const KernelOfRun far_longer = Kernel("void flash::flash_fwd_kernel<float, 64>(x)", 8, 900, kHere);
  EXPECT_EQ(Matched(Around({before}), Around({far_longer})).kind, MatchKind::kRemoved) << "nine times as long";
  const KernelOfRun same_list = Kernel("void other::flash_fwd_kernel<half, 16>(y)", 8, 900, kHere);
  EXPECT_EQ(Matched(Around({before}), Around({same_list})).by, MatchedBy::kBase) << "the same template list";
}

TEST(KernelMatches, SeveralVariantsAreOneGroup) {
  const std::vector<KernelOfRun> before =
      Around({Kernel("ampere_sgemm_128x64_tn", 8, 100, 0.04), Kernel("ampere_sgemm_32x32_tn", 8, 100, 0.08)});
  KernelOfRun merged = Kernel("ampere_sgemm_256x64_tn", 16, 150, -1);
  for (int i = 0; i < 8; ++i) merged.places.insert(merged.places.end(), {0.04 + 0.1 * i, 0.08 + 0.1 * i});
  const auto match = Matched(before, Around({merged}));
  EXPECT_EQ(match.kind, MatchKind::kGroup);
  EXPECT_EQ(match.before.size(), 2U);
}

constexpr const char* kSmall = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT";
constexpr const char* kLarge = "nvjet_tst_128x256_64x4_2x1_v_bz_TNT";

std::vector<KernelOfRun> TwoProducts() { return Around({Kernel(kSmall, 8, 100, 0.04), Kernel(kLarge, 8, 300, 0.08)}); }

// The tuner gives each of two products the variant of the other one: the names then say nothing about the products.
TEST(KernelMatches, VariantsThatChangedTheirProductsAreMatchedByTheirPlaces) {
  const std::vector<KernelOfRun> before = TwoProducts();
  const std::vector<KernelOfRun> after = Around({Kernel(kLarge, 8, 90, 0.04), Kernel(kSmall, 8, 320, 0.08)});
  const auto all = MatchKernels(before, after, {});
  ASSERT_TRUE(all.ok());
  for (const char* name : {kSmall, kLarge}) {
    const KernelMatch swapped = MatchOf(*all, before, name);
    EXPECT_EQ(swapped.kind, MatchKind::kVariantChanged);
    EXPECT_EQ(swapped.certainty, Certainty::kGuess);
    ASSERT_EQ(swapped.after.size(), 1U);
    EXPECT_NE(after[swapped.after.front()].name, name);
  }
  const auto kept = Matched(before, Around({Kernel(kSmall, 8, 90, 0.04), Kernel(kLarge, 8, 320, 0.08)}));
  EXPECT_EQ(kept.by, MatchedBy::kExact) << "each has its place";
  EXPECT_EQ(kept.certainty, Certainty::kCertain);
  const auto unknown = Matched(Around({Kernel(kSmall, 8, 100, -1), Kernel(kLarge, 8, 300, -1)}),
                               Around({Kernel(kLarge, 8, 90, -1), Kernel(kSmall, 8, 320, -1)}));
  EXPECT_EQ(unknown.by, MatchedBy::kExact) << "without places the names are all there is";
}

TEST(KernelMatches, AVariantThatLostItsProductToAnotherIsInOneMatchOrNone) {
  const std::vector<KernelOfRun> before = TwoProducts();
  const std::vector<KernelOfRun> after = Around({Kernel(kLarge, 8, 90, 0.04), Kernel(kSmall, 2, 320, 0.5)});
  const auto all = MatchKernels(before, after, {});
  ASSERT_TRUE(all.ok());
  size_t found = 0;
  for (const KernelMatch& match : all->matches) found += match.before.size() + match.after.size();
  EXPECT_EQ(found, before.size() + after.size());
}

TEST(KernelMatches, OneKernelThatIsTwoAtItsPlaceIsSplit) {
  const KernelOfRun whole = Kernel("void flash::flash_bwd_dq_dk_dv_loop_kernel<64>(x)", 8, 200, 0.055);
  for (const char* second : {"void flash::flash_bwd_dkdv_kernel<64>(x)", "void flash::flash_bwd_dk_dv_kernel<64>(x)"}) {
    const std::vector<KernelOfRun> parts =
        Around({Kernel("void flash::flash_bwd_dq_kernel<64>(x)", 8, 90, 0.055), Kernel(second, 8, 90, 0.06)});
    EXPECT_EQ(Matched(Around({whole}), parts).kind, MatchKind::kSplit) << second;
    EXPECT_EQ(Matched(parts, Around({whole})).kind, MatchKind::kFused) << second;
  }
  const auto stages = Matched(Around({Kernel("void a::chunk_scan_kernel<4>(x)", 8, 200, 0.055)}),
                              Around({Kernel("void a::chunk_scan_stage1_kernel<4>(x)", 8, 90, 0.055),
                                      Kernel("void a::chunk_scan_stage2_kernel<4>(x)", 8, 90, 0.06)}));
  EXPECT_EQ(stages.kind, MatchKind::kSplit);
  EXPECT_EQ(stages.after.size(), 2U);
}

TEST(KernelMatches, AFusedKernelWithAWordOfEachPartIsFusedIfItIsAloneThere) {
  const std::vector<KernelOfRun> parts = Around({Kernel("void a::rotary_embedding_kernel<4>(x)", 8, 60, 0.055),
                                                 Kernel("void a::reshape_and_cache_kernel<4>(x)", 8, 50, 0.06)});
  const KernelOfRun whole = Kernel("void b::rotary_reshape_kernel(x)", 8, 90, 0.055);
  const auto match = Matched(parts, Around({whole}));
  EXPECT_EQ(match.kind, MatchKind::kFused);
  EXPECT_EQ(match.by, MatchedBy::kPosition);
  const auto other = Matched(parts, Around({whole, Kernel("void b::something_else(x)", 8, 90, 0.06)}));
  EXPECT_EQ(other.kind, MatchKind::kRemoved) << "the third one may have been a part, too";
  const auto long_one = Matched(parts, Around({Kernel("void b::rotary_reshape_kernel(x)", 8, 900, 0.055)}));
  EXPECT_EQ(long_one.kind, MatchKind::kRemoved);
  const auto attention = Matched(Around({Kernel("void flash::flash_bwd_kernel<4>(x)", 8, 60, 0.055),
                                         Kernel("void flash::flash_splitkv_kernel<4>(x)", 8, 50, 0.06)}),
                                 Around({Kernel("void b::attn_bwd(x)", 8, 90, 0.055)}));
  EXPECT_EQ(attention.kind, MatchKind::kRemoved) << "one of the two may have been removed";
}

TEST(KernelMatches, ARenamedKernelOfItsFamilyIsMatchedByItsPlace) {
  const KernelOfRun before = Kernel("void vllm::act_and_mul_kernel<4>(x)", 8, 60, kHere);
  EXPECT_EQ(Matched(Around({before}), Around({Kernel("void b::swiglu_fwd_kernel(x)", 8, 50, kHere)})).by,
            MatchedBy::kPosition);
  EXPECT_EQ(Matched(Around({before}), Around({Kernel("void b::pad_rows_elementwise(x)", 8, 50, kHere)})).kind,
            MatchKind::kRemoved);
  const auto functor = [](const std::string& name) {
    return Kernel("void at::native::vectorized_elementwise_kernel<4, at::native::" + name + "<float>>(x)", 8, 50,
                  kHere);
  };
  EXPECT_EQ(Matched(Around({functor("GeluFunctor")}), Around({functor("TanhFunctor")})).kind, MatchKind::kRemoved);
}

TEST(KernelMatches, NeighboursThatWereAllRenamedAreMatchedInTheirOrder) {
  const KernelOfRun rotary = Kernel("void vllm::rotary_embedding_kernel<4>(x)", 8, 60, 0.055);
  const KernelOfRun cache = Kernel("void vllm::reshape_and_cache_kernel<4>(x)", 8, 50, 0.06);
  const auto after = [](double rope, double append) {
    return Around({Kernel("void b::BatchQKApplyRotaryPosIdsKernel(x)", 8, 60, rope),
                   Kernel("void b::AppendPagedKVCacheKernel(x)", 8, 50, append)});
  };
  const auto match = Matched(Around({rotary, cache}), after(0.055, 0.06));
  EXPECT_EQ(match.by, MatchedBy::kPosition);
  EXPECT_EQ(match.after, std::vector<size_t>{0});
  EXPECT_EQ(Matched(Around({rotary, cache}), after(0.06, 0.055)).kind, MatchKind::kRemoved) << "another order";
}

// Two kernels do what the name of the fused one says once: which of them is in it is not known.
TEST(KernelMatches, AFusionWithTwoAlikeCandidatesForAPartIsNotClaimed) {
  const KernelOfRun whole = Kernel("void b::fused_flash_fwd_merge_states_kernel<1>(x)", 8, 120, 0.055);
  const KernelOfRun merge = Kernel("void a::merge_states_kernel<4>(x)", 8, 50, 0.058);
  const std::vector<KernelOfRun> alike = {Kernel("void flash::flash_fwd_kernel<4>(x)", 8, 100, 0.055),
                                          Kernel("void pytorch_flash::flash_fwd_kernel<8>(x)", 8, 90, 0.06)};
  EXPECT_EQ(Matched(Around({whole}), Around({alike[0], merge})).kind, MatchKind::kSplit);
  const auto match = Matched(Around({whole}), Around({alike[0], alike[1], merge}));
  EXPECT_EQ(match.kind, MatchKind::kRemoved);
}

TEST(KernelMatches, AFusionThatNamesAKernelWhichIsMatchedAlreadyIsNotClaimed) {
  const std::vector<KernelOfRun> parts = {Kernel("void a::prefix_sum_kernel<4>(x)", 8, 50, 0.055),
                                          Kernel("void a::logsumexp_rows_kernel<4>(x)", 8, 50, 0.058)};
  const KernelOfRun whole = Kernel("void b::fused_scan_prefix_sum_logsumexp_rows_kernel(x)", 8, 90, 0.055);
  EXPECT_EQ(Matched(Around(parts), Around({whole})).kind, MatchKind::kFused) << "a scan that was none of its own";
  const KernelOfRun scan = Kernel("void a::scan_kernel<4>(x)", 8, 50, 0.5);
  EXPECT_EQ(Matched(Around({parts[0], parts[1], scan}), Around({whole, scan})).kind, MatchKind::kRemoved);
}

TEST(KernelMatches, AShortWordIsNotFoundInsideOfAnother) {
  const std::vector<KernelOfRun> parts = {Kernel("void a::expand_groups_kernel<4>(x)", 8, 50, 0.055),
                                          Kernel("void a::compute_slots_kernel<4>(x)", 8, 50, 0.058),
                                          Kernel("void a::exp_kernel<4>(x)", 8, 90, 0.5)};
  const KernelOfRun whole = Kernel("void b::fused_compute_slots_exp_expand_groups_kernel(x)", 8, 90, 0.055);
  EXPECT_EQ(Matched(Around(parts), Around({whole})).kind, MatchKind::kRemoved)
      << "exp is in expand, but another kernel";
}

// A kernel of each side was fused on the other one; what is left of the name are two other calls.
TEST(KernelMatches, AnEqualBaseNameIsNoMatchWhereAFusedKernelHasThatName) {
  const KernelOfRun before = Kernel("void flash::flash_fwd_kernel<32, 6>(x)", 8, 100, 0.056);
  const KernelOfRun after = Kernel("void flash::flash_fwd_kernel<128, 8>(x)", 8, 300, 0.062);
  EXPECT_EQ(Matched(Around({before}), Around({after})).by, MatchedBy::kBase);
  const std::vector<KernelOfRun> fused_before = {
      before, Kernel("void b::fused_flash_fwd_scatter_tokens_kernel(x)", 8, 90, 0.062)};
  const std::vector<KernelOfRun> fused_after = {after,
                                                Kernel("void b::fused_dequant_cols_flash_fwd_kernel(x)", 8, 90, 0.056)};
  EXPECT_EQ(Matched(Around(fused_before), Around(fused_after)).kind, MatchKind::kRemoved);
  EXPECT_EQ(Matched(Around(fused_before), Around({after})).kind, MatchKind::kRemoved);
  EXPECT_EQ(Matched(Around({before}), Around(fused_after)).kind, MatchKind::kRemoved);
}

TEST(KernelMatches, AFunctionOfEveryLayerIsNotOneOfTheEnd) {
  KernelOfRun once = Kernel("void flash::flash_fwd_kernel<64>(x)", 1, 8, 0.056);
  EXPECT_EQ(Matched(Around({Kernel("void flash::flash_fwd_kernel<32>(x)", 8, 100, 0.056)}), Around({once})).kind,
            MatchKind::kRemoved);
}

TEST(KernelMatches, KernelsOfOneBaseThatChangedTheirOrderAreNotToldApart) {
  const auto attention = [](const std::string& list, double place) {
    return Kernel("void flash::flash_fwd_kernel<" + list + ">(x)", 8, 100, place);
  };
  const std::vector<KernelOfRun> before = {attention("float, 8, 6, 1", 0.0604), attention("half, 16, 7, 3", 0.06)};
  const auto after = [&attention](double place, double other) {
    return Around({attention("float, 8, 6, 2", place), attention("half, 16, 7, 4", other)});
  };
  const auto kept = Matched(Around(before), after(0.0604, 0.06));
  EXPECT_EQ(kept.kind, MatchKind::kSame);
  const auto swapped = Matched(Around(before), after(0.06, 0.0604));
  EXPECT_EQ(swapped.kind, MatchKind::kGroup) << "lists that have much in common are no proof";
}

TEST(KernelMatches, RangesThatBothRunsHaveAreNotTakenForEachOther) {
  const KernelOfRun before = Kernel("void flash::flash_fwd_kernel<64>(x)", 8, 100, 0.056, "encoder");
  const KernelOfRun after = Kernel("void flash::flash_fwd_kernel<128>(x)", 8, 100, 0.056, "decoder");
  const KernelOfRun in_encoder = Kernel("in_encoder", 8, 10, 0.054, "encoder");
  const KernelOfRun in_decoder = Kernel("in_decoder", 8, 10, 0.068, "decoder");
  EXPECT_EQ(Matched(Around({before, in_encoder}), Around({after, in_decoder})).by, MatchedBy::kBase) << "renamed";
  EXPECT_EQ(Matched(Around({before, in_encoder, in_decoder}), Around({after, in_encoder, in_decoder})).kind,
            MatchKind::kRemoved);
  const KernelOfRun product = Kernel("ampere_sgemm_128x64_tn", 8, 100, 0.056, "encoder");
  const KernelOfRun other = Kernel("ampere_sgemm_64x64_tn", 8, 100, 0.056, "decoder");
  EXPECT_EQ(Matched(Around({product, in_encoder}), Around({other, in_decoder})).kind, MatchKind::kVariantChanged);
  EXPECT_EQ(Matched(Around({product, in_encoder, in_decoder}), Around({other, in_encoder, in_decoder})).kind,
            MatchKind::kRemoved);
}

TEST(KernelMatches, StepsAroundAttentionAndOtherCollectivesAreNotTakenForEachOther) {
  const KernelOfRun attention = Kernel("void flash::flash_fwd_kernel<64>(x)", 8, 100, kHere, "forward");
  const KernelOfRun cache = Kernel("void a::reshape_and_cache_kernel<4>(x)", 8, 80, kHere, "forward");
  EXPECT_EQ(Matched(Around({attention}), Around({cache})).kind, MatchKind::kRemoved);
  const KernelOfRun send = Kernel("ncclDevKernel_SendRecv(x)", 8, 100, kHere, "forward");
  const KernelOfRun reduce = Kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 8, 80, kHere, "forward");
  EXPECT_EQ(Matched(Around({send}), Around({reduce})).kind, MatchKind::kRemoved);
}

// Of 59 launches of a variant, one is elsewhere on the other side: as many launches, and yet not the same products.
TEST(KernelMatches, AProductThatIsElsewhereIsNotTakenForAnOvertakenLaunch) {
  const auto variant = [](const char* name, double single) {
    KernelOfRun kernel = Kernel(name, 59, 300, -1);
    for (int i = 0; i < 58; ++i) kernel.places.push_back(0.2 + 0.001 * i);
    kernel.places.push_back(single);
    std::sort(kernel.places.begin(), kernel.places.end());
    return kernel;
  };
  const auto among = [](KernelOfRun tested) {
    std::vector<KernelOfRun> kernels = {std::move(tested)};
    for (int i = 0; i < 40; ++i) {
      kernels.push_back(Kernel("mark_" + std::to_string(i), 1, 1, 0.3 + 0.01 * i));
    }
    kernels.push_back(Kernel("ampere_sgemm_256x64_tn", 1, 1, 0.95));
    return kernels;
  };
  const KernelOfRun before = variant("ampere_sgemm_128x64_tn", 0.353);
  EXPECT_EQ(Matched(among(before), among(variant("ampere_sgemm_32x64_tn", 0.353))).kind, MatchKind::kVariantChanged);
  EXPECT_EQ(Matched(among(before), among(variant("ampere_sgemm_32x64_tn", 0.363))).kind, MatchKind::kVariantChanged)
      << "overtaken";
  EXPECT_EQ(Matched(among(before), among(variant("ampere_sgemm_32x64_tn", 0.653))).kind, MatchKind::kRemoved);
}

TEST(KernelMatches, AboutEquallyGoodCandidatesStayUnmatchedAndSaySo) {
  const std::vector<KernelOfRun> before = {Kernel("void a::scan<1>(x)", 8, 100, -1)};
  const std::vector<KernelOfRun> after = {Kernel("void a::scan<2>(x)", 8, 100, -1),
                                          Kernel("void a::scan<3>(x)", 8, 100, -1)};
  const auto match = Matched(before, after);
  EXPECT_EQ(match.kind, MatchKind::kRemoved);
  EXPECT_EQ(match.reason, UnmatchedReason::kSeveralAlike);
  EXPECT_EQ(match.candidates.size(), 2U);
  EXPECT_NE(Explanation(match, before, after).find("void a::scan<2>(x), void a::scan<3>(x)"), std::string::npos);
}

TEST(KernelMatches, AbsurdNumbersAreNoProblem) {
  std::vector<KernelOfRun> kernels;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0, 0.0, 1e300, 5e-324}) {
    KernelOfRun kernel = Kernel("void k<" + std::to_string(kernels.size()) + ">(x)", 1, 1, 0.5);
    kernel.launches_per_step = kernel.time_per_step_ns = value;
    kernel.places = {value, value, 0.5};
    kernels.push_back(kernel);
  }
  std::vector<KernelOfRun> others = kernels;
  for (KernelOfRun& other : others) other.name = "void k<1" + other.name.substr(7);
  for (const auto& after : {kernels, others, std::vector<KernelOfRun>()}) {
    const auto all = MatchKernels(kernels, after);
    ASSERT_TRUE(all.ok());
    size_t members = 0;
    for (const KernelMatch& match : all->matches) members += match.before.size() + match.after.size();
    EXPECT_EQ(members, kernels.size() + after.size());
  }
}

TEST(KernelMatches, ThousandsOfKernelsWithOneBaseAreLeftUnmatchedWithAReason) {
  std::vector<KernelOfRun> before;
  std::vector<KernelOfRun> after;
  for (int i = 0; i < 3'000; ++i) {
    before.push_back(Kernel("void a::k<" + std::to_string(i) + ">(x)", 1, 1, -1));
    after.push_back(Kernel("void a::k<" + std::to_string(-1 - i) + ">(x)", 2, 1, -1));
  }
  const auto all = MatchKernels(before, after);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->matches.size(), 6'000U);
  EXPECT_EQ(all->matches[0].reason, UnmatchedReason::kTooManyCandidates);
}

}  // namespace
}  // namespace lockstep::compare
