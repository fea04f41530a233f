// The head of every text output: which run, what of it is here, what was restricted.
#include <fmt/format.h>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

std::string Plural(int64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string RanksInWords(const Json& run) {
  const auto ranks = IntegerOf(FieldOf(run, "ranks"));
  const auto world = IntegerOf(FieldOf(run, "world_size"));
  const auto hosts = IntegerOf(FieldOf(run, "hosts"));
  if (!ranks) return "no rank known";
  std::string text = Plural(*ranks, "rank");
  if (world && *world != *ranks) text += fmt::format(" of {}", *world);
  if (hosts) text += fmt::format(" on {}", Plural(*hosts, "host"));
  return text;
}

std::string RangeOf(const Json& pair, bool times) {
  if (!pair.is_array() || pair.size() != 2) return PlainText(pair.is_structured() ? Json(nullptr) : pair);
  const auto word = [&](const Json& value) { return times ? FormatTime(value) : PlainText(value); };
  return fmt::format("{}..{}", word(pair[0]), word(pair[1]));
}

std::string ListText(const Json& list) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i == kMost) return fmt::format("{} and {} more", text, list.size() - kMost);
    text += fmt::format("{}{}", i == 0 ? "" : ", ", list[i].is_structured() ? "" : PlainText(list[i]));
  }
  return text;
}

std::string AnalysedText(const Json& analysed) {
  std::string text;
  for (const auto& [key, value] : analysed.items()) {
    const bool range = key == "steps" || key == "time";
    const std::string what = range              ? RangeOf(value, key == "time")
                             : value.is_array() ? ListText(value)
                                                : PlainText(value);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, what);
  }
  return text;
}

}  // namespace

void RunSection(const Json& report, TextPage& page) {
  const Json& run = FieldOf(report, "run");
  if (!run.is_object()) return;
  const std::string utc = FormatUtc(FieldOf(run, "start_unix_ns"));
  const std::string state = TextOf(FieldOf(run, "state"));
  page.Line(fmt::format("run {}: {}, {}{}{}{}", TextOf(FieldOf(run, "name")), RanksInWords(run),
                        FormatTime(FieldOf(run, "span_ns")), utc.empty() ? "" : " from ", utc,
                        state == "open" ? " (still open)" : ""),
            0, 2, Emphasis::kStrong);
  const Json& missing = ListOf(run, "missing_ranks");
  if (!missing.empty()) page.Line(fmt::format("missing ranks: {}", ListText(missing)), 0, 2, Emphasis::kBad);
  const Json& analysed = FieldOf(run, "analysed");
  if (analysed.is_object() && !analysed.empty()) page.Line(fmt::format("only {}", AnalysedText(analysed)), 0, 2);
}

}  // namespace lockstep
