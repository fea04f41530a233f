// The schema of the report as a document. Pure and thread safe.
#pragma once

#include "analysis/report/report.h"

namespace lockstep {

[[nodiscard]] const Json& ReportSchemaJson();

}  // namespace lockstep
