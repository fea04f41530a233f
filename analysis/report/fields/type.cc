#include "analysis/report/fields/type.h"

#include <absl/strings/numbers.h>

#include <cmath>
#include <string>
#include <type_traits>

#include "analysis/report/fields/schema_builder.h"
#include "analysis/report/json.h"

namespace lockstep::report {
namespace {

std::optional<int64_t> WholeOf(const Json& json) {
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return json.is_number_integer() ? std::optional(json.get<int64_t>()) : std::nullopt;
}

// A real is rounded: another version may write a field as the other kind.
std::optional<int64_t> RoundedOf(const Json& json) {
  constexpr double kMostExact = 9007199254740992;  // 2^53
  if (!json.is_number_float()) return WholeOf(json);
  const double real = json.get<double>();
  return std::abs(real) <= kMostExact ? std::optional(static_cast<int64_t>(std::nearbyint(real))) : std::nullopt;
}

// A whole number that is kept as a T.
template <typename T>
class WholeType final : public Type {
 public:
  Json ToJson(const void* value) const override { return static_cast<int64_t>(*static_cast<const T*>(value)); }
  bool FromJson(const Json& json, void* value) const override {
    const auto number = RoundedOf(json);
    if (!number || *number < kLeast || *number > kMost) return false;
    *static_cast<T*>(value) = static_cast<T>(*number);
    return true;
  }
  Json Schema() const override { return kLeast == 0 ? schema::Count() : schema::Integer(); }
  std::string InWords() const override { return kLeast == 0 ? "count" : "integer"; }

