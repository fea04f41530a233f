// ReportReference: made from the table of the document's fields. docs/reference.md is its output; a test compares them.
#include "analysis/report/fields/reference.h"

#include <fmt/format.h>

#include <set>
#include <string>

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

// Sections of the records that are inside others and have a name of their own, each once.
void AppendNamed(const report::Record& record, std::set<std::string_view>& written, std::string& out) {
  for (const report::Field& field : record.fields()) {
    const report::Record* inner = field.type()->Inner();
    if (inner == nullptr) continue;
    if (!inner->definition().empty() && written.insert(inner->definition()).second) {
      out += fmt::format("\n### {}\n\n{}\n\n{}", inner->definition(), inner->about(), report::ReferenceTable(*inner));
    }
    AppendNamed(*inner, written, out);
  }
}

}  // namespace

std::string ReportReference() {
  std::string out(kIntroduction);
  out += "\n## The document\n\n| field | meaning |\n|---|---|\n";
  for (const report::Field& field : report::Document::Fields().fields()) {
    const bool has_section = field.type()->Inner() != nullptr;
    out += fmt::format("| {} | {} |\n", has_section ? fmt::format("[{0}](#{0})", field.name) : std::string(field.name),
                       field.definition);
  }
  std::set<std::string_view> written;
  for (const report::Field& field : report::Document::Fields().fields()) {
    const report::Type& type = *field.type();
    if (type.Inner() == nullptr) continue;
    const bool list = type.shape() == report::Shape::kList;
    written.insert(type.Inner()->definition());
    out += fmt::format("\n## {}\n\n{}{}\n\n{}", field.name, field.definition,
                       list ? fmt::format(" A list; one row: {}", type.Inner()->about()) : "",
                       report::ReferenceTable(*type.Inner()));
    AppendNamed(*type.Inner(), written, out);
  }
  return out;
}

}  // namespace lockstep
