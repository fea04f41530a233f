#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "analysis/metrics/summary/quality.h"

namespace lockstep {
namespace {

// Failed gates link there.
TEST(CapturePage, HasAParagraphForEveryGate) {
  std::ifstream file("docs/capture.md");
  std::ostringstream page;
  page << file.rdbuf();
  ASSERT_FALSE(GateNames().empty());
  for (const std::string_view gate : GateNames()) {
    std::string anchor(gate);
    std::replace(anchor.begin(), anchor.end(), '_', '-');
    EXPECT_NE(page.str().find("\n### " + anchor + "\n"), std::string::npos) << anchor;
  }
}

}  // namespace
}  // namespace lockstep
