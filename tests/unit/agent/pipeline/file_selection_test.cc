#include "agent/pipeline/file_selection.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

struct Named {
  FileInterner names;
  DropCounters drops;
  std::vector<StepRange> steps;

  Named() {
    const NameId send = names.Name("send", drops);
    const NameId other = names.Name("other", drops);
    steps = {{0, 10, 3, 0, send}, {10, 20, 4, 0, other}, {20, 30, 5, 0, send}, {30, 40, 6, 0, kNoId}};
  }
  [[nodiscard]] CondenseSelection Of(const FileSelection& asked, int32_t device = 0, int64_t shift_ns = 0) const {
    return SelectionOf(asked, steps, names, "a.json", 7, device, shift_ns);
  }
};

using Steps = std::optional<std::vector<bool>>;

TEST(FileSelection, TakesStepsByTheirNumbersAndTheirRange) {
  const Named named;
  EXPECT_FALSE(FileSelection{}.active());
  EXPECT_FALSE(named.Of({}).active());
  EXPECT_EQ(named.Of({.steps = {{4, 5}}}).steps, Steps({false, true, true, false}));
  EXPECT_EQ(named.Of({.nvtx = "NCCL:send"}).steps, Steps({true, false, true, false}));
  EXPECT_EQ(named.Of({.steps = {{4, 6}}, .nvtx = "send"}).steps, Steps({false, false, true, false}));
}

TEST(FileSelection, OfRangesAskedForByNameOnlyWhatTheyLaunchedCounts) {
  const Named named;
  EXPECT_TRUE(named.Of({.nvtx = "send"}).launched_only);
  EXPECT_FALSE(named.Of({.steps = {{4, 5}}}).launched_only);
}

TEST(FileSelection, TakesTheTimeOfTheSourceOnTheAxisAskedFor) {
  const Named named;
  const FileSelection asked{
      .windows = {{{"a.json", 7, 1, 100, 200}, {"a.json", 7, 0, 110, 210}, {"b.json", 7, 0, 1, 2}}}};
  EXPECT_EQ(named.Of(asked, 1).time_ns, std::pair(int64_t{100}, int64_t{200}));
  EXPECT_EQ(named.Of(asked, 0, -10).time_ns, std::pair(int64_t{100}, int64_t{200}));
  EXPECT_EQ(named.Of(asked, -1).time_ns, std::pair(int64_t{110}, int64_t{210}));
}

TEST(FileSelection, OfASourceThatIsNoRankHoldsNothing) {
  const Named named;
  const CondenseSelection selection = named.Of({.windows = std::vector<FileSelection::Window>()});
  EXPECT_FALSE(selection.Has(0, 0));
  EXPECT_FALSE(selection.Has(0, 100));
}

}  // namespace
}  // namespace lockstep
