// clock{}: which clocks are compared, how far they are apart, and below what arrivals cannot be ordered.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/rows/clock.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

// How the offset was found, in words.
std::string HowFound(const report::ClockHostRow& host) {
  if (host.method == "shared") return "same clock";
  if (host.method == "band") return host.certified ? "bounds, certified" : "bounds";
  if (host.method == "ends") return "ends, coarse";
  if (host.method == "utc") return "UTC of the trace";
  return "nothing to compare";
}

std::string ClockName(const report::ClockHostRow& host) {
  return host.host ? *host.host : fmt::format("clock {}", host.domain);
}

std::optional<int64_t> WidthOfBand(const report::ClockHostRow& host) {
  if (!host.certified_ns) return std::nullopt;
  return host.certified_ns->second - host.certified_ns->first;
}

std::optional<std::string> DriftText(const report::ClockHostRow& host) {
  if (!host.drift_ppm) return std::nullopt;
  return fmt::format("{:.2f}", *host.drift_ppm);
}

std::string ComponentName(const report::Clock& clock, const report::ClockComponent& component) {
  if (clock.components.size() < 2) return "";
  return fmt::format("group {}{}: ", component.component,
                     component.reference_host ? fmt::format(" (reference {})", *component.reference_host) : "");
}

void WriteResolution(const report::Clock& clock, TextPage& page) {
  int64_t shown = 0;
  for (const report::ClockComponent& component : clock.components) {
    if (!component.not_resolvable_below_ns) continue;
    if (shown++ == page.options().max_rows) {
      page.Line("... and more groups (--format json)");
      return;
    }
    const auto& pair = component.worst_pair;
    const std::string ranks = pair ? fmt::format(" (worst pair: ranks {} and {})", pair->first, pair->second) : "";
    page.Line(fmt::format("{}not resolvable below {}: closer arrivals may be in either order{}",
                          ComponentName(clock, component), FormatTime(component.not_resolvable_below_ns), ranks));
  }
}

void WriteClockSteps(const report::Clock& clock, TextPage& page) {
  for (const report::ClockHostRow& host : clock.hosts) {
    const std::vector<report::ClockStep>& steps = host.steps;
    if (steps.empty()) continue;
    page.Line(fmt::format("the clock of {} was set by {}, {}{}", ClockName(host), FormatTime(steps[0].size_ns),
                          FormatSinceStart(steps[0].t_ns),
                          steps.size() > 1 ? fmt::format(", and {} more times", steps.size() - 1) : ""),
              2, 2, Emphasis::kBad);
  }
}

}  // namespace

void ClockSection(const report::Clock& clock, TextPage& page) {
  using Row = report::ClockHostRow;
  const size_t components = clock.components.size();
  page.Heading("clocks", components > 1 ? fmt::format("{} groups share no collective and are not compared", components)
                                        : fmt::format("offset = ahead of {}; +- = 95 %",
                                                      clock.reference_host.value_or("the reference")));
  std::vector<Column<Row>> columns = {{"host", ClockName},
                                      {"ranks", &Row::ranks, CellKind::kNumber},
                                      {"offset", &Row::offset_ns, CellKind::kTime},
                                      {"+-", &Row::uncertainty_ns, CellKind::kTime},
                                      {"drift ppm", DriftText, CellKind::kText, 3},
                                      {"certified", WidthOfBand, CellKind::kTime, 2},
                                      {"+- within host", &Row::inside_ns, CellKind::kTime, 5},
                                      {"method", HowFound},
                                      {"collectives", &Row::instances, CellKind::kCount, 1}};
  if (components > 1) columns.insert(columns.begin() + 1, {"group", &Row::component, CellKind::kNumber});
  page.Table(clock.hosts, columns);
  WriteResolution(clock, page);
  WriteClockSteps(clock, page);
}

}  // namespace lockstep
