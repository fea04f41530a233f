// The four tables of device activity: kernels, copies, memsets and graph-level spans.
#pragma once

#include <absl/status/status.h>

#include "agent/readers/nsys/graph_launches.h"
#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

absl::Status ReadKernels(ReadSession& session, GraphLaunches& graphs);
absl::Status ReadCopies(ReadSession& session, GraphLaunches& graphs);  // copies and memsets
absl::Status ReadGraphSpans(ReadSession& session);

// What all four tables share: place and time of the row. False, and counted, when it is unusable.
struct DeviceColumns {
  int start;
  int end;
  int device;
  int stream;
  int correlation;
  int global_pid;
  int graph_node;  // -1: the table has none
};
[[nodiscard]] bool ReadDeviceRecord(ReadSession& session, const Row& row, const DeviceColumns& columns, DeviceKind kind,
                                    DeviceRecord& record);

}  // namespace lockstep::nsys
