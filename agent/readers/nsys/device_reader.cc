#include "agent/readers/nsys/device_reader.h"

namespace lockstep::nsys {

std::optional<DeviceRecord> CommonDeviceRecord(ReadSession& session, const Row& row, const DeviceColumns& columns,
                                               DeviceKind kind) {
  const std::optional<TimeSpan> span = session.DeviceSpanOf(row, columns.start, columns.end);
  if (!span.has_value()) return std::nullopt;
  const std::optional<int32_t> device = session.DeviceOf(row, columns.device);
  if (!device.has_value()) return std::nullopt;
  const std::optional<uint32_t> process = session.ProcessOf(row, columns.global_pid);
  if (!process.has_value()) return std::nullopt;
  const std::optional<int64_t> correlation = row.Int(columns.correlation);
  DeviceRecord record;
  record.start_ns = span->start_ns;
  record.duration_ns = span->duration_ns;
  record.correlation = static_cast<uint64_t>(correlation.value_or(0));
  record.has_correlation = correlation.has_value();
  record.process = *process;
  record.device = *device;
  record.stream = row.Int32Or(columns.stream, -1);
  record.kind = kind;
  if (columns.graph_node >= 0 && !row.IsNull(columns.graph_node)) {
    record.graph_node = static_cast<uint64_t>(row.IntOr(columns.graph_node, 0));
    record.from_graph = true;
  }
  return record;
}

}  // namespace lockstep::nsys
