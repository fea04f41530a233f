#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "analysis/report/json.h"
#include "analysis/report/schema/report_schema.h"

namespace lockstep {
namespace {

TEST(Schema, ThePublishedFileIsWhatTheProgramPrints) {
  std::ifstream file("docs/report.schema.json", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), ReportSchema()) << "write it anew: lockstep schema > docs/report.schema.json";
}

TEST(Schema, EveryViewHasItsType) {
  for (const std::string& view : AllViews()) {
    EXPECT_TRUE(ReportSchemaJson().at("properties").contains(view)) << view;
  }
}

void CollectReferences(const Json& node, std::set<std::string>& names) {
  if (node.is_object() && node.contains("$ref")) names.insert(node["$ref"].get<std::string>());
  if (!node.is_structured()) return;
  for (const Json& inner : node) CollectReferences(inner, names);
}

TEST(Schema, EveryReferenceHasItsDefinition) {
  std::set<std::string> names;
  CollectReferences(ReportSchemaJson(), names);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names)
    EXPECT_FALSE(SchemaDefinition(name.substr(name.rfind('/') + 1)).empty()) << name;
}

// Long integers would lose digits in readers that hold numbers as doubles.
void ExpectStringsWhereTheyMustBe(const Json& node) {
  if (!node.is_structured()) return;
  for (const auto& [key, type] : node.items()) {
    const bool is_long = key.ends_with("_unix_ns") || key.ends_with("_id") || key.ends_with("_hash") || key == "seq";
    if (is_long) {
      EXPECT_NE(type.dump().find("string"), std::string::npos) << key;
      EXPECT_EQ(type.dump().find("integer"), std::string::npos) << key;
    }
    ExpectStringsWhereTheyMustBe(type);
  }
}

TEST(Schema, LongIntegersAreStrings) { ExpectStringsWhereTheyMustBe(ReportSchemaJson()); }

}  // namespace
}  // namespace lockstep
