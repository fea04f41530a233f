// ReportSchema: made from the table of the document's fields. docs/report.schema.json is its output; a test compares
// them.
#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/schema/report_schema.h"

namespace lockstep {
namespace {

using report::Field;
using report::Record;

// Every record with a definition that is reached from `record`, after those that it holds itself.
void Define(const Record& record, Json& definitions) {
  for (const Field& field : record.fields()) {
    const Record* inner = field.type()->Inner();
    if (inner != nullptr) Define(*inner, definitions);
  }
  const std::string name(record.definition());
  if (!name.empty() && !definitions.contains(name)) definitions[name] = record.ObjectSchema();
}

Json BuildSchema() {
  const Record& document = report::Document::Fields();
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["$id"] = "urn:lockstep:report:1";
  schema["title"] = report::kReportSchema;
  const Json object = document.ObjectSchema();
  for (const auto& [key, value] : object.items()) schema[key] = value;
  Json definitions = Json::object();
  Define(document, definitions);
  schema["$defs"] = std::move(definitions);
  return schema;
}

}  // namespace

const Json& ReportSchemaJson() {
  static const Json schema = BuildSchema();
  return schema;
}

std::string ReportSchema() { return RenderJson(ReportSchemaJson()); }

}  // namespace lockstep
