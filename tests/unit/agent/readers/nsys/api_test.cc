#include <algorithm>

#include "agent/readers/nsys/api_name.h"
#include "tests/unit/agent/readers/nsys/nsys_fixture.h"

namespace lockstep {
namespace {

class NsysApi : public NsysTest {};

TEST(NsysApiName, VersionAndStreamSuffixesAreCutAndApiGenerationsStay) {
  EXPECT_EQ(nsys::DisplayName("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(nsys::DisplayName("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(nsys::DisplayName("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(nsys::DisplayName("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(nsys::DisplayName("cudaStreamGetCaptureInfo_v2_v11030"), "cudaStreamGetCaptureInfo_v2");
  EXPECT_EQ(nsys::DisplayName("cuMemAlloc_v2"), "cuMemAlloc_v2");
  EXPECT_EQ(nsys::DisplayName("_v7000"), "_v7000");
  EXPECT_EQ(nsys::NsysName("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(nsys::NsysName("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync_ptsz");
  EXPECT_EQ(nsys::NsysName("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC_v11060");
  EXPECT_EQ(nsys::NsysName("_v7000"), "_v7000");
}

TEST(NsysApiName, KindsFollowTheFunction) {
  EXPECT_EQ(nsys::KindOfApi("cudaLaunchKernel"), ApiKind::kLaunch);
  EXPECT_EQ(nsys::KindOfApi("cuLaunchKernelEx"), ApiKind::kLaunch);
  EXPECT_EQ(nsys::KindOfApi("cudaLaunchHostFunc"), ApiKind::kOther);
  EXPECT_EQ(nsys::KindOfApi("cudaGraphLaunch"), ApiKind::kGraphLaunch);
  EXPECT_EQ(nsys::KindOfApi("cuGraphLaunch"), ApiKind::kGraphLaunch);
  EXPECT_EQ(nsys::KindOfApi("cudaMemcpyAsync"), ApiKind::kCopy);
  EXPECT_EQ(nsys::KindOfApi("cuMemcpyHtoDAsync_v2"), ApiKind::kCopy);
  EXPECT_EQ(nsys::KindOfApi("cudaMemsetAsync"), ApiKind::kMemset);
  EXPECT_EQ(nsys::KindOfApi("cudaDeviceSynchronize"), ApiKind::kSync);
  EXPECT_EQ(nsys::KindOfApi("cudaStreamWaitEvent"), ApiKind::kOther);
  EXPECT_EQ(nsys::KindOfApi("cudaMallocAsync"), ApiKind::kAlloc);
  EXPECT_EQ(nsys::KindOfApi("cuMemFree_v2"), ApiKind::kAlloc);
  EXPECT_EQ(nsys::KindOfApi("ncclAllReduce"), ApiKind::kOther);
}

TEST_F(NsysApi, ACallKeepsThreadTimesAndClass) {
  NsysBuilder file = File();
  file.Api("cuLaunchKernelEx", 10, 25, {.pid = 7, .tid = 70'123, .correlation = 4}, 1);
  Read(file);
  ASSERT_EQ(sink_.apis.size(), 1u);
  EXPECT_EQ(sink_.apis[0].tid, 70'123);
  EXPECT_EQ(sink_.apis[0].start_ns, 10);
  EXPECT_EQ(sink_.apis[0].duration_ns, 15);
  EXPECT_EQ(sink_.apis[0].correlation, 4u);
  EXPECT_TRUE(sink_.apis[0].is_driver);
  EXPECT_EQ(sink_.apis[0].kind, ApiKind::kLaunch);
  EXPECT_EQ(sink_.context().api_rows, 1);
}

TEST_F(NsysApi, AGraphLaunchWithoutNodesIsOpaque) {
  NsysBuilder file = File();
  file.Api("cudaGraphLaunch_v10000", 10, 20, {.correlation = 1});
  file.Api("cudaGraphLaunch_v10000", 30, 40, {.correlation = 2});
  file.Kernel("node", 50, 60, {.correlation = 2}, {{"graphNodeId", 5}});
  Read(file);
  EXPECT_EQ(sink_.context().opaque_graph_launches, 1);
}

TEST_F(NsysApi, ACopyNodeAlsoMakesALaunchVisible) {
  NsysBuilder file = File();
  file.Api("cudaGraphLaunch_v10000", 10, 20, {.correlation = 1});
  file.Memset(4, 50, 60, {.correlation = 1});
  Read(file);
  EXPECT_EQ(sink_.context().opaque_graph_launches, 0);
}

TEST_F(NsysApi, ANodeOfAnotherProcessDoesNotMakeALaunchVisible) {
  NsysBuilder file = File();
  file.Api("cudaGraphLaunch_v10000", 10, 20, {.pid = 1, .correlation = 1});
  file.Kernel("node", 50, 60, {.pid = 2, .correlation = 1});
  Read(file);
  EXPECT_EQ(sink_.context().opaque_graph_launches, 1);
}

TEST_F(NsysApi, TheDriverCallInsideARuntimeGraphLaunchIsNotCountedTwice) {
  NsysBuilder file = File();
  file.Api("cudaGraphLaunch_v10000", 10, 40, {.correlation = 1});
  file.Api("cuGraphLaunch", 15, 35, {.correlation = 2}, 1);
  file.Api("cuGraphLaunch", 50, 60, {.correlation = 3}, 1);  // a driver call of its own
  Read(file);
  EXPECT_EQ(sink_.context().opaque_graph_launches, 2);
}

}  // namespace
}  // namespace lockstep
