// stragglers[].
#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/rank_list.h"
#include "analysis/base/unit_text.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/report/rows/stragglers.h"
#include "analysis/report/text/text_headline.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

// "rank 3", but "rail 2" as it is.
std::string NameOfStraggler(const report::StragglerRow& row) {
  if (row.name) return fmt::format("group {} ({})", *row.name, FoldedRanks(row.ranks, 4));
  return row.id.rfind(row.scope, 0) == 0 ? row.id : fmt::format("{} {}", row.scope, row.id);
}

std::string KindText(const report::StragglerRow& row) {
  return row.period_steps ? fmt::format("every {} steps", Cell(row.period_steps).Text()) : row.kind;
}

// "host delay"
Cell MainCause(const report::StragglerRow& row) {
  if (row.parts.empty()) return {};
  std::string cause = row.parts.front().cause;
  std::replace(cause.begin(), cause.end(), '_', ' ');
  return cause;
}

std::string FrontierText(const report::StragglerRow& row) {
  if (row.frontier == "agrees") return "the durations alone, without any clock, confirm it";
  if (row.frontier == "disagrees") {
    return "but the durations alone, without any clock, point elsewhere, so it is uncertain";
  }
  return "the durations alone, without any clock, do not decide it";
}

// What the others lost to each of the foremost, and whether that is confirmed without clocks.
void WriteLosses(const std::vector<report::StragglerRow>& rows, TextPage& page) {
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < rows.size() && i < kMost; ++i) {
    const report::StragglerRow& row = rows[i];
    if (!row.blamed_wait_ns) continue;
    page.Line(fmt::format(
        "{}: the others lost {} of GPU time to it, and it delayed collectives by {}, summed over all "
        "groups; {}",
        NameOfStraggler(row), FormatTime(row.blamed_wait_ns), FormatTime(row.blamed_critical_ns), FrontierText(row)));
  }
}

// Behind a slower one it saves nothing until that is fixed.
void WriteAfterOthers(const std::vector<report::StragglerRow>& rows, TextPage& page) {
  for (const report::StragglerRow& row : rows) {
    if (!row.saving_after_others_ratio) continue;
    page.Line(
        fmt::format("{}: fixing it alone saves little or nothing, because the others also wait for another one; once "
                    "that is fixed, it saves {} of each step",
                    NameOfStraggler(row), FormatPercent(row.saving_after_others_ratio)));
  }
}

// In how many runs without a straggler one looks like this.
std::string ChanceText(double p) {
  if (p < 1e-6) return "fewer than one of a million runs";
  return fmt::format("at most one of {} runs", CountText(static_cast<int64_t>(1 / std::min(p, 1.0))));
}

// The evidence for the first of them, in a line.
void WriteFirst(const report::StragglerRow& row, TextPage& page) {
  const auto& [low, high] = row.confidence_interval_ns;
  page.Line(fmt::format("{}: late by {} to {} a {} (95 % confidence), in {} {}{}; chance alone would show this in {}",
                        NameOfStraggler(row), FormatTime(low), FormatTime(high), row.block_ns ? "block" : "step",
                        CountText(row.steps.value), StepsWord(row.block_ns), WorthText(row.steps.value, row.n_eff),
                        ChanceText(row.p_adjusted)));
}

// What no row means: too little data is not the same as nobody.
std::string_view NothingText(const std::vector<report::NoticeRow>& notices, const report::Summary* summary) {
  const bool told_so = std::any_of(notices.begin(), notices.end(), [](const report::NoticeRow& notice) {
    return notice.view == kStragglersView && notice.reason.rfind("not enough data", 0) == 0;
  });
  if (told_so || (summary != nullptr && summary->decided == false)) return "(not enough data to decide)";
  const bool leads = std::any_of(notices.begin(), notices.end(), [](const report::NoticeRow& notice) {
    return notice.view == kStragglersView && notice.reason == report::kOnlyOfCompared;
  });
  return leads ? "(no one in what can be compared)" : "(no one is late again and again)";
}

// How one that is no straggler is late all the same.
std::string_view OtherwiseLate(const report::Culprit& culprit) {
  if (culprit.cause == "more_data") return "is late because it moves more data";
  if (culprit.recurrence == "once") return "was late once";
  if (culprit.recurrence == "irregular") return "is late without a rhythm that this test finds";
  return "is late in too few steps to tell whether it recurs";
}

// Those that the summary names although they are not late again and again.
void WriteNamedOtherwise(const std::vector<report::StragglerRow>& rows, const report::Summary& summary,
                         TextPage& page) {
  for (const report::Culprit& culprit : summary.culprits) {
    const bool is_row = std::any_of(rows.begin(), rows.end(), [&](const report::StragglerRow& row) {
      return row.scope == culprit.scope && row.id == culprit.id;
    });
    if (is_row) continue;
    page.Line(fmt::format("{}, which the summary names, {}.", NameOfCulprit(culprit), OtherwiseLate(culprit)));
  }
}

// Where something speaks for somebody else, what is certain is the lateness alone.
void WriteDoubts(const std::vector<report::StragglerRow>& rows, TextPage& page) {
  constexpr double kSure = 0.8;
  for (const report::StragglerRow& row : rows) {
    if (!row.confidence || *row.confidence >= kSure) continue;
    page.Line(fmt::format("{}: that it is late is certain; that the others wait for it is not ({})",
                          NameOfStraggler(row), FormatPercent(row.confidence)));
  }
}

}  // namespace

void StragglersSection(const std::vector<report::StragglerRow>& rows, const std::vector<report::NoticeRow>& notices,
                       const report::Summary* summary, TextPage& page) {
  using Row = report::StragglerRow;
  page.Heading("stragglers", "late again and again, and worth fixing");
  page.Table(rows,
             {{"who", NameOfStraggler},
              {"host", &Row::host, CellKind::kText, 2},
              {"kind", KindText},
              {"late/step", &Row::effect_ns_per_step, CellKind::kTime},
              {"saving/step", &Row::saving_ns_per_step, CellKind::kTime},
              {"saving", &Row::saving_ratio, CellKind::kPercent},
              {"late steps", &Row::persistence, CellKind::kPercent, 1},
              {"cause", MainCause}},
             NothingText(notices, summary));
  if (!rows.empty()) WriteFirst(rows.front(), page);
  WriteLosses(rows, page);
  WriteDoubts(rows, page);
  WriteAfterOthers(rows, page);
  if (summary != nullptr) WriteNamedOtherwise(rows, *summary, page);
  for (const report::NoticeRow& notice : notices) {
    if (notice.view == kStragglersView) page.Line(notice.reason, 2, 2);
  }
}

}  // namespace lockstep
