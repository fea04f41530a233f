#include "analysis/model/kernel_name.h"

#include <vector>

#include <gtest/gtest.h>

#include "analysis/model/kernel_class.h"

namespace lockstep {
namespace {

TEST(KernelName, BaseIsTheFunctionWithoutItsSurroundings) {
  EXPECT_EQ(BaseName("foo"), "foo");
  EXPECT_EQ(BaseName("void at::native::foo<int>(x)"), "foo");
  EXPECT_EQ(BaseName("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"),
            "ncclDevKernel_SendRecv");
  EXPECT_EQ(BaseName("unsigned long ns::foo(int)"), "foo");
  EXPECT_EQ(BaseName("float const* foo(int)"), "foo");
}

TEST(KernelName, UnnamedNamespacesAreNoArgumentLists) {
  EXPECT_EQ(BaseName("void (anonymous namespace)::foo<float, 4>(long*)"), "foo");
  EXPECT_EQ(BaseName("void <unnamed>::foo<float>(T2 *, const T1 *)"), "foo");
  EXPECT_EQ(BaseName("void at::native::(anonymous namespace)::foo<at::native::(anonymous namespace)::X<2u> >(x)"),
            "foo");
}

TEST(KernelName, TemplatedReturnTypesAreSteppedOver) {
  EXPECT_EQ(BaseName("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(x)"), "kernel");
  EXPECT_EQ(BaseName("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
                     "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)"),
            "fused_add_rms_norm_kernel");
  EXPECT_EQ(BaseName("std::vector<int> ns::foo(x)"), "foo");
}

TEST(KernelName, MembersOfTemplatesKeepTheirOwnName) { EXPECT_EQ(BaseName("void Outer<int>::inner<8>(x)"), "inner"); }

TEST(KernelName, LambdasInTemplateListsDoNotEndThem) {
  EXPECT_EQ(BaseName("void elementwise_kernel<128, 2, gpu_impl<copy(at::T&)::{lambda()#2}::operator()() const::"
                     "{lambda(float)#1}> >(int, x)"),
            "elementwise_kernel");
}

TEST(KernelName, SpacesBeforeTheArgumentsAreNoName) {
  EXPECT_EQ(BaseName("void foo (int)"), "foo");
  EXPECT_EQ(BaseName("void foo<int> (int)"), "foo");
  EXPECT_EQ(BaseName("foo  "), "foo");
  EXPECT_EQ(BaseName("foo(int) [clone .kd]"), "foo");
}

TEST(KernelName, MangledNamesAreReadAsFarAsNeeded) {
  EXPECT_EQ(BaseName("_ZN4vllm26cross_device_reduce_2stageI13__nv_bfloat16Li8EEEvPNS_8RankDataE"),
            "cross_device_reduce_2stage");
  EXPECT_EQ(BaseName("_Z7oneRankPf"), "oneRank");
  EXPECT_EQ(BaseName("_ZN2ck12_GLOBAL__N_13fooIiEEvv"), "foo");
}

TEST(KernelName, WithoutAnyNameIsItsOwnBase) {
  for (const auto* name :
       {"", "(", "<", "<<<", "::", "(anonymous namespace)", "_Z", "_ZN", "_Z99999999999999999999x"}) {
    const KernelNameParts parts = SplitKernelName(name);
    EXPECT_EQ(parts.base, std::string_view(name).substr(0, parts.base.size())) << name;
  }
  EXPECT_EQ(BaseName("(anonymous namespace)"), "(anonymous namespace)");
  EXPECT_EQ(BaseName("_ZN"), "_ZN");
}

TEST(KernelName, AnUnclosedTemplateListEndsTheName) { EXPECT_EQ(BaseName("void ns::foo<int, bar<"), "foo"); }

TEST(KernelName, PartsTileTheName) {
  for (const std::string_view name :
       {"void ns::foo<int>(x)", "foo", "void <unnamed>::f(x)", "_ZN1a1bE", "_ZN1a99b", ""}) {
    const KernelNameParts parts = SplitKernelName(name);
    EXPECT_EQ(std::string(parts.head) + std::string(parts.rest), name);
    EXPECT_TRUE(parts.head.ends_with(parts.base));
  }
}

}  // namespace
}  // namespace lockstep
