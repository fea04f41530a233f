// The head of every text output: which run, what of it is here, what was restricted.
#include <fmt/format.h>

#include "analysis/base/rank_list.h"
#include "analysis/report/rows/run.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

std::string Plural(int64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string RanksInWords(const report::Run& run) {
  std::string text = Plural(run.ranks, "rank");
  if (run.world_size && *run.world_size != run.ranks) text += fmt::format(" of {}", run.world_size->value);
  if (run.hosts) text += fmt::format(" on {}", Plural(*run.hosts, "host"));
  return text;
}

std::string SelectionInWords(const report::SelectionOfRun& selection) {
  std::string text;
  const auto add = [&](std::string_view what, std::string_view value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, value);
  };
  if (selection.steps) add("steps", fmt::format("{}..{}", selection.steps->first, selection.steps->second));
  if (selection.time) {
    add("time", fmt::format("{}..{}", FormatTime(selection.time->first), FormatTime(selection.time->second)));
  }
  if (selection.ranks) add("ranks", FoldedNumbers(*selection.ranks, 16));
  if (selection.kernels) add("kernels", *selection.kernels);
  if (selection.nvtx) add("nvtx", *selection.nvtx);
  if (selection.capture) {
    add("capture", selection.capture->last ? "last" : fmt::format("{}", selection.capture->number));
  }
  return text;
}

void WriteCaptures(const report::CapturesOfRun& captures, TextPage& page) {
  const std::vector<report::CaptureOfRun>& all = captures.all;
  if (all.size() < 2) return;
  std::string times;
  constexpr size_t kMost = 4;
  for (size_t k = 0; k < all.size() && k < kMost; ++k) {
    times += fmt::format("{}{} from {} ({})", k == 0 ? "" : "; ", k, FormatUtc(all[k].start_unix_ns.value),
                         Plural(all[k].ranks, "rank"));
  }
  if (all.size() > kMost) times += fmt::format("; and {} more", all.size() - kMost);
  page.Line(
      fmt::format("{} captures of the run: {}. Capture {} is analysed{}; --capture K selects another one.", all.size(),
                  times, captures.chosen.value, captures.asked ? "" : ", the last one that most ranks have"),
      0, 2, Emphasis::kBad);
}

void WriteLeftOut(const report::LeftOutOfRun& left_out, TextPage& page) {
  if (left_out.count == 0) return;
  const std::string more =
      left_out.count == 1 ? "" : fmt::format(" ({} more: --view quality)", left_out.count.value - 1);
  page.Line(fmt::format("left out: {}: {}{}", left_out.path, left_out.reason, more), 0, 2);
}

}  // namespace

void RunSection(const report::Run& run, TextPage& page) {
  const std::string utc = FormatUtc(run.start_unix_ns.value);
  page.Line(fmt::format("run {}: {}, {}{}{}{}", run.name, RanksInWords(run), FormatTime(run.span_ns),
                        utc.empty() ? "" : " from ", utc,
                        run.state == "open" && run.missing_ranks.empty() ? " (its traces are not complete)" : ""),
            0, 2, Emphasis::kStrong);
  if (!run.missing_ranks.empty()) {
    page.Line(fmt::format("missing ranks: {}", FoldedNumbers(run.missing_ranks, 16)), 0, 2, Emphasis::kBad);
  }
  if (run.captures) WriteCaptures(*run.captures, page);
  if (run.left_out) WriteLeftOut(*run.left_out, page);
  if (run.clocks_apart_ns) {
    page.Line(fmt::format("The timestamps of the traces are {} apart. They are treated as one run with wrong clocks: "
                          "together they hold all ranks of the job, or --one-run asks for it. If they are separate "
                          "recordings, analyse each one alone.",
                          FormatTime(*run.clocks_apart_ns)),
              0, 2, Emphasis::kBad);
  }
  const std::string selection = run.analysed ? SelectionInWords(*run.analysed) : "";
  if (!selection.empty()) page.Line(fmt::format("selection: {}", selection), 0, 2);
}

}  // namespace lockstep