 private:
  static constexpr int64_t kLeast = std::is_same_v<T, Count> ? 0 : std::is_same_v<T, int32_t> ? INT32_MIN : INT64_MIN;
  static constexpr int64_t kMost = std::is_same_v<T, int32_t> ? INT32_MAX : INT64_MAX;
};

class DigitsType final : public Type {
 public:
  Json ToJson(const void* value) const override { return std::to_string(*static_cast<const Digits*>(value)); }
  bool FromJson(const Json& json, void* value) const override {
    int64_t number = 0;
    if (!json.is_string() || !absl::SimpleAtoi(json.get_ref<const std::string&>(), &number)) return false;
    *static_cast<Digits*>(value) = number;
    return true;
  }
  Json Schema() const override { return schema::Digits(); }
  std::string InWords() const override { return "integer, as a string of digits"; }
};

class RealType final : public Type {
 public:
  Json ToJson(const void* value) const override { return *static_cast<const double*>(value); }
  bool FromJson(const Json& json, void* value) const override {
    if (!json.is_number()) return false;
    *static_cast<double*>(value) = json.get<double>();
    return true;
  }
  Json Schema() const override { return schema::Number(); }
  std::string InWords() const override { return "number"; }
};

class FigureType final : public Type {
 public:
  Json ToJson(const void* value) const override {
    return std::visit([](auto number) { return Json(number); }, static_cast<const Figure*>(value)->value);
  }
  bool FromJson(const Json& json, void* value) const override {
    if (!json.is_number()) return false;
    const auto whole = WholeOf(json);
    *static_cast<Figure*>(value) = whole ? Figure(*whole) : Figure(json.get<double>());
    return true;
  }
  Json Schema() const override { return schema::Number(); }
  std::string InWords() const override { return "number"; }
};

class BoolType final : public Type {
 public:
  Json ToJson(const void* value) const override { return *static_cast<const bool*>(value); }
  bool FromJson(const Json& json, void* value) const override {
    if (!json.is_boolean()) return false;
    *static_cast<bool*>(value) = json.get<bool>();
    return true;
  }
  Json Schema() const override { return schema::Boolean(); }
  std::string InWords() const override { return "true or false"; }
};

class TextType final : public Type {
 public:
  Json ToJson(const void* value) const override { return *static_cast<const std::string*>(value); }
  bool FromJson(const Json& json, void* value) const override {
    if (!json.is_string()) return false;
    *static_cast<std::string*>(value) = json.get_ref<const std::string&>();
    return true;
  }
  Json Schema() const override { return schema::Text(); }
  std::string InWords() const override { return "text"; }
};

class AnyType final : public Type {
 public:
  Json ToJson(const void* value) const override { return *static_cast<const Json*>(value); }
  bool FromJson(const Json& json, void* value) const override {
    *static_cast<Json*>(value) = json;
    return true;
  }
  Json Schema() const override { return schema::Anything(); }
  std::string InWords() const override { return "any value"; }
};

template <typename TheType>
const Type& The() {
  static const TheType type;
  return type;
}

}  // namespace

const Type& TypeFor<int32_t>::Get() { return The<WholeType<int32_t>>(); }
const Type& TypeFor<int64_t>::Get() { return The<WholeType<int64_t>>(); }
const Type& TypeFor<Count>::Get() { return The<WholeType<Count>>(); }
const Type& TypeFor<Digits>::Get() { return The<DigitsType>(); }
const Type& TypeFor<double>::Get() { return The<RealType>(); }
const Type& TypeFor<Figure>::Get() { return The<FigureType>(); }
const Type& TypeFor<bool>::Get() { return The<BoolType>(); }
const Type& TypeFor<std::string>::Get() { return The<TextType>(); }
const Type& TypeFor<Json>::Get() { return The<AnyType>(); }

Json NullableType::Schema() const { return schema::OrNull(inner_.Schema()); }
std::string NullableType::InWords() const { return inner_.InWords() + " or null"; }
Json NullableType::ToJson(const void* value) const {
  const void* held = At(value);
  return held == nullptr ? Json(nullptr) : inner_.ToJson(held);
}
bool NullableType::FromJson(const Json& json, void* value) const {
  Clear(value);
  // A null that is there is told from a key that is missing where the type of the value is nullable itself.
  if (json.is_null() && !inner_.IsNullable()) return true;
  if (inner_.FromJson(json, Fill(value))) return true;
  Clear(value);
  return false;
}

Json ListType::Schema() const { return schema::List(inner_.Schema()); }
std::string ListType::InWords() const { return "list of " + inner_.InWords(); }
Json ListType::ToJson(const void* value) const {
  Json out = Json::array();
  for (size_t i = 0; i < Size(value); ++i) out.push_back(inner_.ToJson(At(value, i)));
  return out;
}
bool ListType::FromJson(const Json& json, void* value) const {
  Clear(value);
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    if (!inner_.FromJson(item, Append(value))) Drop(value);
  }
  return true;
}

Json KeyedType::Schema() const { return schema::Map(inner_.Schema()); }
std::string KeyedType::InWords() const { return "object of " + inner_.InWords(); }
Json KeyedType::ToJson(const void* value) const {
  Json out = Json::object();
  for (size_t i = 0; i < Size(value); ++i) {
    const auto [key, item] = At(value, i);
    out[std::string(key)] = inner_.ToJson(item);
  }
  return out;
}
bool KeyedType::FromJson(const Json& json, void* value) const {
  Clear(value);
  if (!json.is_object()) return false;
  for (const auto& [key, item] : json.items()) {
    if (!inner_.FromJson(item, Append(value, key))) Drop(value);
  }
  return true;
}

Json PairType::Schema() const { return schema::Pair(inner_.Schema()); }
std::string PairType::InWords() const { return "[" + inner_.InWords() + ", " + inner_.InWords() + "]"; }
Json PairType::ToJson(const void* value) const {
  const auto [first, second] = Both(value);
  return Json::array({inner_.ToJson(first), inner_.ToJson(second)});
}
bool PairType::FromJson(const Json& json, void* value) const {
  const auto [first, second] = Both(value);
  return json.is_array() && json.size() == 2 && inner_.FromJson(json[0], first) && inner_.FromJson(json[1], second);
}

}  // namespace lockstep::report
