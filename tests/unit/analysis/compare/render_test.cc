#include "analysis/compare/render/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "analysis/compare/compare.h"
#include "analysis/report/json.h"
#include "tests/support/compare/random_run.h"

namespace lockstep::compare {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string TextOfFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

report::ComparisonDocument Hostile(size_t kernels) {
  RunPlan plan;
  plan.kernels.clear();
  for (size_t i = 0; i < kernels; ++i) {
    plan.kernels.push_back({"<script>alert(1)</script> | `a` \x1b[2J \xff=cmd()" + std::to_string(i)});
  }
  Sides sides;
  sides.base.push_back(RandomRun(plan, 1));
  for (KernelPlan& kernel : plan.kernels) kernel.ns *= 2;
  sides.fresh.push_back(RandomRun(plan, 2));
  CompareRequest request;
  request.gates = {ParseGate("step_time<=2%").value()};
  return Compare(sides, request).value();
}

TEST(ComparisonSchema, IsTheOneInTheDocumentation) {
  EXPECT_TRUE(TextOfFile("docs/comparison.schema.json") == ComparisonSchema())
      << "write it again: lockstep schema --comparison > docs/comparison.schema.json";
  EXPECT_TRUE(TextOfFile("docs/comparison.md") == ComparisonReference())
      << "write it again: lockstep schema --comparison --reference > docs/comparison.md";
}

TEST(ComparisonText, HasEveryViewAndNoEscapesFromTraces) {
  const std::vector<std::string> views(ComparisonViews().begin(), ComparisonViews().end());
  const std::string text = RenderText(Hostile(30), views, {.width = 80});
  for (const char* heading : {"\nmetrics", "\nledger", "\nkernels", "\nfamilies", "\nroles", "\ncollectives", "\nwaits",
                              "\nranks", "\nhosts", "\ncontext", "\ngates"}) {
    EXPECT_THAT(text, HasSubstr(heading));
  }
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(ComparisonMarkdown, HasNoMarkupFromTracesAndFitsAComment) {
  const std::string text = RenderMarkdown(Hostile(500));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, HasSubstr("- **fails** step\\_time\\<=2%"));
  EXPECT_LE(text.size(), 60'000U);
}

TEST(ComparisonCsv, IsThereForEveryViewAndRunsNoFormula) {
  const report::ComparisonDocument document = Hostile(3);
  for (const std::string_view view : ComparisonViews()) {
    const auto csv = RenderCsv(document, view);
    ASSERT_TRUE(csv.ok()) << view << csv.status();
    EXPECT_FALSE(csv->empty()) << view;
    EXPECT_THAT(*csv, Not(HasSubstr(",=cmd"))) << view;
  }
  EXPECT_EQ(RenderCsv(document, "nothing").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ComparisonJson, HasEveryFieldOfItsTable) {
  const Json json = Json::parse(RenderJson(Hostile(3)));
  for (const report::Field& field : report::ComparisonDocument::Fields().fields()) {
    EXPECT_TRUE(json.contains(std::string(field.name))) << field.name;
  }
  EXPECT_EQ(json["schema"], report::kComparisonSchema);
}

}  // namespace
}  // namespace lockstep::compare
