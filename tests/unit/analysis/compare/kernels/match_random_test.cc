// Random models whose true pairs are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/kernels/kernel_matches.h"
#include "bench/models/random_model.h"

namespace lockstep::compare {
namespace {

constexpr int kSeeds = 300;
constexpr int kManySeeds = 1'000;

struct Totals {
  double right = 0;  // mean over the models
  double matched = 0;
  int wrong = 0;  // matches above 1 % of the step
  int fusions = 0;
  int fusions_told = 0;
};

Totals TotalsOf(const ModelOptions& options, int seeds = kSeeds) {
  Totals totals;
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(seeds); ++seed) {
    const RandomModel model = MakeRandomModel(seed, options);
    const auto matches = MatchKernels(model.before.kernels, model.after.kernels);
    EXPECT_TRUE(matches.ok());
    const ModelScore score = ScoreOf(model, *matches);
    totals.right += score.right / seeds;
    totals.matched += score.matched / seeds;
    totals.wrong += score.wrong;
    totals.fusions += score.fusions;
    totals.fusions_told += score.fusions_told;
    if (score.wrong > 0) ADD_FAILURE_AT("seed", static_cast<int>(seed)) << "largest wrong match " << score.worst;
  }
  ::testing::Test::RecordProperty("right", std::to_string(totals.right));
  return totals;
}

TEST(MatchRandom, NearlyAllKernelTimeIsMatchedRightlyAndNothingWrongly) {
  const Totals totals = TotalsOf({}, kManySeeds);
  EXPECT_GE(totals.right, 0.98);
  EXPECT_GE(totals.matched, 0.95);
  EXPECT_EQ(totals.wrong, 0);
}

TEST(MatchRandom, WithThePlaceOfEveryLaunchItIsTheSame) {
  ModelOptions options;
  options.places = ModelPlaces::kEveryLaunch;
  const Totals totals = TotalsOf(options);
  EXPECT_GE(totals.right, 0.98);
  EXPECT_EQ(totals.wrong, 0);
}

// What the profile of a run has: places as it cuts them, and no ranges.
TEST(MatchRandom, WithoutRangesItIsTheSame) {
  ModelOptions options;
  options.ranges = false;
  const Totals totals = TotalsOf(options, kManySeeds);
  EXPECT_GE(totals.right, 0.98);
  EXPECT_EQ(totals.wrong, 0);
}

TEST(MatchRandom, FusedKernelsWithNamesAreToldAsSuch) {
  ModelOptions options;
  options.added = 0;
  options.fused = 0.15;
  const Totals totals = TotalsOf(options);
  EXPECT_GT(totals.fusions, 500);
  EXPECT_GE(totals.fusions_told, totals.fusions * 3 / 4);
}

TEST(MatchRandom, FusedKernelsWithoutNamesAreNotMatchedWrongly) {
  ModelOptions options;
  options.places = ModelPlaces::kEveryLaunch;
  options.opaque = 1;
  options.retuned = false;
  EXPECT_EQ(TotalsOf(options).wrong, 0);
}

// The same run must be the same: every kernel is itself, and certainly so.
TEST(MatchRandom, ARunMatchesItselfExactly) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomModel model = MakeRandomModel(seed, {});
    const auto matches = MatchKernels(model.before.kernels, model.before.kernels);
    ASSERT_TRUE(matches.ok());
    EXPECT_EQ(matches->before_matched_share, 1);
    for (const KernelMatch& match : matches->matches) {
      EXPECT_EQ(match.by, MatchedBy::kExact) << seed;
      EXPECT_EQ(match.certainty, Certainty::kCertain) << seed;
      EXPECT_EQ(match.before, match.after) << seed;
    }
  }
}

using NamedMatch = std::pair<std::multiset<std::string>, std::multiset<std::string>>;

std::multiset<NamedMatch> NamedMatches(const ModelSide& before, const ModelSide& after) {
  const auto matches = MatchKernels(before.kernels, after.kernels);
  EXPECT_TRUE(matches.ok());
  std::multiset<NamedMatch> named;
  for (const KernelMatch& match : matches->matches) {
    NamedMatch names;
    for (const size_t b : match.before) names.first.insert(before.kernels[b].name);
    for (const size_t a : match.after) names.second.insert(after.kernels[a].name);
    named.insert(names);
  }
  return named;
}

TEST(MatchRandom, TheOrderOfTheListsDoesNotMatter) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomModel model = MakeRandomModel(seed, {});
    const auto expected = NamedMatches(model.before, model.after);
    std::mt19937_64 rng(seed);
    std::shuffle(model.before.kernels.begin(), model.before.kernels.end(), rng);
    std::shuffle(model.after.kernels.begin(), model.after.kernels.end(), rng);
    EXPECT_EQ(NamedMatches(model.before, model.after), expected) << seed;
  }
}

TEST(MatchRandom, EachKernelIsInOneMatch) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ModelOptions options;
    options.places = seed % 2 == 0 ? ModelPlaces::kTypicalStep : ModelPlaces::kNone;
    const RandomModel model = MakeRandomModel(seed, options);
    const auto matches = MatchKernels(model.before.kernels, model.after.kernels);
    ASSERT_TRUE(matches.ok());
    std::vector<size_t> before;
    std::vector<size_t> after;
    for (const KernelMatch& match : matches->matches) {
      before.insert(before.end(), match.before.begin(), match.before.end());
      after.insert(after.end(), match.after.begin(), match.after.end());
      const bool unmatched = match.kind == MatchKind::kAdded || match.kind == MatchKind::kRemoved;
      EXPECT_EQ(unmatched, match.reason != UnmatchedReason::kNone);
      EXPECT_EQ(unmatched, match.by == MatchedBy::kNothing);
    }
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    std::vector<size_t> all(std::max(before.size(), after.size()));
    std::iota(all.begin(), all.end(), size_t{0});
    EXPECT_TRUE(std::equal(before.begin(), before.end(), all.begin())) << seed;
    EXPECT_EQ(before.size(), model.before.kernels.size());
    EXPECT_TRUE(std::equal(after.begin(), after.end(), all.begin())) << seed;
    EXPECT_EQ(after.size(), model.after.kernels.size());
  }
}

}  // namespace
}  // namespace lockstep::compare
