// Words to write a JSON Schema (draft 2020-12) with. Pure and thread safe.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/report/json.h"

namespace lockstep::schema {

[[nodiscard]] inline Json Integer() { return {{"type", "integer"}}; }
[[nodiscard]] inline Json Count() { return {{"type", "integer"}, {"minimum", 0}}; }
[[nodiscard]] inline Json Number() { return {{"type", "number"}}; }
[[nodiscard]] inline Json Boolean() { return {{"type", "boolean"}}; }
[[nodiscard]] inline Json Text() { return {{"type", "string"}}; }
// A string of decimal digits: integers that may exceed 2^53.
[[nodiscard]] inline Json Digits() { return {{"type", "string"}, {"pattern", "^-?[0-9]+$"}}; }
[[nodiscard]] inline Json Anything() { return Json::object(); }

[[nodiscard]] Json OneOf(std::initializer_list<std::string_view> words);
[[nodiscard]] Json List(Json item);
// [lower, upper]
[[nodiscard]] Json Pair(Json item);
// An object whose keys are not known beforehand.
[[nodiscard]] Json Map(Json value);
[[nodiscard]] Json Reference(std::string_view definition);
[[nodiscard]] Json OrNull(Json type);

// Further fields are always allowed: adding is free. A name that ends with "?" may be missing.
using Fields = std::initializer_list<std::pair<std::string_view, Json>>;
[[nodiscard]] Json Object(Fields fields);

// A view that is an object: it is empty when it is not computed.
[[nodiscard]] Json OrEmpty(Json object);

}  // namespace lockstep::schema
