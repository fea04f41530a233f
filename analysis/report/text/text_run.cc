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

void WriteCaptures(const Json& captures, TextPage& page) {
  const Json& all = ListOf(captures, "all");
  if (all.size() < 2) return;
  const int64_t chosen = IntegerOf(FieldOf(captures, "chosen")).value_or(0);
  std::string times;
  constexpr size_t kMost = 4;
  for (size_t k = 0; k < all.size() && k < kMost; ++k) {
    times += fmt::format("{}{} from {} ({})", k == 0 ? "" : "; ", k, FormatUtc(FieldOf(all[k], "start_unix_ns")),
                         Plural(IntegerOf(FieldOf(all[k], "ranks")).value_or(0), "rank"));
  }
  if (all.size() > kMost) times += fmt::format("; and {} more", all.size() - kMost);
  const bool asked = FieldOf(captures, "asked") == true;
  page.Line(fmt::format("{} captures of the run: {}. Analysed is {}{}; --capture K chooses another one.", all.size(),
                        times, chosen, asked ? "" : ", the last that most ranks have"),
            0, 2, Emphasis::kBad);
}

void WriteLeftOut(const Json& left_out, TextPage& page) {
  const int64_t count = IntegerOf(FieldOf(left_out, "count")).value_or(0);
  if (count == 0) return;
  const std::string more = count == 1 ? "" : fmt::format(" ({} more: --view quality)", count - 1);
  page.Line(
      fmt::format("left out: {}: {}{}", TextOf(FieldOf(left_out, "path")), TextOf(FieldOf(left_out, "reason")), more),
      0, 2);
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
  WriteCaptures(FieldOf(run, "captures"), page);
  WriteLeftOut(FieldOf(run, "left_out"), page);
  if (const Json& apart = FieldOf(run, "clocks_apart_ns"); apart.is_number()) {
    page.Line(fmt::format(
                  "The traces claim times that lie {} apart. They are taken as one run whose clocks are wrong, because "
                  "together they are all its ranks; if they are two recordings, analyse each by itself.",
                  FormatTime(apart)),
              0, 2, Emphasis::kBad);
  }
  const Json& analysed = FieldOf(run, "analysed");
  if (analysed.is_object() && !analysed.empty()) page.Line(fmt::format("only {}", AnalysedText(analysed)), 0, 2);
}

}  // namespace lockstep
