#include "proto/query_codec.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

AnalysisOptions RoundTrip(const AnalysisOptions& options) {
  v1::ViewsRequest request;
  ToProto("r", options, &request);
  v1::ViewsRequest parsed;
  EXPECT_TRUE(parsed.ParseFromString(request.SerializeAsString()));
  return FromProto(parsed).value();
}

TEST(QueryCodec, RestrictionsSurviveTheWire) {
  AnalysisOptions options;
  options.views = {"summary", "skew"};
  options.steps = {-3, 7};
  options.time_ns = {0, 5};
  options.ranks = {0, 0, 12};
  options.kernels = "gemm.*";
  options.nvtx = "forward";
  options.capture = 0;
  options.capture_last = true;
  options.one_run = true;
  options.group_by = GroupBy::kFamily;
  options.layout = ParallelLayout{.sizes = {{ParallelAxis::kTensor, 8}}, .order = {ParallelAxis::kTensor}};
  options.instances = -1;
  options.sort = "total_ns";
  options.limit = 0;
  options.families = {{"ours", "my_gemm"}, {"theirs", "x"}};
  const AnalysisOptions got = RoundTrip(options);
  EXPECT_EQ(got.views, options.views);
  EXPECT_EQ(got.steps, options.steps);
  EXPECT_EQ(got.time_ns, options.time_ns);
  EXPECT_EQ(got.ranks, options.ranks);
  EXPECT_EQ(got.kernels, options.kernels);
  EXPECT_EQ(got.nvtx, options.nvtx);
  EXPECT_EQ(got.capture, options.capture);
  EXPECT_EQ(got.capture_last, options.capture_last);
  EXPECT_EQ(got.one_run, options.one_run);
  EXPECT_EQ(got.group_by, options.group_by);
  EXPECT_EQ(got.layout, options.layout);
  EXPECT_EQ(got.instances, options.instances);
  EXPECT_EQ(got.sort, options.sort);
  EXPECT_EQ(got.limit, options.limit);
  EXPECT_EQ(got.families, options.families);
}

TEST(QueryCodec, WhatWasNotAskedStaysAbsent) {
  const AnalysisOptions got = RoundTrip({});
  EXPECT_EQ(got.steps, std::nullopt);
  EXPECT_EQ(got.time_ns, std::nullopt);
  EXPECT_EQ(got.capture, std::nullopt);
  EXPECT_EQ(got.instances, std::nullopt);
  EXPECT_EQ(got.limit, std::nullopt);
}

TEST(QueryCodec, AnUnknownGroupingIsRefused) {
  v1::ViewsRequest request;
  request.set_group_by(6);
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(request).status()));
}

TEST(QueryCodec, RunsSurviveTheWire) {
  const RunInfo info{.name = "r",
                     .state = RunState::kAnalysed,
                     .expected_ranks = -1,
                     .finished_by_hand = true,
                     .sources = 3,
                     .complete_sources = 2,
                     .revision = 7,
                     .changed_unix_ns = 1'700'000'000'000'000'000};
  v1::Run run;
  ToProto(info, &run);
  const RunInfo got = FromProto(run).value();
  EXPECT_EQ(got.name, "r");
  EXPECT_EQ(got.state, RunState::kAnalysed);
  EXPECT_EQ(got.expected_ranks, -1);
  EXPECT_TRUE(got.finished_by_hand);
  EXPECT_EQ(got.sources, 3);
  EXPECT_EQ(got.complete_sources, 2);
  EXPECT_EQ(got.revision, 7);
  EXPECT_EQ(got.changed_unix_ns, 1'700'000'000'000'000'000);
}

TEST(QueryCodec, AnUnknownStateIsRefused) {
  v1::Run run;
  run.set_state("sleeping");
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(run).status()));
}

}  // namespace
}  // namespace lockstep
