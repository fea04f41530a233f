#include "cli/stored_steps.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/condense/selection.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

// A store that holds one source of each of these --step-range, "" = without, in the run "monday".
std::unique_ptr<JobStore> StoreWith(const std::vector<std::string>& step_ranges) {
  std::unique_ptr<JobStore> store = *OpenStore("memory", {});
  if (!step_ranges.empty()) {
    EXPECT_TRUE(store->OpenRun("monday", -1).ok());
  }
  for (size_t i = 0; i < step_ranges.size(); ++i) {
    SourceContext context;
    context.path = "rank" + std::to_string(i) + ".json";
    HashBuilder hash;
    context.source_id = hash.Add(context.path).Finish();
    if (!step_ranges[i].empty()) context.options.emplace(kStepRange, step_ranges[i]);
    EXPECT_TRUE(store->PutSource("monday", context).ok());
    Batch batch;
    batch.total_batches = 1;
    batch.summary.emplace();
    EXPECT_TRUE(store->PutBatch("monday", context.source_id, context.source_id, batch).ok());
  }
  return store;
}

TEST(StoredSteps, OfANewRunAreThoseAskedFor) {
  const auto store = StoreWith({});
  EXPECT_EQ(StepRangeOfRun(*store, "monday", "decode").value(), "decode");
  EXPECT_EQ(StepRangeOfRun(*store, "monday", "").value(), "");
}

TEST(StoredSteps, OfARunThatIsStoredStayWhatTheyAre) {
  const auto store = StoreWith({"decode", "decode"});
  EXPECT_EQ(StepRangeOfRun(*store, "monday", "decode").value(), "decode");
  EXPECT_EQ(StepRangeOfRun(*store, "monday", "").value(), "decode");
}

TEST(StoredSteps, OtherThanThoseOfTheRunAreRefusedWithWhatToDo) {
  const auto named = StoreWith({"decode"});
  const absl::Status other = StepRangeOfRun(*named, "monday", "prefill").status();
  EXPECT_TRUE(absl::IsInvalidArgument(other));
  EXPECT_THAT(std::string(other.message()),
              testing::AllOf(HasSubstr("stored with --step-range 'decode'"), HasSubstr("--replace")));
  const auto unnamed = StoreWith({""});
  EXPECT_THAT(std::string(StepRangeOfRun(*unnamed, "monday", "decode").status().message()),
              HasSubstr("stored without --step-range"));
}

}  // namespace
}  // namespace lockstep
