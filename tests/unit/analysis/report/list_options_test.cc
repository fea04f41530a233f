#include "analysis/report/list_options.h"
#include "analysis/report/json.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

Json SampleViews() {
  return Json::parse(R"({"kernels": [
    {"name": "b", "total_ns": 5, "duration_ns": {"p99": 7}},
    {"name": "a", "total_ns": 9, "duration_ns": {"p99": null}},
    {"name": "c", "total_ns": 7, "duration_ns": {"p99": 8}}], "imbalance": {"window": {}}})");
}

std::string Order(const Json& views) {
  std::string names;
  for (const Json& row : views["kernels"]) names += row["name"].get<std::string>();
  return names;
}

AnalysisOptions SortedBy(std::string key) {
  AnalysisOptions options;
  options.sort = std::move(key);
  return options;
}

TEST(ListOptions, SortNumbersDescending) {
  Json views = SampleViews();
  ASSERT_TRUE(ApplyListOptions(SortedBy("total_ns"), views).ok());
  EXPECT_EQ(Order(views), "acb");
}

TEST(ListOptions, SortTextAscending) {
  Json views = SampleViews();
  ASSERT_TRUE(ApplyListOptions(SortedBy("name"), views).ok());
  EXPECT_EQ(Order(views), "abc");
}

TEST(ListOptions, ReachIntoObjectsAndPutAbsentValuesLast) {
  Json views = SampleViews();
  ASSERT_TRUE(ApplyListOptions(SortedBy("duration_ns_p99"), views).ok());
  EXPECT_EQ(Order(views), "cba");
}

TEST(ListOptions, RefuseAnUnknownKey) {
  Json views = SampleViews();
  EXPECT_EQ(ApplyListOptions(SortedBy("colour"), views).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ListOptions, LimitTheRowsAfterSorting) {
  Json views = SampleViews();
  AnalysisOptions options = SortedBy("total_ns");
  options.limit = 2;
  ASSERT_TRUE(ApplyListOptions(options, views).ok());
  EXPECT_EQ(Order(views), "ac");
}

}  // namespace
}  // namespace lockstep
