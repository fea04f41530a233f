#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/report/json.h"
#include "analysis/report/report.h"
#include "tests/support/run_builder.h"

namespace lockstep {
namespace {

// Of the kernel "gemm".
Json RangeIn(const RunBuilder& builder) {
  BuiltRun built = builder.Build();
  AnalysisOptions options;
  options.views = {"profile"};
  InlineExecutor executor;
  const auto report = BuildReport(built.run, built.instances, options, executor);
  EXPECT_TRUE(report.ok()) << report.status();
  for (const Json& kernel : report->at("profile").at("kernels")) {
    if (kernel.at("name") == "gemm") return kernel.at("range");
  }
  ADD_FAILURE() << "no such kernel";
  return nullptr;
}

// Two ranks that run it, with a row for each number of launches.
void AddRows(RunBuilder& builder, const std::vector<std::pair<size_t, uint32_t>>& rows) {
  for (int32_t rank = 0; rank < 2; ++rank) {
    SourceBuilder& source = builder.AddRank(rank);
    for (size_t i = 0; i < rows.size(); ++i) {
      KernelRow& row = source.Kernel("gemm", std::vector<int64_t>(rows[i].first, 10));
      row.range = rows[i].second;
      row.has_shape = i > 0;
      row.shape.grid[0] = static_cast<int32_t>(i);
    }
  }
}

TEST(ProfileRange, IsThatOfAllShapesAndRanks) {
  RunBuilder builder;
  const uint32_t attention = builder.Name("attention #");
  AddRows(builder, {{10, attention}, {30, attention}});
  EXPECT_EQ(RangeIn(builder), "attention #");
}

TEST(ProfileRange, IsNullWhereMoreThanATwentiethOfTheLaunchesAreElsewhere) {
  RunBuilder builder;
  const uint32_t attention = builder.Name("attention #");
  const uint32_t mlp = builder.Name("mlp #");
  AddRows(builder, {{40, attention}, {2, mlp}});
  EXPECT_EQ(RangeIn(builder), "attention #");
  RunBuilder mixed;
  const uint32_t same = mixed.Name("attention #");
  AddRows(mixed, {{40, same}, {3, kNoId}});
  EXPECT_TRUE(RangeIn(mixed).is_null());
}

}  // namespace
}  // namespace lockstep
