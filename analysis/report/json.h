// What a report is made of, whole. Headers that only name `Json` include report.h, which declares it: the library takes
// longer to compile than most files that call it.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/report/report.h"
