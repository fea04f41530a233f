#include "agent/readers/kineto/names.h"

#include <gtest/gtest.h>

namespace lockstep::kineto {
namespace {

TEST(KinetoNames, CategoriesAreComparedWithoutCase) {
  EXPECT_EQ(CategoryOf("kernel"), Category::kKernel);
  EXPECT_EQ(CategoryOf("Kernel"), Category::kKernel);
  EXPECT_EQ(CategoryOf("Memcpy"), Category::kMemcpy);
  EXPECT_EQ(CategoryOf("gpu_memset"), Category::kMemset);
  EXPECT_EQ(CategoryOf("Runtime"), Category::kRuntime);
  EXPECT_EQ(CategoryOf("Operator"), Category::kCpuOp);
  EXPECT_EQ(CategoryOf("kernels"), Category::kUnknown);
}

TEST(KinetoNames, LaunchesOfAllLibrariesAreLaunches) {
  for (const char* name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cuLaunchKernel", "cuLaunchKernelEx",
        "hipLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipExtLaunchKernel"}) {
    EXPECT_EQ(ApiKindOf(name), ApiKind::kLaunch) << name;
  }
}

TEST(KinetoNames, GraphLaunchesAreToldFromLaunches) {
  EXPECT_EQ(ApiKindOf("cudaGraphLaunch"), ApiKind::kGraphLaunch);
  EXPECT_EQ(ApiKindOf("hipGraphLaunch"), ApiKind::kGraphLaunch);
  EXPECT_EQ(ApiKindOf("cuGraphLaunch"), ApiKind::kGraphLaunch);
}

TEST(KinetoNames, CallsThatLaunchNothingAreNoLaunches) {
  EXPECT_EQ(ApiKindOf("cudaLaunchHostFunc"), ApiKind::kOther);
  EXPECT_EQ(ApiKindOf("cudaStreamWaitEvent"), ApiKind::kOther);
  EXPECT_EQ(ApiKindOf("cudaEventQuery"), ApiKind::kOther);
  EXPECT_EQ(ApiKindOf("aten::LaunchKernel"), ApiKind::kOther);
}

TEST(KinetoNames, CopiesSynchronisationsAndAllocationsAreTold) {
  EXPECT_EQ(ApiKindOf("hipMemcpyWithStream"), ApiKind::kCopy);
  EXPECT_EQ(ApiKindOf("cudaMemsetAsync"), ApiKind::kMemset);
  EXPECT_EQ(ApiKindOf("cudaStreamSynchronize"), ApiKind::kSync);
  EXPECT_EQ(ApiKindOf("cuCtxSynchronize"), ApiKind::kSync);
  EXPECT_EQ(ApiKindOf("cudaHostAlloc"), ApiKind::kAlloc);
  EXPECT_EQ(ApiKindOf("cudaMallocAsync"), ApiKind::kAlloc);
}

TEST(KinetoNames, ACopyNameGivesDirectionAndMemories) {
  const CopyName copy = CopyNameOf("Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copy.kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copy.source, MemoryKind::kPinned);
  EXPECT_EQ(copy.target, MemoryKind::kDevice);
}

TEST(KinetoNames, WhatACopyNameDoesNotSayStaysUnknown) {
  const CopyName copy = CopyNameOf("Memcpy DtoH (Device -> Host)");
  EXPECT_EQ(copy.kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(copy.target, MemoryKind::kUnknown);
  EXPECT_EQ(CopyNameOf("something").kind, CopyKind::kUnknown);
  EXPECT_EQ(CopyNameOf("Memcpy )(").source, MemoryKind::kUnknown);
}

TEST(KinetoNames, OnlyWholeStepNamesHaveANumber) {
  EXPECT_EQ(StepNumberOf("ProfilerStep#1009"), 1009);
  EXPECT_FALSE(StepNumberOf("ProfilerStep#").has_value());
  EXPECT_FALSE(StepNumberOf("ProfilerStep#1x").has_value());
  EXPECT_FALSE(StepNumberOf("ProfilerStep#-1").has_value());
  EXPECT_FALSE(StepNumberOf("ProfilerStep#99999999999999999999").has_value());
}

}  // namespace
}  // namespace lockstep::kineto
