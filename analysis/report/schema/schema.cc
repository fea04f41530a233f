// ReportSchema: made from the table of the document's fields. docs/report.schema.json is its output; a test compares
// them.
#include "analysis/report/fields/document.h"
#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/schema/report_schema.h"

namespace lockstep {

const Json& ReportSchemaJson() {
  static const Json schema =
      report::SchemaOfDocument(report::Document::Fields(), "urn:lockstep:report:1", report::kReportSchema);
  return schema;
}

std::string ReportSchema() { return RenderJson(ReportSchemaJson()); }

}  // namespace lockstep
