#include "agent/readers/nsys/device_reader.h"

namespace lockstep::nsys {

bool ReadDeviceRecord(ReadSession& session, const Row& row, const DeviceColumns& columns, DeviceKind kind,
                      DeviceRecord& record) {
  TimeSpan span;
  if (!session.ReadDeviceSpan(row, columns.start, columns.end, span)) return false;
  if (!session.ReadDevice(row, columns.device, record.device)) return false;
  if (!session.ReadProcess(row, columns.global_pid, record.process)) return false;
  record.start_ns = span.start_ns;
  record.duration_ns = span.duration_ns;
  int64_t correlation = 0;
  record.has_correlation = row.Read(columns.correlation, correlation);
  record.correlation = static_cast<uint64_t>(correlation);
  record.stream = row.Int32Or(columns.stream, -1);
  record.kind = kind;
  if (columns.graph_node < 0) return true;
  int64_t graph_node = 0;
  record.from_graph = row.Read(columns.graph_node, graph_node) || !row.IsNull(columns.graph_node);
  record.graph_node = static_cast<uint64_t>(graph_node);
  return true;
}

}  // namespace lockstep::nsys
