// The definition of every field by its path, for pages, which show it next to the number. Pure and thread safe.
#pragma once

#include <map>
#include <string>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

// Adds the definitions of a record's fields and of those inside them. Items of a list are named by "[]" and values of
// an object with any keys by "*": "profile.kernels[].total_ns". `prefix` stands before each path.
void AddDefinitions(const Record& record, const std::string& prefix, std::map<std::string, std::string>& definitions);

}  // namespace lockstep::report
