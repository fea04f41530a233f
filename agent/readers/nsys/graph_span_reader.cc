#include <fmt/format.h>

#include "agent/readers/nsys/device_reader.h"

namespace lockstep::nsys {
namespace {

constexpr DeviceColumns kGraphSpanColumns = {graph_trace::kStart,
                                             graph_trace::kEnd,
                                             graph_trace::kDevice,
                                             graph_trace::kStream,
                                             graph_trace::kCorrelation,
                                             graph_trace::kGlobalPid,
                                             -1};

absl::Status ReadGraphSpan(ReadSession& session, const Row& row) {
  DeviceRecord record;
  if (!ReadDeviceRecord(session, row, kGraphSpanColumns, DeviceKind::kGraphSpan, record)) return absl::OkStatus();
  const std::optional<int64_t> graph = row.Int(graph_trace::kGraph);
  record.name = session.sink().InternName(graph.has_value() ? fmt::format("CUDA graph {}", *graph) : "CUDA graph");
  record.from_graph = true;
  session.NoteDeviceActivity(record);
  return session.sink().Device(record);
}

}  // namespace

absl::Status ReadGraphSpans(ReadSession& session) {
  return session.Scan(graph_trace::kTable, [&](const Row& row) { return ReadGraphSpan(session, row); });
}

}  // namespace lockstep::nsys
