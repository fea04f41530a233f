#include "platform/terminal.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(TextColumns, AreThoseOfTheTerminalWithinReason) {
  EXPECT_EQ(TextColumns(132, nullptr), 132);
  EXPECT_EQ(TextColumns(40, nullptr), 80);
  EXPECT_EQ(TextColumns(500, nullptr), 200);
  EXPECT_EQ(TextColumns(0, nullptr), 80) << "a terminal that does not say";
}

TEST(TextColumns, AreAHundredWithoutATerminal) { EXPECT_EQ(TextColumns(std::nullopt, nullptr), 100); }

TEST(TextColumns, AreThoseOfTheVariableIfItIsANumber) {
  EXPECT_EQ(TextColumns(std::nullopt, "160"), 160);
  EXPECT_EQ(TextColumns(90, "160"), 160);
  EXPECT_EQ(TextColumns(std::nullopt, "10"), 80);
  for (const char* wrong : {"", "0", "-5", "wide", "120x", "99999999999999999999"}) {
    EXPECT_EQ(TextColumns(std::nullopt, wrong), 100) << wrong;
  }
}

TEST(UnderstandsEscapes, NeitherADumbTerminalNorOneWithoutAName) {
  EXPECT_TRUE(UnderstandsEscapes("xterm-256color"));
  EXPECT_FALSE(UnderstandsEscapes("dumb"));
  EXPECT_FALSE(UnderstandsEscapes(""));
  EXPECT_FALSE(UnderstandsEscapes(nullptr));
}

}  // namespace
}  // namespace lockstep
