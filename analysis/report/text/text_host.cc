// host[], launches[], nvtx[], memory[], allocation[].
#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"

namespace lockstep {

void HostSection(const Json& view, TextPage& page) {
  page.Heading("host calls", "queue = end of a launching call to the start of its kernel");
  page.Table(view, {{"call", "api", CellKind::kText},
                    {"ranks", "ranks", CellKind::kNumber, 2},
                    {"calls", "calls", CellKind::kCount},
                    {"total", "total_ns", CellKind::kTime},
                    {"p50", "duration_ns.p50", CellKind::kTime},
                    {"p99", "duration_ns.p99", CellKind::kTime},
                    {"max", "duration_ns.max", CellKind::kTime},
                    {"queue p50", "queue_ns.p50", CellKind::kTime, 1}});
}

void LaunchesSection(const Json& view, TextPage& page) {
  page.Heading("launches", "medians: whole = call, queue and kernel together");
  page.Table(view, {{"kernel", "kernel", CellKind::kKernel},
                    {"call", "api", CellKind::kText, 1},
                    {"rank", "rank", CellKind::kNumber},
                    {"thread", "tid", CellKind::kNumber, 3},
                    {"count", "count", CellKind::kCount},
                    {"queued", "queue_count", CellKind::kCount, 2},
                    {"whole", "total_ns.p50", CellKind::kTime},
                    {"call", "api_ns.p50", CellKind::kTime},
                    {"queue", "queue_ns.p50", CellKind::kTime},
                    {"kernel", "kernel_ns.p50", CellKind::kTime}});
}

void NvtxSection(const Json& view, TextPage& page) {
  page.Heading("ranges", "NVTX ranges and annotations");
  page.Table(view, {{"range", "range", CellKind::kText},
                    {"domain", "domain", CellKind::kText, 3},
                    {"style", "style", CellKind::kText, 2},
                    {"rank", "rank", CellKind::kNumber, 4},
                    {"count", "instances", CellKind::kCount},
                    {"total", "total_ns", CellKind::kTime},
                    {"p50", "duration_ns.p50", CellKind::kTime},
                    {"p99", "duration_ns.p99", CellKind::kTime, 1},
                    {"max", "duration_ns.max", CellKind::kTime},
                    {"on device", "projected_ns.p50", CellKind::kTime, 5}});
}

void MemorySection(const Json& view, TextPage& page) {
  page.Heading("copies and memsets");
  page.Table(view, {{"kind", "kind", CellKind::kText},
                    {"count", "operations", CellKind::kCount},
                    {"data", "bytes", CellKind::kBytes},
                    {"total", "total_ns", CellKind::kTime},
                    {"p50", "duration_ns.p50", CellKind::kTime},
                    {"max", "duration_ns.max", CellKind::kTime, 2},
                    {"size p50", "size_bytes.p50", CellKind::kBytes, 1},
                    {"rate p50", "bandwidth_gbps.p50", CellKind::kBandwidth},
                    {"blocking", "blocking", CellKind::kCount, 1}});
}

void AllocationSection(const Json& view, TextPage& page) {
  if (!view.is_array() || view.empty()) return;
  page.Heading("device memory", "highest level that was allocated");
  page.Table(view, {{"rank", "rank", CellKind::kNumber},
                    {"peak", "peak_bytes", CellKind::kBytes},
                    {"at", "peak_at_ns", CellKind::kInstant}});
}

}  // namespace lockstep
