#include "analysis/condense/phase.h"

#include <gtest/gtest.h>

#include "analysis/condense/step_phases.h"

namespace lockstep {
namespace {

TEST(Phase, AServingEnginesMarkTellsHowManyPromptsAndSequencesItRuns) {
  EXPECT_EQ(PhaseOfRange("execute_context_1(888_788544)_generation_0(0)"), Phase::kPrefill);
  EXPECT_EQ(PhaseOfRange("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk9)"), Phase::kDecode);
  EXPECT_EQ(PhaseOfRange("execute_8192_context_9(sq8155sk8430)_generation_37(sq37sk34489)"), Phase::kMixed);
  EXPECT_EQ(PhaseOfRange("execute_context_0(0)_generation_0(0)"), Phase::kNone);
  EXPECT_EQ(PhaseOfRange("execute_model"), Phase::kNone);
}

TEST(Phase, AForwardModeInBracketsIsOne) {
  EXPECT_EQ(PhaseOfRange("step[DECODE bs=32]"), Phase::kDecode);
  EXPECT_EQ(PhaseOfRange("step[EXTEND bs=1 toks=512]"), Phase::kPrefill);
  EXPECT_EQ(PhaseOfRange("step[TARGET_VERIFY]"), Phase::kDecode);
  EXPECT_EQ(PhaseOfRange("step[IDLE]"), Phase::kNone);
}

TEST(Phase, ARangeThatIsNamedAfterThePhaseIsOne) {
  EXPECT_EQ(PhaseOfRange("## forward ##"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("Backward"), Phase::kBackward);
  EXPECT_EQ(PhaseOfRange("Optimizer.step#AdamW.step"), Phase::kOptimizer);
  EXPECT_EQ(PhaseOfRange("prefill"), Phase::kPrefill);
  EXPECT_EQ(PhaseOfRange("prefill_attention"), Phase::kNone);
  EXPECT_EQ(PhaseOfRange("MyModel.forward"), Phase::kNone);
  EXPECT_EQ(PhaseOfRange(""), Phase::kNone);
}

TEST(Phase, WhatTorchAnnotatesByItselfIsOne) {
  EXPECT_EQ(PhaseOfRange("DistributedDataParallel.forward"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("autograd::engine::evaluate_function: AddmmBackward0"), Phase::kBackward);
  EXPECT_EQ(PhaseOfRange("Optimizer.zero_grad#SGD.zero_grad"), Phase::kNone);
}

TEST(Phase, OnlyPassesOfAnEngineAreSteps) {
  EXPECT_TRUE(IsEngineStep("execute_context_1(888_788544)_generation_0(0)"));
  EXPECT_TRUE(IsEngineStep("step[DECODE bs=32]"));
  EXPECT_FALSE(IsEngineStep("decode"));
}

TEST(StepPhases, AnnotationsComeBeforeKernels) {
  StepPhases phases;
  phases.Add(0, Phase::kPrefill, Family::kAttentionDecode, 100);
  EXPECT_EQ(phases.Take(0), Phase::kPrefill);
  EXPECT_EQ(phases.Take(0), Phase::kNone) << "forgotten";
}

TEST(StepPhases, AStepThatTrainsHasSeveralPhasesAndNoName) {
  StepPhases phases;
  phases.Add(0, Phase::kForward, Family::kGemm, 100);
  phases.Add(0, Phase::kBackward, Family::kGemm, 200);
  phases.Add(0, Phase::kOptimizer, Family::kOptimizer, 10);
  EXPECT_EQ(phases.Annotated(0, Phase::kBackward), 200);
  EXPECT_EQ(phases.Take(0), Phase::kNone);
}

TEST(StepPhases, AStepOfWhichOnlyTheBackwardPassIsAnnotatedIsNotBackward) {
  StepPhases phases;
  phases.Add(0, Phase::kBackward, Family::kGemm, 60);
  phases.Add(0, Phase::kNone, Family::kGemm, 40);
  EXPECT_EQ(phases.Take(0), Phase::kNone);
}

TEST(StepPhases, AttentionKernelsTellWhereNothingIsAnnotated) {
  StepPhases phases;
  phases.Add(0, Phase::kNone, Family::kAttentionDecode, 10);
  phases.Add(0, Phase::kNone, Family::kGemm, 100);
  phases.Add(1, Phase::kNone, Family::kAttentionPrefill, 10);
  phases.Add(2, Phase::kNone, Family::kAttentionDecode, 10);
  phases.Add(2, Phase::kNone, Family::kAttentionPrefill, 10);
  phases.Add(3, Phase::kNone, Family::kAttentionDecode, 10);
  phases.Add(3, Phase::kNone, Family::kAttention, 10);
  EXPECT_EQ(phases.Take(0), Phase::kDecode);
  EXPECT_EQ(phases.Take(1), Phase::kPrefill);
  EXPECT_EQ(phases.Take(2), Phase::kMixed);
  EXPECT_EQ(phases.Take(3), Phase::kNone) << "a kernel that may do either is no evidence";
}

}  // namespace
}  // namespace lockstep
