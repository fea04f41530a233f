#include "analysis/report/fields/record.h"

#include <string>

#include "analysis/report/fields/schema_builder.h"
#include "analysis/report/json.h"

namespace lockstep::report {
namespace {

Json WordList(const Field& field) {
  Json list = Json::array();
  for (const std::string_view word : field.words) list.push_back(word);
  return list;
}

// A text of certain words: itself, in a list, nullable.
Json WithWords(Json type, const Field& field) {
  if (field.words.empty()) return type;
  const Json words = {{"type", "string"}, {"enum", WordList(field)}};
  if (type.contains("items")) {
    type["items"] = words;
    return type;
  }
  return type["type"].is_array() ? schema::OrNull(words) : words;
}

class ObjectType final : public Type {
 public:
  explicit ObjectType(const Record& record) : record_(record) {}

  Json ToJson(const void* value) const override {
    Json out = Json::object();
    for (const Field& field : record_.fields()) {
      const void* member = field.at(value);
      const Type& type = *field.type();
      if (field.left_out_if_null && type.IsNull(member)) continue;
      out[std::string(field.name)] = type.ToJson(member);
    }
    return out;
  }
  bool FromJson(const Json& json, void* value) const override {
    if (!json.is_object()) return false;
    for (const Field& field : record_.fields()) {
      const auto found = json.find(std::string(field.name));
      if (found != json.end()) (void)field.type()->FromJson(*found, field.edit(value));
    }
    return true;
  }
  Json Schema() const override {
    return record_.definition().empty() ? record_.ObjectSchema() : schema::Reference(record_.definition());
  }
  std::string InWords() const override { return "object"; }
  Shape shape() const override { return Shape::kObject; }
  const Record* Inner() const override { return &record_; }

 private:
  const Record& record_;
};

}  // namespace

Record::Record(std::string_view definition, std::string_view about, std::vector<Field> fields)
    : definition_(definition), about_(about), fields_(std::move(fields)), type_(std::make_unique<ObjectType>(*this)) {}

const Type& TypeOfRecord(const Record& record) { return record.type(); }

Json Record::ObjectSchema() const {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : fields_) {
    Json& property = properties[std::string(field.name)] = WithWords(TypeOfField(field).Schema(), field);
    property["description"] = field.definition;
    if (!field.later && !field.left_out_if_null) required.push_back(field.name);
  }
  return {{"type", "object"},
          {"description", about_},
          {"properties", std::move(properties)},
          {"required", std::move(required)}};
}

}  // namespace lockstep::report
