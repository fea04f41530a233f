// stragglers[].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

// "rank 3", but "rail 2" as it is.
std::string WhoText(const Json& row) {
  const std::string& scope = TextOf(FieldOf(row, "scope"));
  const std::string id = PlainText(FieldOf(row, "id"));
  return id.rfind(scope, 0) == 0 ? id : fmt::format("{} {}", scope, id);
}

std::string KindText(const Json& row) {
  const std::string& kind = TextOf(FieldOf(row, "kind"));
  const Json& period = FieldOf(row, "period_steps");
  return period.is_number() ? fmt::format("{} ({})", kind, PlainText(period)) : kind;
}

Json StragglerRows(const Json& view) {
  Json rows = RowsOf(view);
  for (Json& row : rows) {
    const Json& parts = ListOf(row, "parts");
    const Json cause = parts.empty() ? Json(nullptr) : FieldOf(parts[0], "cause");
    const std::string who = WhoText(row);
    const std::string kind = KindText(row);
    row["cause"] = cause;
    row["who"] = who;
    row["kind"] = kind;
  }
  return rows;
}

std::string FrontierText(const Json& row) {
  const std::string& answer = TextOf(FieldOf(row, "frontier"));
  if (answer == "agrees") return "durations alone, without any clock, say the same";
  if (answer == "disagrees") return "but durations alone, without any clock, point elsewhere: take it as not sure";
  return "durations alone, without any clock, cannot tell";
}

// What the others lost to each of the foremost, and whether it is told without clocks too.
void WriteLosses(const Json& rows, TextPage& page) {
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < rows.size() && i < kMost; ++i) {
    const Json& lost = FieldOf(rows[i], "blamed_wait_ns");
    if (!lost.is_number()) continue;
    page.Line(fmt::format("{}: the others lost {} of GPU time to it, {} on the critical path; {}", WhoText(rows[i]),
                          FormatTime(lost), FormatTime(FieldOf(rows[i], "blamed_critical_ns")), FrontierText(rows[i])));
  }
}

// Behind a slower one it saves nothing until that is mended.
void WriteAfterOthers(const Json& rows, TextPage& page) {
  for (const Json& row : rows) {
    const Json& after = FieldOf(row, "saving_after_others_ratio");
    if (!after.is_number()) continue;
    page.Line(
        fmt::format("{}: mending it alone saves nothing, because the others wait for somebody slower; once those "
                    "named before it are mended, it saves {} of each step",
                    WhoText(row), FormatPercent(after)));
  }
}

// Of how many runs without a straggler one looks like this.
std::string ChanceText(double p) {
  if (p < 1e-6) return "fewer than one in a million such runs";
  return fmt::format("at most one in {:.0f} such runs", std::floor(1 / std::min(p, 1.0)));
}

// What stands behind the first of them, in a line.
void WriteFirst(const Json& row, TextPage& page) {
  const Json& interval = ListOf(row, "confidence_interval_ns");
  const Json& p = FieldOf(row, "p_adjusted");
  if (interval.size() != 2 || !p.is_number()) return;
  page.Line(fmt::format(
      "{}: between {} and {} a step (95 %), by chance in {}; its {} steps are worth {:.1f} independent ones",
      WhoText(row), FormatTime(interval[0]), FormatTime(interval[1]), ChanceText(RealOf(p).value_or(1)),
      PlainText(FieldOf(row, "steps")), RealOf(FieldOf(row, "n_eff")).value_or(0)));
}

}  // namespace

void StragglersSection(const Json& view, TextPage& page) {
  page.Heading("stragglers", "late again and again, and worth mending");
  page.Table(StragglerRows(view),
             {{"who", "who", CellKind::kText},
              {"host", "host", CellKind::kText, 2},
              {"kind", "kind", CellKind::kText},
              {"cost/step", "effect_ns_per_step", CellKind::kTime},
              {"saves/step", "saving_ns_per_step", CellKind::kTime},
              {"saves", "saving_ratio", CellKind::kPercent},
              {"in steps", "persistence", CellKind::kPercent, 1},
              {"because", "cause", CellKind::kText}},
             "(nobody)");
  if (!view.is_array() || view.empty()) return;
  WriteFirst(view[0], page);
  WriteLosses(view, page);
  WriteAfterOthers(view, page);
}

}  // namespace lockstep
