#include "bench/simulator/program/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "tests/unit/bench/simulator/simulator_fixture.h"

namespace lockstep {
namespace {

struct Shape {
  int32_t stages;
  int32_t parts;
  int32_t micro_batches;
};
class Interleaved : public ::testing::TestWithParam<Shape> {
 protected:
  Interleaved() : items_(InterleavedSchedule(GetParam().stages, GetParam().parts, GetParam().micro_batches)) {}
  // Position of an item in its stage; past the end where there is none.
  [[nodiscard]] size_t At(int32_t stage, const PipelineItem& item) const {
    const std::vector<PipelineItem>& items = items_[static_cast<size_t>(stage)];
    return static_cast<size_t>(std::find(items.begin(), items.end(), item) - items.begin());
  }
  std::vector<std::vector<PipelineItem>> items_;
};
INSTANTIATE_TEST_SUITE_P(Shapes, Interleaved,
                         ::testing::Values(Shape{2, 1, 2}, Shape{2, 3, 8}, Shape{3, 2, 3}, Shape{3, 2, 12},
                                           Shape{4, 2, 8}, Shape{5, 4, 10}, Shape{8, 2, 16}));

TEST_P(Interleaved, EveryPartTakesEveryMicroBatchOnceForwardAndOnceBackward) {
  for (const std::vector<PipelineItem>& items : items_) {
    std::multiset<std::tuple<bool, int32_t, int32_t>> passes;
    for (const PipelineItem& item : items) {
      if (item.work == PipelineWork::kForward) passes.emplace(false, item.part, item.micro_batch);
      if (item.work == PipelineWork::kBackward) passes.emplace(true, item.part, item.micro_batch);
    }
    EXPECT_EQ(passes.size(), static_cast<size_t>(2 * GetParam().parts * GetParam().micro_batches));
    EXPECT_EQ((std::set<std::tuple<bool, int32_t, int32_t>>(passes.begin(), passes.end()).size()), passes.size());
  }
}

// Forward through all virtual stages, then back: results go out after they were made and come in before they are used.
TEST_P(Interleaved, WorkFollowsWhatItNeedsAndResultsFollowWork) {
  const auto [stages, parts, micro_batches] = GetParam();
  for (int32_t virtual_stage = 0; virtual_stage < stages * parts; ++virtual_stage) {
    for (int32_t m = 0; m < micro_batches; ++m) {
      const int32_t stage = virtual_stage % stages;
      const int32_t part = virtual_stage / stages;
      const size_t forward = At(stage, {PipelineWork::kForward, m, part});
      const size_t backward = At(stage, {PipelineWork::kBackward, m, part});
      EXPECT_LT(forward, backward);
      if (virtual_stage > 0) {
        const int32_t before = (virtual_stage - 1) % stages;
        EXPECT_LT(At(stage, {PipelineWork::kReceive, m, part, before, false}), forward);
        const size_t back = At(stage, {PipelineWork::kSend, m, part, before, true});
        EXPECT_GT(back, backward);
        EXPECT_LT(back, items_[static_cast<size_t>(stage)].size());
      }
      if (virtual_stage + 1 < stages * parts) {
        const int32_t after = (virtual_stage + 1) % stages;
        EXPECT_LT(At(stage, {PipelineWork::kReceive, m, part, after, true}), backward);
        const size_t on = At(stage, {PipelineWork::kSend, m, part, after, false});
        EXPECT_GT(on, forward);
        EXPECT_LT(on, items_[static_cast<size_t>(stage)].size());
      }
    }
  }
}

// Stages that stop at a transfer until its other side stands there, too, all come to their end.
TEST_P(Interleaved, NoOrderOfWaitingIsCircular) {
  std::vector<size_t> next(items_.size());
  const auto head = [&](size_t stage) {
    return next[stage] < items_[stage].size() ? &items_[stage][next[stage]] : nullptr;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < items_.size(); ++stage) {
      const PipelineItem* const item = head(stage);
      if (item == nullptr || item->work == PipelineWork::kReceive) continue;
      if (item->work == PipelineWork::kSend) {
        const PipelineItem* const other = head(static_cast<size_t>(item->peer));
        const bool meets = other != nullptr && other->work == PipelineWork::kReceive &&
                           other->peer == static_cast<int32_t>(stage) && other->micro_batch == item->micro_batch &&
                           other->gradients == item->gradients;
        if (!meets) continue;
        ++next[static_cast<size_t>(item->peer)];
      }
      ++next[stage];
      moved = true;
    }
  }
  for (size_t stage = 0; stage < items_.size(); ++stage) EXPECT_EQ(next[stage], items_[stage].size()) << stage;
}

// The time in which a stage has nothing to do shrinks with the number of parts; transfers between ranks of one host
// take little of that back.
TEST(InterleavedPipeline, StepsAreShorterThanWithOnePartAStage) {
  const auto step_ns = [](int32_t interleave) {
    return MeanStepNs(CausedRun({.program = ProgramKind::kPipeline,
                                 .tp = 1,
                                 .pp = 4,
                                 .steps = 2,
                                 .layers = 32,
                                 .seed = 3,
                                 .micro_batches = 4,
                                 .interleave = interleave})
                          .Simulated());
  };
  const int64_t plain = step_ns(1);
  EXPECT_LT(step_ns(2), plain * 9 / 10);
  EXPECT_LT(step_ns(4), step_ns(2));
}

TEST(InterleavedPipeline, TheLastStageMeetsTheFirst) {
  const CausedRun run({.program = ProgramKind::kPipeline,
                       .tp = 1,
                       .pp = 3,
                       .steps = 1,
                       .layers = 6,
                       .seed = 3,
                       .micro_batches = 3,
                       .interleave = 2});
  int sent = 0;
  for (const Op& op : run.program->StepOf(0, 2).ops) sent += op.send_to == 0 ? 1 : 0;
  EXPECT_EQ(sent, 3);  // activations of every micro-batch, for the first stage's second part
  int received = 0;
  for (const Op& op : run.program->StepOf(0, 0).ops) received += op.receive_from == 2 ? 1 : 0;
  EXPECT_EQ(received, 3);
}

}  // namespace
}  // namespace lockstep
