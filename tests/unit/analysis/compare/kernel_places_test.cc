#include "analysis/compare/kernel_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/compare/kernel_changes.h"
#include "tests/support/compare/random_run.h"

namespace lockstep::compare {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;
using Numbers = std::vector<report::Count>;

report::ProfileKernel KernelAt(const Numbers& places, int64_t kernels) {
  report::ProfileKernel kernel;
  kernel.places = {0.1, 0.2, 0.3, 0.4, 0.5};
  kernel.typical_places = places;
  kernel.typical_kernels = kernels;
  return kernel;
}

TEST(KernelPlaces, AreSharesOfTheKernelsOfTheTypicalStep) {
  const report::ProfileKernel kernel = KernelAt({int64_t{0}, int64_t{6}}, 8);
  EXPECT_THAT(PlacesOf(kernel, PlacesFrom::kTypicalStep), ElementsAre(DoubleEq(0), DoubleEq(0.75)));
  EXPECT_THAT(PlacesOf(kernel, PlacesFrom::kQuartiles), ElementsAre(0.1, 0.2, 0.3, 0.4, 0.5));
}

// Its quartiles are shares of other steps, and of their time.
TEST(KernelPlaces, AreNotKnownOfAKernelThatTheTypicalStepLacks) {
  report::ProfileKernel kernel = KernelAt({int64_t{0}}, 8);
  kernel.typical_places.reset();
  EXPECT_THAT(PlacesOf(kernel, PlacesFrom::kTypicalStep), IsEmpty());
}

TEST(KernelPlaces, AreQuartilesIfOneRunOfEitherSideKnowsNoTypicalStep) {
  const RunPlan plan;
  Sides sides;
  for (uint32_t seed = 1; seed <= 2; ++seed) sides.base.push_back(RandomRun(plan, seed));
  sides.fresh.push_back(RandomRun(plan, 3));
  for (std::vector<ComparedRun>* side : {&sides.base, &sides.fresh}) {
    for (ComparedRun& run : *side) run.profile.kernels[1] = KernelAt({int64_t{0}}, 8);
  }
  EXPECT_EQ(PlacesOfBoth(sides), PlacesFrom::kTypicalStep) << "one kernel that knows it does";
  sides.base[1].profile.kernels[1].typical_places.reset();
  EXPECT_EQ(PlacesOfBoth(sides), PlacesFrom::kQuartiles);
}

// A step of several kernels whose names stay, and one that was renamed between two of them.
RunPlan StepOf(const std::string& renamed) {
  RunPlan plan;
  plan.kernels.clear();
  for (const std::string name : {"embed_tokens_kernel", "rope_kernel", "moe_gate_kernel", "lm_head_kernel"}) {
    plan.kernels.push_back({name, "other"});
  }
  plan.kernels.push_back({renamed, "norm"});
  return plan;
}

// Kernel k starts at 2 k, the renamed one, which is the last, behind the second.
ComparedRun RunOf(const RunPlan& plan, uint32_t seed, bool typical) {
  ComparedRun run = RandomRun(plan, seed);
  for (size_t k = 0; k < run.profile.kernels.size(); ++k) {
    report::ProfileKernel& kernel = run.profile.kernels[k];
    const size_t at = k + 1 == run.profile.kernels.size() ? 3 : 2 * k;
    if (typical) kernel.typical_places = Numbers{at};
    if (typical) kernel.typical_kernels = int64_t{8};
  }
  return run;
}

std::string MatchOfRenamed(bool typical) {
  Sides sides;
  sides.base.push_back(RunOf(StepOf("rms_norm_kernel"), 1, typical));
  sides.fresh.push_back(RunOf(StepOf("layernorm_rms_fwd"), 2, typical));
  const KernelChanges changes = KernelChangesOf(sides, {}).value();
  for (const report::KernelChange& kernel : changes.kernels) {
    if (kernel.base && kernel.base->names.front() == "rms_norm_kernel") return kernel.matched_by;
  }
  return "no such kernel";
}

TEST(KernelPlaces, FindAKernelThatWasRenamedAtItsPlace) {
  EXPECT_EQ(MatchOfRenamed(true), "position");
  EXPECT_EQ(MatchOfRenamed(false), "nothing");
}

}  // namespace
}  // namespace lockstep::compare
