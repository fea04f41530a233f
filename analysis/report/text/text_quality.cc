// ranks[], quality{}: what the traces are worth.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/report/rows/quality.h"
#include "analysis/report/rows/ranks.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

constexpr size_t kGateWidth = 24;

void WriteGate(const report::GateRow& gate, TextPage& page) {
  const std::string_view state = gate.ok == true ? "ok  " : gate.ok == false ? "FAIL" : "-   ";
  const Emphasis emphasis = gate.ok == true ? Emphasis::kGood : gate.ok == false ? Emphasis::kBad : Emphasis::kFaint;
  page.Item(fmt::format("{} {}", state, gate.name), kGateWidth, gate.detail, emphasis);
  if (gate.ok == false && gate.fix) page.Item("", kGateWidth, fmt::format("fix: {}", *gate.fix));
}

std::string CountersText(const report::Keyed<report::Count>& counters) {
  std::string text;
  for (const auto& [reason, count] : counters) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, FormatCount(count));
  }
  return text;
}

void WriteCounters(const std::vector<report::CountersOfRank>& ranks, TextPage& page) {
  page.Heading("dropped or repaired records");
  bool any = false;
  for (const report::CountersOfRank& rank : ranks) {
    const std::string counters = CountersText(rank.counters);
    if (counters.empty()) continue;
    any = true;
    page.Item(fmt::format("rank {}", rank.rank), 10, counters);
  }
  if (!any) page.Line("none", 2, 0, Emphasis::kFaint);
}

bool IsUsedWhole(const report::FileRow& file) { return file.status == "used"; }

// Files that were read whole are only counted.
void WriteFiles(const std::vector<report::FileRow>& files, TextPage& page) {
  const int64_t used = std::count_if(files.begin(), files.end(), IsUsedWhole);
  page.Heading("files", fmt::format("{} of {} used whole", used, files.size()));
  int64_t shown = 0;
  for (const report::FileRow& file : files) {
    if (IsUsedWhole(file)) continue;
    if (shown++ == page.options().max_rows) {
      page.Line(fmt::format("... and {} more (--limit)", static_cast<int64_t>(files.size()) - used - (shown - 1)));
      return;
    }
    const std::string place = file.offset ? fmt::format(" at byte {}", file.offset->value) : "";
    page.Item(file.status, 8, fmt::format("{}{}: {}", file.path, place, file.reason.value_or("")));
  }
}

}  // namespace

void RanksSection(const std::vector<report::RankRow>& rows, TextPage& page) {
  using Row = report::RankRow;
  page.Heading("ranks", "told by = where the rank's number comes from");
  page.Table(rows, {{"rank", &Row::rank, CellKind::kNumber},
                    {"told by", &Row::rank_source},
                    {"host", &Row::host},
                    {"clock", &Row::domain, CellKind::kNumber, 4},
                    {"capture", &Row::capture, CellKind::kNumber, 9},
                    {"device", &Row::device, CellKind::kNumber, 5},
                    {"GPU", &Row::gpu_name, CellKind::kText, 3},
                    {"bus", &Row::pci_bus, CellKind::kText, 8},
                    {"span", &Row::span_ns, CellKind::kTime},
                    {"kernels", &Row::kernels, CellKind::kCount},
                    {"collectives", &Row::collectives, CellKind::kCount},
                    {"copies", &Row::copies, CellKind::kCount, 6},
                    {"steps", [](const Row& row) { return row.steps.count; }, CellKind::kCount, 2},
                    {"whole", [](const Row& row) { return row.complete ? "yes" : "no"; }, CellKind::kText, 7},
                    {"path", &Row::path, CellKind::kPath}});
}

void QualitySection(const report::Quality& quality, TextPage& page) {
  page.Heading("quality of the data");
  for (const bool failed : {true, false}) {
    for (const report::GateRow& gate : quality.gates) {
      if ((gate.ok == false) == failed) WriteGate(gate, page);
    }
  }
  if (quality.gates.empty()) page.Line("(nothing)", 2, 0, Emphasis::kFaint);
  WriteCounters(quality.ranks, page);
  WriteFiles(quality.files, page);
}

}  // namespace lockstep
