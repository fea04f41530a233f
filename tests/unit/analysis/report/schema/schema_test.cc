#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/schema/report_schema.h"

namespace lockstep {
namespace {

std::string TextOfFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Schema, ThePublishedFileIsWhatTheProgramPrints) {
  EXPECT_TRUE(TextOfFile("docs/report.schema.json") == ReportSchema())
      << "write it again: lockstep schema > docs/report.schema.json";
}

TEST(Schema, ThePublishedReferenceIsWhatTheProgramPrints) {
  EXPECT_TRUE(TextOfFile("docs/reference.md") == ReportReference())
      << "write it again: lockstep schema --reference > docs/reference.md";
}

// Sentences that end, so that a table of them reads well.
void ExpectSentences(const report::Record& record, std::set<const report::Record*>& seen) {
  if (!seen.insert(&record).second) return;
  EXPECT_TRUE(record.about().ends_with('.')) << record.about();
  for (const report::Field& field : record.fields()) {
    EXPECT_TRUE(field.definition.ends_with('.')) << field.name << ": " << field.definition;
    if (field.type()->Inner() != nullptr) ExpectSentences(*field.type()->Inner(), seen);
  }
}

TEST(Schema, EveryFieldIsDefinedInSentences) {
  std::set<const report::Record*> seen;
  ExpectSentences(report::Document::Fields(), seen);
  EXPECT_GT(seen.size(), 50U);
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
    EXPECT_TRUE(ReportSchemaJson()["$defs"].contains(name.substr(name.rfind('/') + 1))) << name;
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
