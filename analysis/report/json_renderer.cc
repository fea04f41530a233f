// RenderJson: the report document as text, the same bytes wherever it was computed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

constexpr int kSignificantDigits = 9;

void AppendReal(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  if (value == 0) value = 0;  // no negative zero
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::general, kSignificantDigits);
  out.append(buffer.data(), end);
}

template <typename Integer>
void AppendInteger(Integer value, std::string& out) {
  std::array<char, 24> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), end);
}

// Stands in a JSON text as it is.
bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

// Invalid UTF-8 becomes U+FFFD: the output is always valid JSON.
void AppendText(const std::string& text, std::string& out) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

void AppendScalar(const Json& value, std::string& out) {
  switch (value.type()) {
    case Json::value_t::number_float:
      return AppendReal(value.get<double>(), out);
    case Json::value_t::number_integer:
      return AppendInteger(value.get<int64_t>(), out);
    case Json::value_t::number_unsigned:
      return AppendInteger(value.get<uint64_t>(), out);
    case Json::value_t::string:
      return AppendText(value.get_ref<const std::string&>(), out);
    default:
      out += value.dump();
  }
}

void AppendIndent(int depth, std::string& out) {
  out += '\n';
  out.append(static_cast<size_t>(depth) * 2, ' ');
}

void Append(const Json& value, int depth, std::string& out);

void AppendObject(const Json& object, int depth, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) {
    if (!first) out += ',';
    first = false;
    AppendIndent(depth + 1, out);
    AppendText(key, out);
    out += ": ";
    Append(value, depth + 1, out);
  }
  if (!first) AppendIndent(depth, out);
  out += '}';
}

// Lists of scalars stay on one line.
void AppendArray(const Json& array, int depth, std::string& out) {
  const bool scalars = std::none_of(array.begin(), array.end(), [](const Json& item) { return item.is_structured(); });
  out += '[';
  bool first = true;
  for (const Json& item : array) {
    if (!first) out += scalars ? ", " : ",";
    first = false;
    if (!scalars) AppendIndent(depth + 1, out);
    Append(item, depth + 1, out);
  }
  if (!scalars && !first) AppendIndent(depth, out);
  out += ']';
}

void Append(const Json& value, int depth, std::string& out) {
  if (value.is_object()) {
    AppendObject(value, depth, out);
  } else if (value.is_array()) {
    AppendArray(value, depth, out);
  } else {
    AppendScalar(value, out);
  }
}

}  // namespace

std::string RenderJson(const Json& report) {
  std::string out;
  Append(report, 0, out);
  out += '\n';
  return out;
}

}  // namespace lockstep
