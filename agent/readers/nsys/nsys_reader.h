// Reads an nsys SQLite export of schema 2.7 to 3.28 into a RecordSink, one table after the other, in bounded memory.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "agent/readers/trace_reader.h"
#include "platform/sqlite.h"

namespace lockstep::nsys {

class NsysReader : public TraceReader {
 public:
  absl::StatusOr<ReadResult> Read(const std::string& path, const ReadOptions& options, RecordSink& sink) override;
};

// The same for a database that is already open, whose size is `file_bytes`. The database is hardened first.
absl::StatusOr<ReadResult> ReadNsysDatabase(Database& db, int64_t file_bytes, const ReadOptions& options,
                                            RecordSink& sink);

}  // namespace lockstep::nsys
