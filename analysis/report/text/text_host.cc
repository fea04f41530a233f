// host[], launches[], nvtx[], memory[], allocation[].
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/report/text/text_sections.h"

namespace lockstep {
namespace {

// One figure of a distribution that rows have.
template <typename Row>
auto PercentileIn(report::Percentiles Row::*distribution, report::Percentiles::Value report::Percentiles::*figure) {
  return [=](const Row& row) { return row.*distribution.*figure; };
}

// "ProfilerStep" of "ProfilerStep#3"; "" for a name that does not end with a number.
std::string WithoutNumber(std::string_view name) {
  const std::string_view word = name.substr(0, name.find_last_not_of("0123456789") + 1);
  return word.size() == name.size() ? "" : std::string(word.substr(0, word.find_last_not_of("# _:-") + 1));
}

// Takes one more step into a row. Of the times only the sum and the longest are known then.
void AddStep(const report::RangeRow& step, report::RangeRow& sum) {
  sum.instances.value += step.instances.value;
  sum.total_ns.value += step.total_ns.value;
  const bool longer = Cell(step.duration_ns.max).Real() > Cell(sum.duration_ns.max).Real();
  const report::Percentiles::Value longest = longer ? step.duration_ns.max : sum.duration_ns.max;
  sum.duration_ns = {};
  sum.duration_ns.max = longest;
  sum.projected_ns = {};
}

// Steps that differ only in their number are one row, in the place of the first.
std::vector<report::RangeRow> FoldSteps(const std::vector<report::RangeRow>& rows) {
  struct Steps {
    size_t place = 0;
    int64_t count = 0;
  };
  std::map<std::tuple<std::string, std::optional<std::string>, std::optional<int32_t>>, Steps> steps;
  std::vector<report::RangeRow> folded;
  for (const report::RangeRow& row : rows) {
    const std::string name = WithoutNumber(row.range);
    const bool is_step = row.style == "step" && !name.empty();
    Steps* of_name = is_step ? &steps[{name, row.domain, row.rank}] : nullptr;
    if (of_name == nullptr || ++of_name->count == 1) {
      if (of_name != nullptr) of_name->place = folded.size();
      folded.push_back(row);
      continue;
    }
    report::RangeRow& sum = folded[of_name->place];
    AddStep(row, sum);
    sum.range = fmt::format("{} ({} steps: --view steps)", name, of_name->count);
  }
  return folded;
}

}  // namespace

void HostSection(const std::vector<report::HostRow>& rows, TextPage& page) {
  using Row = report::HostRow;
  using P = report::Percentiles;
  page.Heading("host calls", "queue = from the end of a launch call to the start of its kernel");
  page.Table(rows, {{"call", &Row::api, CellKind::kName},
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
  page.Heading("launches", "medians; total = call + queue + kernel");
  page.Table(rows, {{"kernel", &Row::kernel, CellKind::kKernel},
                    {"API call", &Row::api, CellKind::kText, 1},
                    {"rank", &Row::rank, CellKind::kNumber},
                    {"thread", &Row::tid, CellKind::kNumber, 3},
                    {"count", &Row::count, CellKind::kCount},
                    {"queued", &Row::queue_count, CellKind::kCount, 2},
                    {"total", PercentileIn(&Row::total_ns, &P::p50), CellKind::kTime},
                    {"call", PercentileIn(&Row::api_ns, &P::p50), CellKind::kTime},
                    {"queue", PercentileIn(&Row::queue_ns, &P::p50), CellKind::kTime},
                    {"kernel", PercentileIn(&Row::kernel_ns, &P::p50), CellKind::kTime}});
}

void NvtxSection(const std::vector<report::RangeRow>& rows, TextPage& page) {
  using Row = report::RangeRow;
  using P = report::Percentiles;
  page.Heading("ranges", "NVTX ranges and annotations; on device = p50 of their work there");
  const std::vector<Row> folded = FoldSteps(rows);
  page.Table(folded, {{"range", &Row::range, CellKind::kName},
                      {"domain", &Row::domain, CellKind::kText, 3},
                      {"style", &Row::style, CellKind::kText, 2},
                      {"rank", &Row::rank, CellKind::kNumber, 5},
                      {"count", &Row::instances, CellKind::kCount},
                      {"total", &Row::total_ns, CellKind::kTime},
                      {"p50", PercentileIn(&Row::duration_ns, &P::p50), CellKind::kTime},
                      {"p99", PercentileIn(&Row::duration_ns, &P::p99), CellKind::kTime, 1},
                      {"max", PercentileIn(&Row::duration_ns, &P::max), CellKind::kTime},
                      {"on device", PercentileIn(&Row::projected_ns, &P::p50), CellKind::kTime, 4}});
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
  page.Heading("device memory", "highest amount that was allocated");
  page.Table(rows, {{"rank", &Row::rank, CellKind::kNumber},
                    {"peak", &Row::peak_bytes, CellKind::kBytes},
                    {"at", &Row::peak_at_ns, CellKind::kInstant}});
}

}  // namespace lockstep
