// ranks[], quality{}: what the traces are worth.
#include <fmt/format.h>

#include <string>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

constexpr size_t kGateWidth = 24;

void WriteGate(const Json& gate, TextPage& page) {
  const Json& ok = FieldOf(gate, "ok");
  const std::string& name = TextOf(FieldOf(gate, "name"));
  const std::string_view state = ok == true ? "ok  " : ok == false ? "FAIL" : "-   ";
  const Emphasis emphasis = ok == true ? Emphasis::kGood : ok == false ? Emphasis::kBad : Emphasis::kFaint;
  page.Item(fmt::format("{} {}", state, name), kGateWidth, TextOf(FieldOf(gate, "detail")), emphasis);
  const std::string& fix = TextOf(FieldOf(gate, "fix"));
  if (ok == false && !fix.empty()) page.Item("", kGateWidth, fmt::format("fix: {}", fix));
}

std::string CountersText(const Json& counters) {
  std::string text;
  if (!counters.is_object()) return text;
  for (const auto& [reason, count] : counters.items()) {
    if (count.is_number()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, FormatCount(count));
  }
  return text;
}

void WriteCounters(const Json& ranks, TextPage& page) {
  page.Heading("dropped or repaired records");
  bool any = false;
  for (const Json& rank : ranks) {
    const std::string counters = CountersText(FieldOf(rank, "counters"));
    if (counters.empty()) continue;
    any = true;
    page.Item(fmt::format("rank {}", PlainText(FieldOf(rank, "rank"))), 10, counters);
  }
  if (!any) page.Line("none", 2, 0, Emphasis::kFaint);
}

// Files that were read whole are only counted.
void WriteFiles(const Json& files, TextPage& page) {
  int64_t used = 0;
  for (const Json& file : files) used += TextOf(FieldOf(file, "status")) == "used" ? 1 : 0;
  page.Heading("files", fmt::format("{} of {} used whole", used, files.size()));
  int64_t shown = 0;
  for (const Json& file : files) {
    const std::string& status = TextOf(FieldOf(file, "status"));
    if (status == "used") continue;
    if (shown++ == page.options().max_rows) {
      page.Line(fmt::format("... and {} more (--limit)", static_cast<int64_t>(files.size()) - used - (shown - 1)));
      return;
    }
    const Json& offset = FieldOf(file, "offset");
    const std::string place = offset.is_number() ? fmt::format(" at byte {}", PlainText(offset)) : "";
    page.Item(status, 8,
              fmt::format("{}{}: {}", TextOf(FieldOf(file, "path")), place, TextOf(FieldOf(file, "reason"))));
  }
}

Json RanksWithWhole(const Json& view) {
  Json rows = RowsOf(view);
  for (Json& row : rows) row["whole"] = FieldOf(row, "complete") == true ? "yes" : "no";
  return rows;
}

}  // namespace

void RanksSection(const Json& view, TextPage& page) {
  page.Heading("ranks", "told by = where the rank's number comes from");
  page.Table(RanksWithWhole(view), {{"rank", "rank", CellKind::kNumber},
                                    {"told by", "rank_source", CellKind::kText},
                                    {"host", "host", CellKind::kText},
                                    {"clock", "domain", CellKind::kNumber, 4},
                                    {"capture", "capture", CellKind::kNumber, 9},
                                    {"device", "device", CellKind::kNumber, 5},
                                    {"GPU", "gpu_name", CellKind::kText, 3},
                                    {"bus", "pci_bus", CellKind::kText, 8},
                                    {"span", "span_ns", CellKind::kTime},
                                    {"kernels", "kernels", CellKind::kCount},
                                    {"collectives", "collectives", CellKind::kCount},
                                    {"copies", "copies", CellKind::kCount, 6},
                                    {"steps", "steps.count", CellKind::kCount, 2},
                                    {"whole", "whole", CellKind::kText, 7},
                                    {"path", "path", CellKind::kPath}});
}

void QualitySection(const Json& view, TextPage& page) {
  page.Heading("quality of the data");
  const Json& gates = ListOf(view, "gates");
  for (const bool failed : {true, false}) {
    for (const Json& gate : gates) {
      if ((FieldOf(gate, "ok") == false) == failed) WriteGate(gate, page);
    }
  }
  if (gates.empty()) page.Line("(nothing)", 2, 0, Emphasis::kFaint);
  WriteCounters(ListOf(view, "ranks"), page);
  WriteFiles(ListOf(view, "files"), page);
}

}  // namespace lockstep
