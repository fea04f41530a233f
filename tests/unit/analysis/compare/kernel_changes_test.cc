#include "analysis/compare/kernel_changes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/compare/random_run.h"

namespace lockstep::compare {
namespace {

// Two kernels of one family between the same neighbours, renamed: only the ranges tell which is which.
TEST(KernelChanges, AreMatchedByTheRangesThatTheProfilesTell) {
  const auto run_of = [](const std::string& first, const std::string& second, bool ranges) {
    RunPlan plan;
    plan.kernels = {{first, "attention"}, {second, "attention"}};
    ComparedRun run = RandomRun(plan, 7);
    if (!ranges) return run;
    for (report::ProfileKernel& kernel : run.profile.kernels) {
      if (kernel.name == first) kernel.range = "encoder.layer #";
      if (kernel.name == second) kernel.range = "decoder.layer #";
    }
    return run;
  };
  const auto matches = [&](bool ranges) {
    Sides sides;
    sides.base.push_back(run_of("flash_fwd_kernel_a", "flash_fwd_kernel_b", ranges));
    sides.fresh.push_back(run_of("fmhaSm100aKernel_x", "fmhaSm100aKernel_y", ranges));
    std::map<std::string, std::string> pairs;
    const KernelChanges changes = KernelChangesOf(sides, {}).value();
    for (const report::KernelChange& change : changes.kernels) {
      if (change.base && change.fresh && change.matched_by == "range") {
        pairs[change.base->names.front()] = change.fresh->names.front();
      }
    }
    return pairs;
  };
  const std::map<std::string, std::string> expected = {{"flash_fwd_kernel_a", "fmhaSm100aKernel_x"},
                                                       {"flash_fwd_kernel_b", "fmhaSm100aKernel_y"}};
  EXPECT_EQ(matches(true), expected);
  EXPECT_TRUE(matches(false).empty());
}

}  // namespace
}  // namespace lockstep::compare
