// Where a reader puts what it finds. One sink a file, used from one thread; implemented by the pipeline (sort and join)
// and by a collecting sink in tests.
//
// Interning is bounded: beyond the limits a name becomes "(rest)" and is counted under name_limit; names are repaired
// to valid UTF-8 by the sink (counted bad_utf8). A Status that is not OK from a record method means that the pipeline
// cannot go on (disk full, cancelled): the reader returns it at once.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

#include "analysis/model/drop_reason.h"
#include "analysis/model/source.h"
#include "analysis/model/trace_record.h"

namespace lockstep {

class RecordSink {
 public:
  virtual ~RecordSink() = default;

  // Equal bytes give equal ids. Views need not outlive the call.
  virtual NameId InternName(std::string_view name) = 0;
  virtual ShapeId InternShape(const LaunchShape& shape) = 0;
  virtual MetaId InternMeta(const CollectiveMeta& meta) = 0;
  // Index of the process with this pid (-1 = unknown), adding it to context().processes when new.
  virtual uint32_t AddProcess(int64_t pid) = 0;

  virtual absl::Status Device(const DeviceRecord& record) = 0;
  virtual absl::Status Api(const ApiRecord& record) = 0;
  virtual absl::Status Host(const HostRecord& record) = 0;
  virtual absl::Status Sync(const SyncRecord& record) = 0;
  virtual absl::Status Allocation(const AllocationRecord& record) = 0;

  // Counts a dropped or repaired record; `place` is a byte offset or row id, -1 = unknown (the first few are kept for
  // people).
  virtual void Drop(DropReason reason, int64_t place) = 0;

  // The file's context, filled by the reader in any order.
  virtual FileContext& context() = 0;
};

}  // namespace lockstep
