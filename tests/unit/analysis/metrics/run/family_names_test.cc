#include "analysis/metrics/run/family_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::HasSubstr;

KernelRow Row(uint32_t name, Family family) {
  KernelRow row;
  row.name = name;
  row.kind.family = family;
  return row;
}

TEST(FamilyNames, AFileHasAFamilyAndATextALine) {
  const auto words = ParseFamilies("# ours\nfused_mlp, MyMlp::kernel\r\n\n  attention ,paged  # theirs\n");
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(*words, (std::vector<FamilyWord>{{"fused_mlp", "MyMlp::kernel"}, {"attention", "paged"}}));
}

TEST(FamilyNames, ALineWithoutBothIsAnErrorThatNamesIt) {
  for (const char* text : {"gemm, x\ngemm\n", "gemm, x\n, x", "gemm, x\ngemm,"}) {
    const auto words = ParseFamilies(text);
    ASSERT_FALSE(words.ok()) << text;
    EXPECT_THAT(std::string(words.status().message()), HasSubstr("line 2"));
  }
}

TEST(FamilyNames, WhatThePersonTellsComesBeforeTheTableAndTheFirstLineFirst) {
  RunData run;
  run.names = {"void MYMLP::kernel<4>(x)", "nvjet_tst_64x64"};
  AnalysisOptions options;
  options.families = {{"fused_mlp", "mymlp"}, {"late", "kernel"}};
  FamilyNames names(run, options);
  EXPECT_EQ(names.Of(Row(0, Family::kOther)), "fused_mlp");
  EXPECT_EQ(names.Of(Row(1, Family::kGemm)), "gemm");
}

TEST(FamilyNames, WithoutAFileTheTableTells) {
  const RunData run;
  const AnalysisOptions options;
  FamilyNames names(run, options);
  EXPECT_EQ(names.Of(Row(7, Family::kAttentionDecode)), "attention_decode") << "an index beyond the names is no harm";
}

TEST(FamilyNames, TextThatIsNotUtf8IsRefusedWithItsLine) {
  const auto words = ParseFamilies("ours, x\nmy\xff, y\n");
  ASSERT_FALSE(words.ok());
  EXPECT_THAT(std::string(words.status().message()), HasSubstr("line 2"));
}

}  // namespace
}  // namespace lockstep
