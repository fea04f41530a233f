#include "agent/readers/kineto/process_labels.h"

#include <gtest/gtest.h>

namespace lockstep::kineto {
namespace {

TEST(ProcessLabels, OneNumberBehindAWordForRanksIsTheRank) {
  EXPECT_EQ(RankOfLabel("TP02"), 2);
  EXPECT_EQ(RankOfLabel("tp-7"), 7);
  EXPECT_EQ(RankOfLabel("rank 13"), 13);
}

TEST(ProcessLabels, WhatTellsNoRankGivesNone) {
  for (const char* label : {"", "TP", "TP02-DP01", "DP01", "worker", "TP-x", "rank 99999999999", "TP2 "}) {
    EXPECT_EQ(RankOfLabel(label), std::nullopt) << label;
  }
}

}  // namespace
}  // namespace lockstep::kineto
