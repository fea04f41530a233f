// clock{}: which clocks are compared, how far they lie apart, and below what nothing can be told.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

// How the offset was found, in words.
std::string HowFound(const Json& host) {
  const std::string& method = TextOf(FieldOf(host, "method"));
  if (method == "shared") return "same clock";
  if (method == "band") return FieldOf(host, "certified") == true ? "bounds, certified" : "bounds";
  if (method == "ends") return "ends, coarse";
  if (method == "utc") return "UTC claim";
  return "alone";
}

std::string HostName(const Json& host) {
  const std::string& name = TextOf(FieldOf(host, "host"));
  return name.empty() ? fmt::format("clock {}", PlainText(FieldOf(host, "domain"))) : name;
}

Json HostRows(const Json& view) {
  Json rows = RowsOf(ListOf(view, "hosts"));
  for (Json& row : rows) {
    row["name"] = HostName(row);
    row["found"] = HowFound(row);
    const Json& band = FieldOf(row, "certified_ns");
    const auto low = band.is_array() && band.size() == 2 ? RealOf(band[0]) : std::nullopt;
    const auto high = band.is_array() && band.size() == 2 ? RealOf(band[1]) : std::nullopt;
    row["band"] = low && high ? Json(*high - *low) : Json(nullptr);
    const auto drift = RealOf(FieldOf(row, "drift_ppm"));
    row["drift"] = drift ? Json(fmt::format("{:.2f}", *drift)) : Json(nullptr);
  }
  return rows;
}

std::string ComponentName(const Json& view, const Json& component) {
  if (ListOf(view, "components").size() < 2) return "";
  const std::string& reference = TextOf(FieldOf(component, "reference_host"));
  return fmt::format("group {}{}: ", PlainText(FieldOf(component, "component")),
                     reference.empty() ? "" : fmt::format(" (reference {})", reference));
}

void WriteResolution(const Json& view, TextPage& page) {
  int64_t shown = 0;
  for (const Json& component : ListOf(view, "components")) {
    const Json& below = FieldOf(component, "not_resolvable_below_ns");
    if (!below.is_number()) continue;
    if (shown++ == page.options().max_rows) {
      page.Line("... and more groups (--format json)");
      return;
    }
    const Json& pair = FieldOf(component, "worst_pair");
    const std::string ranks = pair.is_array() && pair.size() == 2 ? fmt::format(" (worst pair: ranks {} and {})",
                                                                                PlainText(pair[0]), PlainText(pair[1]))
                                                                  : "";
    page.Line(fmt::format("{}not resolvable below {}: closer arrivals may have come in either order{}",
                          ComponentName(view, component), FormatTime(below), ranks));
  }
}

void WriteClockSteps(const Json& view, TextPage& page) {
  for (const Json& host : ListOf(view, "hosts")) {
    const Json& steps = ListOf(host, "steps");
    if (steps.empty()) continue;
    page.Line(fmt::format("the clock of {} was set: {} at {} after the run's start{}", HostName(host),
                          FormatTime(FieldOf(steps[0], "size_ns")), FormatTime(FieldOf(steps[0], "t_ns")),
                          steps.size() > 1 ? fmt::format(", and {} more times", steps.size() - 1) : ""),
              2, 2, Emphasis::kBad);
  }
}

}  // namespace

void ClockSection(const Json& view, TextPage& page) {
  const std::string& reference = TextOf(FieldOf(view, "reference_host"));
  const size_t components = ListOf(view, "components").size();
  page.Heading("clocks",
               components > 1
                   ? fmt::format("{} groups that share no collective: between them nothing is compared", components)
                   : fmt::format("offset = ahead of {}; +- is 95 %", reference.empty() ? "the reference" : reference));
  std::vector<TableColumn> columns = {{"host", "name", CellKind::kText},
                                      {"ranks", "ranks", CellKind::kNumber},
                                      {"offset", "offset_ns", CellKind::kTime},
                                      {"+-", "uncertainty_ns", CellKind::kTime},
                                      {"drift ppm", "drift", CellKind::kText, 3},
                                      {"certified within", "band", CellKind::kTime, 2},
                                      {"inside +-", "inside_ns", CellKind::kTime, 5},
                                      {"found by", "found", CellKind::kText},
                                      {"collectives", "instances", CellKind::kCount, 1}};
  if (components > 1) columns.insert(columns.begin() + 1, {"group", "component", CellKind::kNumber});
  page.Table(HostRows(view), std::move(columns));
  WriteResolution(view, page);
  WriteClockSteps(view, page);
}

}  // namespace lockstep
