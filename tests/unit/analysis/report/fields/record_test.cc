#include "analysis/report/fields/record.h"

#include <gtest/gtest.h>

#include "analysis/report/fields/reference.h"
#include "analysis/report/json.h"

namespace lockstep::report {
namespace {

struct Part {
  int32_t rank = 0;
  std::optional<double> share_ratio;

  static const Record& Fields();
  friend bool operator==(const Part&, const Part&) = default;
};
const Record& Part::Fields() {
  static const Record record{"",
                             "A part.",
                             {
                                 F<&Part::rank>("rank", "Global rank."),
                                 F<&Part::share_ratio>("share_ratio", "Its share."),
                             }};
  return record;
}

struct Whole {
  std::string name;
  std::optional<std::string> kind;
  int64_t total_ns = 0;
  Digits start_unix_ns;
  std::vector<Part> parts;
  Keyed<int64_t> counters;
  std::optional<std::pair<double, double>> bounds;
  std::optional<Part> worst;
  std::optional<std::optional<double>> median;
  std::optional<std::vector<std::string>> flags;

  static const Record& Fields();
};
const Record& Whole::Fields() {
  static const Record record{"whole",
                             "A whole.",
                             {
                                 F<&Whole::name>("name", "Its name."),
                                 F<&Whole::kind>("kind", "Its kind.").OneOf({"fast", "slow"}),
                                 F<&Whole::total_ns>("total_ns", "Its total."),
                                 F<&Whole::start_unix_ns>("start_unix_ns", "When it began."),
                                 F<&Whole::parts>("parts", "Its parts."),
                                 F<&Whole::counters>("counters", "What was counted."),
                                 F<&Whole::bounds>("bounds", "Bounds.").LeftOutIfNull(),
                                 F<&Whole::worst>("worst", "The worst part.").Later(),
                                 F<&Whole::median>("median", "Its median.").LeftOutIfNull(),
                                 F<&Whole::flags>("flags", "Its flags.").OneOf({"even"}).Later(),
                             }};
  return record;
}

Whole Example() {
  Whole whole;
  whole.name = "a";
  whole.kind = "slow";
  whole.total_ns = -5;
  whole.start_unix_ns = 1'728'123'456'789'012'345;
  whole.parts = {{3, 0.5}, {4, std::nullopt}};
  whole.counters = {{"z", 1}, {"a", 2}};
  return whole;
}

TEST(Record, JsonHasTheFieldsInTheOrderOfTheTable) {
  EXPECT_EQ(ToJson(Example()).dump(),
            R"({"name":"a","kind":"slow","total_ns":-5,"start_unix_ns":"1728123456789012345",)"
            R"("parts":[{"rank":3,"share_ratio":0.5},{"rank":4,"share_ratio":null}],"counters":{"z":1,"a":2},)"
            R"("worst":null,"flags":null})");
}

TEST(Record, WhatWasWrittenIsReadAgain) {
  Whole whole = Example();
  whole.bounds = {0.25, 0.75};
  whole.worst = Part{7, 1.0};
  whole.median.emplace(std::nullopt);
  const Json json = ToJson(whole);
  EXPECT_TRUE(json["median"].is_null());
  EXPECT_TRUE(json.contains("median"));
  EXPECT_EQ(ToJson(FromJson<Whole>(json)), json);
}

TEST(Record, WhatIsMissingOrOfAnotherTypeIsAsInANewRecord) {
  const auto whole = FromJson<Whole>(Json::parse(
      R"({"name":7,"kind":{"a":1},"total_ns":"5","start_unix_ns":12,"parts":[{"rank":"x"},5,{"rank":9000000000}],)"
      R"("counters":[1],"bounds":[1],"worst":[]})"));
  EXPECT_EQ(whole.name, "");
  EXPECT_EQ(whole.kind, std::nullopt);
  EXPECT_EQ(whole.total_ns, 0);
  EXPECT_EQ(whole.start_unix_ns, 0);
  EXPECT_EQ(whole.parts, (std::vector<Part>(2)));  // what is no object is no part
  EXPECT_TRUE(whole.counters.empty());
  EXPECT_EQ(whole.bounds, std::nullopt);
  EXPECT_EQ(whole.worst, std::nullopt);
  EXPECT_EQ(ToJson(FromJson<Whole>(Json(nullptr))), ToJson(Whole{}));
}

TEST(Record, AFigureIsWrittenAsWhatItWasMadeFrom) {
  EXPECT_EQ(ToJson(Figure(int64_t{3'000'000'000'000})).dump(), "3000000000000");
  EXPECT_TRUE(ToJson(Figure(3.0)).is_number_float());
  EXPECT_EQ(ToJson(FromJson<Figure>(Json(12.5))), 12.5);
}

TEST(Record, NumbersBeyondTheirTypeAreNotRead) {
  EXPECT_EQ(FromJson<int64_t>(Json(UINT64_MAX)), 0);
  EXPECT_EQ(FromJson<int32_t>(Json(int64_t{1} << 40)), 0);
  EXPECT_EQ(FromJson<Count>(Json(-1)).value, 0);
  EXPECT_EQ(FromJson<int64_t>(Json(1e300)), 0);
  EXPECT_EQ(FromJson<int64_t>(Json(2.6)), 3) << "another version may write a real";
}

TEST(Record, TheSchemaHasTypeDefinitionAndWhatIsRequired) {
  const Json schema = Whole::Fields().ObjectSchema();
  EXPECT_EQ(schema["description"], "A whole.");
  const Json& properties = schema["properties"];
  EXPECT_EQ(properties["total_ns"], Json::parse(R"({"type":"integer","description":"Its total."})"));
  EXPECT_EQ(properties["kind"]["anyOf"][0]["enum"], Json::parse(R"(["fast","slow"])"));
  EXPECT_EQ(properties["kind"]["anyOf"][1]["type"], "null");
  EXPECT_EQ(properties["flags"]["type"], Json::parse(R"(["array","null"])"));
  EXPECT_EQ(properties["flags"]["items"]["enum"], Json::parse(R"(["even"])"));
  EXPECT_EQ(properties["parts"]["items"]["properties"]["share_ratio"]["type"], Json::parse(R"(["number","null"])"));
  EXPECT_EQ(schema["required"], Json::parse(R"(["name","kind","total_ns","start_unix_ns","parts","counters"])"));
  EXPECT_EQ(TypeOf<std::vector<Whole>>().Schema(), Json::parse(R"({"type":"array","items":{"$ref":"#/$defs/whole"}})"));
}

TEST(Record, TheReferenceNamesFieldsByTheirPath) {
  const std::string table = ReferenceTable(Whole::Fields());
  EXPECT_NE(table.find("| kind | `fast`, `slow` or null | Its kind. |"), std::string::npos) << table;
  EXPECT_NE(table.find("| parts[].share_ratio | number or null | Its share. |"), std::string::npos) << table;
  EXPECT_NE(table.find("| worst.rank | integer | Global rank. |"), std::string::npos) << table;
}

}  // namespace
}  // namespace lockstep::report
