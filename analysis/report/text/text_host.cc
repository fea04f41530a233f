// host[], launches[], nvtx[], memory[], allocation[].
#include "analysis/report/text/text_sections.h"

namespace lockstep {
namespace {

// One figure of a distribution that rows have.
template <typename Row>
auto PercentileIn(report::Percentiles Row::*distribution, report::Percentiles::Value report::Percentiles::*figure) {
  return [=](const Row& row) { return row.*distribution.*figure; };
}

}  // namespace

void HostSection(const std::vector<report::HostRow>& rows, TextPage& page) {
  using Row = report::HostRow;
  using P = report::Percentiles;
  page.Heading("host calls", "queue = end of a launching call to the start of its kernel");
  page.Table(rows, {{"call", &Row::api},
                    {"ranks", &Row::ranks, CellKind::kNumber, 2},
                    {"calls", &Row::calls, CellKind::kCount},
                    {"total", &Row::total_ns, CellKind::kTime},
                    {"p50", PercentileIn(&Row::duration_ns, &P::p50), CellKind::kTime},
                    {"p99", PercentileIn(&Row::duration_ns, &P::p99), CellKind::kTime},
                    {"max", PercentileIn(&Row::duration_ns, &P::max), CellKind::kTime},
                    {"queue p50", PercentileIn(&Row::queue_ns, &P::p50), CellKind::kTime, 1}});
}

void LaunchesSection(const std::vector<report::LaunchRow>& rows, TextPage& page) {
  using Row = report::LaunchRow;
  using P = report::Percentiles;
  page.Heading("launches", "medians: whole = call, queue and kernel together");
  page.Table(rows, {{"kernel", &Row::kernel, CellKind::kKernel},
                    {"call", &Row::api, CellKind::kText, 1},
                    {"rank", &Row::rank, CellKind::kNumber},
                    {"thread", &Row::tid, CellKind::kNumber, 3},
                    {"count", &Row::count, CellKind::kCount},
                    {"queued", &Row::queue_count, CellKind::kCount, 2},
                    {"whole", PercentileIn(&Row::total_ns, &P::p50), CellKind::kTime},
                    {"call", PercentileIn(&Row::api_ns, &P::p50), CellKind::kTime},
                    {"queue", PercentileIn(&Row::queue_ns, &P::p50), CellKind::kTime},
                    {"kernel", PercentileIn(&Row::kernel_ns, &P::p50), CellKind::kTime}});
}

void NvtxSection(const std::vector<report::RangeRow>& rows, TextPage& page) {
  using Row = report::RangeRow;
  using P = report::Percentiles;
  page.Heading("ranges", "NVTX ranges and annotations");
  page.Table(rows, {{"range", &Row::range},
                    {"domain", &Row::domain, CellKind::kText, 3},
                    {"style", &Row::style, CellKind::kText, 2},
                    {"rank", &Row::rank, CellKind::kNumber, 4},
                    {"count", &Row::instances, CellKind::kCount},
                    {"total", &Row::total_ns, CellKind::kTime},
                    {"p50", PercentileIn(&Row::duration_ns, &P::p50), CellKind::kTime},
                    {"p99", PercentileIn(&Row::duration_ns, &P::p99), CellKind::kTime, 1},
                    {"max", PercentileIn(&Row::duration_ns, &P::max), CellKind::kTime},
                    {"on device", PercentileIn(&Row::projected_ns, &P::p50), CellKind::kTime, 5}});
}

void MemorySection(const std::vector<report::MemoryRow>& rows, TextPage& page) {
  using Row = report::MemoryRow;
  using P = report::Percentiles;
  page.Heading("copies and memsets");
  page.Table(rows, {{"kind", &Row::kind},
                    {"count", &Row::operations, CellKind::kCount},
                    {"data", &Row::bytes, CellKind::kBytes},
                    {"total", &Row::total_ns, CellKind::kTime},
                    {"p50", PercentileIn(&Row::duration_ns, &P::p50), CellKind::kTime},
                    {"max", PercentileIn(&Row::duration_ns, &P::max), CellKind::kTime, 2},
                    {"size p50", PercentileIn(&Row::size_bytes, &P::p50), CellKind::kBytes, 1},
                    {"rate p50", PercentileIn(&Row::bandwidth_gbps, &P::p50), CellKind::kBandwidth},
                    {"blocking", &Row::blocking, CellKind::kCount, 1}});
}

void AllocationSection(const std::vector<report::AllocationRow>& rows, TextPage& page) {
  using Row = report::AllocationRow;
  if (rows.empty()) return;
  page.Heading("device memory", "highest level that was allocated");
  page.Table(rows, {{"rank", &Row::rank, CellKind::kNumber},
                    {"peak", &Row::peak_bytes, CellKind::kBytes},
                    {"at", &Row::peak_at_ns, CellKind::kInstant}});
}

}  // namespace lockstep
