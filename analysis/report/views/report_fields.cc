#include "analysis/report/views/report_fields.h"

#include <limits>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

const Json& Absent() {
  static const Json absent;
  return absent;
}

}  // namespace

const Json& FieldOf(const Json& object, std::string_view path) {
  const Json* value = &object;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    if (!value->is_object()) return Absent();
    const auto found = value->find(std::string(path.substr(0, dot)));
    if (found == value->end()) return Absent();
    value = &*found;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *value;
}

const Json& ListOf(const Json& object, std::string_view path) {
  static const Json empty = Json::array();
  const Json& value = FieldOf(object, path);
  return value.is_array() ? value : empty;
}

Json RowsOf(const Json& list) {
  Json rows = Json::array();
  if (!list.is_array()) return rows;
  for (const Json& item : list) rows.push_back(item.is_object() ? item : Json::object());
  return rows;
}

std::optional<int64_t> IntegerOf(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return std::nullopt;
  }
  return value.get<int64_t>();
}

std::optional<double> RealOf(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

double RatioOf(const Json& object, std::string_view path) { return RealOf(FieldOf(object, path)).value_or(0); }

const std::string& TextOf(const Json& value) {
  static const std::string none;
  return value.is_string() ? value.get_ref<const std::string&>() : none;
}

bool HasContent(const Json& view) { return view.is_structured() && !view.empty(); }

std::string RealText(double value) { return PlainText(Json(value)); }

std::string PlainText(const Json& scalar) {
  if (scalar.is_null()) return "";
  if (scalar.is_string()) return TextOf(scalar);
  std::string text = RenderJson(scalar);
  text.pop_back();
  return text;
}

}  // namespace lockstep
