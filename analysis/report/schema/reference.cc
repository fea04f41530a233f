// ReportReference: made from the table of the document's fields. docs/reference.md is its output; a test compares them.
#include "analysis/report/fields/document.h"
#include "analysis/report/report.h"
#include "analysis/report/rows/document.h"

namespace lockstep {
namespace {

constexpr std::string_view kIntroduction = R"(# Reference of the report

Every field of the JSON document that `lockstep analyze --format json` and `lockstep show --format json` print. The
columns of CSV have the same names, with "_" between a field and a field inside it. `lockstep schema` prints the
same as a JSON Schema. How the numbers are computed, and why, is described in [algorithms](algorithms/README.md).

* The suffix of a name is its unit: `_ns` nanoseconds, `_bytes` bytes, `_ratio` a share or a ratio, `_gbps` 10^9 bytes a
  second, `_ppm` parts in a million.
* Times of events count from the start of the run, which is the earliest device activity of any analysed rank.
  `_unix_ns` counts from 1970-01-01 UTC.
* Null means that a value is not known. It never means zero.

This file is generated: `lockstep schema --reference > docs/reference.md`.
)";

}  // namespace

std::string ReportReference() { return report::ReferenceOfDocument(report::Document::Fields(), kIntroduction); }

}  // namespace lockstep
