// The schema of the report as a document, for what is derived from it (the columns of CSV). Pure and thread safe.
#pragma once

#include <string_view>

#include "analysis/report/report.h"

namespace lockstep {

[[nodiscard]] const Json& ReportSchemaJson();

// The type behind "#/$defs/<name>"; an empty object if there is none.
[[nodiscard]] const Json& SchemaDefinition(std::string_view name);

}  // namespace lockstep
