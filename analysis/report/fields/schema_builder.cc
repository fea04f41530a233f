#include "analysis/report/fields/schema_builder.h"

#include "analysis/report/json.h"

namespace lockstep::schema {

Json OneOf(std::initializer_list<std::string_view> words) {
  Json list = Json::array();
  for (const std::string_view word : words) list.push_back(word);
  return {{"type", "string"}, {"enum", std::move(list)}};
}

Json List(Json item) { return {{"type", "array"}, {"items", std::move(item)}}; }

Json Pair(Json item) { return {{"type", "array"}, {"items", std::move(item)}, {"minItems", 2}, {"maxItems", 2}}; }

Json Map(Json value) { return {{"type", "object"}, {"additionalProperties", std::move(value)}}; }

Json Reference(std::string_view definition) { return {{"$ref", "#/$defs/" + std::string(definition)}}; }

Json OrNull(Json type) {
  const auto name = type.find("type");
  if (name == type.end() || type.contains("enum")) {
    Json either = Json::array();
    either.push_back(std::move(type));
    either.push_back({{"type", "null"}});
    return {{"anyOf", std::move(either)}};
  }
  if (name->is_array()) return type;  // it is nullable already
  Json types = Json::array();
  types.push_back(*name);
  types.push_back("null");
  *name = std::move(types);
  return type;
}

Json Object(Fields fields) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& [name, type] : fields) {
    const bool optional = name.ends_with('?');
    const std::string key(name.substr(0, name.size() - (optional ? 1 : 0)));
    properties[key] = type;
    if (!optional) required.push_back(key);
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

Json OrEmpty(Json object) {
  Json either = Json::array();
  either.push_back(std::move(object));
  either.push_back({{"type", "object"}, {"maxProperties", 0}});
  return {{"anyOf", std::move(either)}};
}

}  // namespace lockstep::schema
