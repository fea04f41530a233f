// The reference of a record's fields for people, as Markdown: docs/reference.md is made of it. Pure and thread safe.
#pragma once

#include <string>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

// A table with name, type and definition of every field. Fields of records inside are named by their path, and those of
// a list's items by "[]": "by_rank[].total_ns". Records with a definition of their own are only named.
[[nodiscard]] std::string ReferenceTable(const Record& record);

}  // namespace lockstep::report
