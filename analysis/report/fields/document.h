// JSON Schema and reference of a whole document, made from the table of its fields. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

// JSON Schema (draft 2020-12). `id` is its URN, `title` the name and version of the format.
[[nodiscard]] Json SchemaOfDocument(const Record& document, std::string_view id, std::string_view title);

// Every field with its type and meaning, as Markdown behind the introduction: a table of the document's own fields,
// then a section for each that is a record or a list of them.
[[nodiscard]] std::string ReferenceOfDocument(const Record& document, std::string_view introduction);

}  // namespace lockstep::report
