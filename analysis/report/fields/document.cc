#include "analysis/report/fields/document.h"

#include <fmt/format.h>

#include <set>

#include "analysis/report/fields/reference.h"
#include "analysis/report/json.h"

namespace lockstep::report {
namespace {

// Every record with a definition that is reached from `record`, after those that it holds itself.
void Define(const Record& record, Json& definitions) {
  for (const Field& field : record.fields()) {
    const Record* inner = field.type()->Inner();
    if (inner != nullptr) Define(*inner, definitions);
  }
  const std::string name(record.definition());
  if (!name.empty() && !definitions.contains(name)) definitions[name] = record.ObjectSchema();
}

// Sections of the records that are inside others and have a name of their own, each once.
void AppendNamed(const Record& record, std::set<std::string_view>& written, std::string& out) {
  for (const Field& field : record.fields()) {
    const Record* inner = field.type()->Inner();
    if (inner == nullptr) continue;
    if (!inner->definition().empty() && written.insert(inner->definition()).second) {
      out += fmt::format("\n### {}\n\n{}\n\n{}", inner->definition(), inner->about(), ReferenceTable(*inner));
    }
    AppendNamed(*inner, written, out);
  }
}

}  // namespace

Json SchemaOfDocument(const Record& document, std::string_view id, std::string_view title) {
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["$id"] = id;
  schema["title"] = title;
  const Json object = document.ObjectSchema();
  for (const auto& [key, value] : object.items()) schema[key] = value;
  Json definitions = Json::object();
  Define(document, definitions);
  schema["$defs"] = std::move(definitions);
  return schema;
}

std::string ReferenceOfDocument(const Record& document, std::string_view introduction) {
  std::string out(introduction);
  out += "\n## The document\n\n| field | meaning |\n|---|---|\n";
  for (const Field& field : document.fields()) {
    const bool has_section = field.type()->Inner() != nullptr;
    out += fmt::format("| {} | {} |\n", has_section ? fmt::format("[{0}](#{0})", field.name) : std::string(field.name),
                       field.definition);
  }
  std::set<std::string_view> written;
  for (const Field& field : document.fields()) {
    const Type& type = *field.type();
    if (type.Inner() == nullptr) continue;
    const bool list = type.shape() == Shape::kList;
    written.insert(type.Inner()->definition());
    out += fmt::format("\n## {}\n\n{}{}\n\n{}", field.name, field.definition,
                       list ? fmt::format(" A list; one row: {}", type.Inner()->about()) : "",
                       ReferenceTable(*type.Inner()));
    AppendNamed(*type.Inner(), written, out);
  }
  return out;
}

}  // namespace lockstep::report
