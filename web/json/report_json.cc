#include "web/json/report_json.h"

#include <simdjson.h>

#include <cstdint>
#include <utility>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

namespace dom = simdjson::dom;

void Build(dom::element from, Json& to);

void BuildArray(dom::array from, Json& to) {
  Json::array_t values;
  values.reserve(from.size());
  for (const dom::element value : from) Build(value, values.emplace_back());
  to = std::move(values);
}

void BuildObject(dom::object from, Json& to) {
  Json::object_t members;
  members.reserve(from.size());
  for (const auto [key, value] : from) Build(value, members[std::string(key)]);  // of equal keys the last one counts
  to = std::move(members);
}

// The tree tells numbers without a sign from those with one.
void BuildInteger(int64_t from, Json& to) {
  if (from < 0) {
    to = from;
  } else {
    to = static_cast<uint64_t>(from);
  }
}

void Build(dom::element from, Json& to) {
  switch (from.type()) {
    case dom::element_type::ARRAY:
      return BuildArray(from.get_array().value_unsafe(), to);
    case dom::element_type::OBJECT:
      return BuildObject(from.get_object().value_unsafe(), to);
    case dom::element_type::INT64:
      return BuildInteger(from.get_int64().value_unsafe(), to);
    case dom::element_type::UINT64:
      to = from.get_uint64().value_unsafe();
      return;
    case dom::element_type::DOUBLE:
      to = from.get_double().value_unsafe();
      return;
    case dom::element_type::STRING:
      to = from.get_string().value_unsafe();
      return;
    case dom::element_type::BOOL:
      to = from.get_bool().value_unsafe();
      return;
    case dom::element_type::NULL_VALUE:
      to = nullptr;
  }
}

}  // namespace

Json ParseReport(const std::string& text) {
  dom::parser parser;
  dom::element document;
  // What it does not take (integers beyond 64 bits, deep nesting, or no JSON) is the tree's own parser's to judge.
  if (parser.parse(text).get(document) != simdjson::SUCCESS) return Json::parse(text, nullptr, false);
  Json report;
  Build(document, report);
  return report;
}

}  // namespace lockstep
