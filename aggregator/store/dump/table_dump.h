// One table of the store in canonical text: which columns, in which order, under which names.
#pragma once

#include <absl/status/status.h>

#include <string_view>

#include "aggregator/store/dump/store_dump.h"
#include "platform/sqlite.h"

namespace lockstep {

// Writes "table NAME" and its rows. The database is in a reading transaction. kDataLoss when rows belong to no source
// or run of the store, or do not decode.
[[nodiscard]] absl::Status DumpTable(Database& db, std::string_view table, const DumpSink& sink);

}  // namespace lockstep
