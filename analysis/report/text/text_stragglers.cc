// stragglers[].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/rows/stragglers.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

// "rank 3", but "rail 2" as it is.
std::string NameOfStraggler(const report::StragglerRow& row) {
  return row.id.rfind(row.scope, 0) == 0 ? row.id : fmt::format("{} {}", row.scope, row.id);
}

std::string KindText(const report::StragglerRow& row) {
  return row.period_steps ? fmt::format("{} ({})", row.kind, Cell(row.period_steps).Text()) : row.kind;
}

Cell MainCause(const report::StragglerRow& row) { return row.parts.empty() ? Cell() : Cell(row.parts.front().cause); }

std::string FrontierText(const report::StragglerRow& row) {
  if (row.frontier == "agrees") return "durations alone, without any clock, say the same";
  if (row.frontier == "disagrees") {
    return "but durations alone, without any clock, point elsewhere: take it as not sure";
  }
  return "durations alone, without any clock, cannot tell";
}

// What the others lost to each of the foremost, and whether it is told without clocks too.
void WriteLosses(const std::vector<report::StragglerRow>& rows, TextPage& page) {
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < rows.size() && i < kMost; ++i) {
    const report::StragglerRow& row = rows[i];
    if (!row.blamed_wait_ns) continue;
    page.Line(fmt::format("{}: the others lost {} of GPU time to it, {} on the critical path; {}", NameOfStraggler(row),
                          FormatTime(row.blamed_wait_ns), FormatTime(row.blamed_critical_ns), FrontierText(row)));
  }
}

// Behind a slower one it saves nothing until that is mended.
void WriteAfterOthers(const std::vector<report::StragglerRow>& rows, TextPage& page) {
  for (const report::StragglerRow& row : rows) {
    if (!row.saving_after_others_ratio) continue;
    page.Line(
        fmt::format("{}: mending it alone saves nothing, because the others wait for somebody slower; once those "
                    "named before it are mended, it saves {} of each step",
                    NameOfStraggler(row), FormatPercent(row.saving_after_others_ratio)));
  }
}

// Of how many runs without a straggler one looks like this.
std::string ChanceText(double p) {
  if (p < 1e-6) return "fewer than one in a million such runs";
  return fmt::format("at most one in {:.0f} such runs", std::floor(1 / std::min(p, 1.0)));
}

// What stands behind the first of them, in a line.
void WriteFirst(const report::StragglerRow& row, TextPage& page) {
  const auto& [low, high] = row.confidence_interval_ns;
  page.Line(fmt::format(
      "{}: between {} and {} a step (95 %), by chance in {}; its {} steps are worth {:.1f} independent ones",
      NameOfStraggler(row), FormatTime(low), FormatTime(high), ChanceText(row.p_adjusted), row.steps.value, row.n_eff));
}

}  // namespace

void StragglersSection(const std::vector<report::StragglerRow>& rows, TextPage& page) {
  using Row = report::StragglerRow;
  page.Heading("stragglers", "late again and again, and worth mending");
  page.Table(rows,
             {{"who", NameOfStraggler},
              {"host", &Row::host, CellKind::kText, 2},
              {"kind", KindText},
              {"cost/step", &Row::effect_ns_per_step, CellKind::kTime},
              {"saves/step", &Row::saving_ns_per_step, CellKind::kTime},
              {"saves", &Row::saving_ratio, CellKind::kPercent},
              {"in steps", &Row::persistence, CellKind::kPercent, 1},
              {"because", MainCause}},
             "(nobody)");
  if (rows.empty()) return;
  WriteFirst(rows.front(), page);
  WriteLosses(rows, page);
  WriteAfterOthers(rows, page);
}

}  // namespace lockstep
