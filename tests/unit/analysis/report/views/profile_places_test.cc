#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "analysis/report/json.h"
#include "analysis/report/report.h"
#include "tests/support/run_builder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

std::map<std::string, Json> ProfileKernelsOf(const RunBuilder& builder) {
  BuiltRun built = builder.Build();
  AnalysisOptions options;
  options.views = {"profile"};
  InlineExecutor executor;
  const auto report = BuildReport(built.run, built.instances, options, executor);
  EXPECT_TRUE(report.ok()) << report.status();
  std::map<std::string, Json> kernels;
  for (const Json& kernel : report->at("profile").at("kernels")) {
    kernels[kernel.at("name").get<std::string>()] = kernel;
  }
  return kernels;
}

std::vector<int64_t> PlacesOfRow(const Json& kernel) { return kernel.at("typical_places").get<std::vector<int64_t>>(); }

TEST(ProfilePlaces, AreThoseOfTheLowestRankThatKnowsThem) {
  RunBuilder builder;
  SourceBuilder& rank0 = builder.AddRank(0);
  rank0.Kernel("gemm", {10, 10}).places = {0, 2};
  rank0.Kernel("rare", {10});  // in another step
  rank0.Kernel("embed", {10}).places = {3};
  SourceBuilder& rank1 = builder.AddRank(1);
  rank1.Kernel("gemm", {10, 10}).places = {1, 4};
  rank1.Kernel("rare", {10}).places = {5};
  const auto kernels = ProfileKernelsOf(builder);
  EXPECT_THAT(PlacesOfRow(kernels.at("gemm")), ElementsAre(0, 2));
  EXPECT_EQ(kernels.at("gemm").at("typical_kernels"), 4);
  EXPECT_THAT(PlacesOfRow(kernels.at("rare")), ElementsAre(5));
  EXPECT_EQ(kernels.at("rare").at("typical_kernels"), 6) << "of that rank";
}

TEST(ProfilePlaces, OfOneNameAreThoseOfAllItsShapes) {
  RunBuilder builder;
  SourceBuilder& rank = builder.AddRank(0);
  rank.Kernel("gemm", {10, 10}).places = {0, 5};
  KernelRow& other_shape = rank.Kernel("gemm", {10});
  other_shape.has_shape = true;
  other_shape.places = {2};
  EXPECT_THAT(PlacesOfRow(ProfileKernelsOf(builder).at("gemm")), ElementsAre(0, 2, 5));
}

TEST(ProfilePlaces, AreNullWhereNoRankKnowsThem) {
  RunBuilder builder;
  builder.AddRank(0).Kernel("gemm", {10});
  const Json kernel = ProfileKernelsOf(builder).at("gemm");
  EXPECT_TRUE(kernel.at("typical_places").is_null());
  EXPECT_TRUE(kernel.at("typical_kernels").is_null());
}

}  // namespace
}  // namespace lockstep
