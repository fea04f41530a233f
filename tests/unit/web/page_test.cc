#include "web/page/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/report/fields/definitions.h"
#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "web/answers/page_data.h"

namespace lockstep {
namespace {

TEST(EscapeHtml, MarkupBecomesText) {
  EXPECT_EQ(EscapeHtml("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(EscapeHtml(""), "");
  EXPECT_EQ(EscapeHtml("größer"), "größer");
}

TEST(EscapeHtml, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(EscapeHtml("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(EscapeHtml(std::string_view("a\0z", 3)), "a\xEF\xBF\xBDz");
}

TEST(ComposePage, NothingOfTheContentIsMarkup) {
  const PageAssets assets{"run()", "body{}"};
  const std::vector<std::string> headline = {"</main><script>alert(1)</script>"};
  const PageParts data = {"{\"name\": \"</script><script>alert(4)</script>\"}",
                          {{"report.ranks", "[\"</script><script>alert(5)</script>\"]"}}};
  const std::string page =
      ComposePage(assets, {"</title><script>alert(2)</script>", headline, "</pre><script>alert(3)</script>", data});
  size_t scripts = 0;
  for (size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++scripts;
  EXPECT_EQ(scripts, 3U);  // the data in two blocks, and ours
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
}

TEST(ComposePage, ThePolicyNamesTheHashesOfScriptAndStyle) {
  // printf 'run()' | openssl dgst -sha256 -binary | base64; likewise for body{}
  const std::string page = ComposePage({"run()", "body{}"}, {"t", {}, "", {"{}", {}}});
  EXPECT_NE(page.find("script-src 'sha256-AvyuiL0SD1mVY3NNxR+V2uo+lhk6RMFrytWmRt6CrJQ='"), std::string::npos) << page;
  EXPECT_NE(page.find("style-src 'sha256-fJgEClQWV1hGkK4qHMO0KotTsVnMYMXTq7/suurGyUo='"), std::string::npos) << page;
}

TEST(ComposePage, OnlyWhatTheFirstPictureNeedsStandsBeforeTheScript) {
  const std::string page = ComposePage({"run()", "body{}"}, {"t", {}, "", {"{}", {{"report.ranks", "[]"}}}});
  const size_t first = page.find("<script type=\"application/octet-stream\" id=\"lockstep-data\">");
  const size_t script = page.find("<script>run()</script>");
  const size_t later = page.find("<script type=\"application/octet-stream\" data-path=\"report.ranks\">");
  ASSERT_NE(later, std::string::npos) << page;
  EXPECT_LT(first, script);
  EXPECT_LT(script, later);
}

Json DataOf(Json report) { return Json::parse(ReportPageData({"run", {"A sentence."}}, std::move(report))); }

TEST(ReportPageData, LongListsAreWrittenByColumnAndReadBackTheSame) {
  Json report = {{"ranks", Json::array()}};
  for (int i = 0; i < 100; ++i) {
    Json row = {{"rank", i}};
    if (i % 3 == 0) row["host"] = "node" + std::to_string(i);
    if (i > 90) row["late"] = {{"p50", i}};
    report["ranks"].push_back(row);
  }
  const Json page = DataOf(report);
  const Json& table = page["report"]["ranks"];
  ASSERT_EQ(table["@length"], 100);
  for (size_t i = 0; i < 100; ++i) {
    for (const char* key : {"rank", "host", "late"}) {
      const Json& row = report["ranks"][i];
      EXPECT_EQ(table["@columns"][key][i], row.contains(key) ? row[key] : Json()) << key << " of " << i;
    }
  }
}

TEST(ReportPageParts, PutTogetherAreTheDataOfThePage) {
  const Json report = {{"run", {{"name", "monday"}}},
                       {"ranks", {{{"rank", 0}}}},
                       {"clock", {{"components", Json::array()}, {"hosts", {{{"host", "node0"}}}}}},
                       {"pictures", {{"ranks", {0}}, {"pace", {{"busy", "   "}}}}}};
  const PageHead head = {"run", {"A sentence."}};
  const PageParts parts = ReportPageParts(head, report);
  nlohmann::json page = nlohmann::json::parse(parts.first);  // In whatever order its keys are.
  std::vector<std::string> paths;
  for (const PagePart& part : parts.later) {
    paths.push_back(part.path);
    std::string pointer = "/" + part.path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    EXPECT_FALSE(page.contains(nlohmann::json::json_pointer(pointer))) << part.path;
    page[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(part.json);
  }
  EXPECT_EQ(page, nlohmann::json::parse(ReportPageData(head, report)));
  EXPECT_EQ(paths, (std::vector<std::string>{"report.ranks", "report.clock.hosts", "report.pictures.pace"}));
}

TEST(ReportPageData, ShortListsStayAsTheyAre) {
  Json report = {{"ranks", {{{"rank", 0}}, {{"rank", 1}}}}};
  EXPECT_EQ(DataOf(report)["report"], report);
}

TEST(ReportPageData, DefinesTheFieldsOfItsViewsAndNoOthers) {
  const Json page = DataOf({{"ranks", Json::array()}});
  EXPECT_TRUE(page["definitions"].contains("ranks[].rank"));
  EXPECT_FALSE(page["definitions"].contains("skew"));
  EXPECT_EQ(page["headline"], Json::array({"A sentence."}));
}

TEST(ReportPageData, LeavesOutTheTimesOfKernelsByStep) {
  const Json page = DataOf({{"profile", {{"kernels", {{{"name", "gemm"}, {"step_ns", {1, 2, 3}}}}}}}});
  EXPECT_EQ(page["report"]["profile"]["kernels"][0], Json({{"name", "gemm"}}));
}

TEST(ReportPageData, BytesThatAreNotUtf8DoNotBreakThePage) {
  const Json page = DataOf({{"run", {{"name", "a\xFFz"}}}});
  EXPECT_EQ(page["report"]["run"]["name"], "a\xEF\xBF\xBDz");
}

TEST(PageViews, AreViews) {
  for (const std::string& view : PageViews()) EXPECT_TRUE(IsView(view)) << view;
}

TEST(AddDefinitions, NamesEveryFieldByItsPath) {
  std::map<std::string, std::string> definitions;
  report::AddDefinitions(report::Document::Fields(), "", definitions);
  for (const char* path : {"run.name", "summary.culprits[].confidence", "profile.kernels[].duration_ns.p99",
                           "pictures.layers[].tiles[].cells", "skew.instances[].members[].wait_ns"}) {
    EXPECT_TRUE(definitions.contains(path)) << path;
  }
  for (const auto& [path, definition] : definitions) EXPECT_TRUE(definition.ends_with('.')) << path;
}

}  // namespace
}  // namespace lockstep
