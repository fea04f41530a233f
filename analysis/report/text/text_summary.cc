// The summary: what a tired engineer reads first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/report/text/text_headline.h"
#include "analysis/report/text/text_no_culprit.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

constexpr size_t kLabelWidth = 10;
constexpr double kLeastShown = 0.0005;  // of what would not be shown as 0.0 %

std::string HowSure(double confidence) {
  const std::string_view word = confidence >= 0.95 ? "certain" : confidence >= 0.8 ? "fairly sure" : "not sure";
  return fmt::format("{} ({})", word, FormatPercent(confidence));
}

// How often it is late; "" where that was not tested.
std::string HowOften(const report::Culprit& culprit) {
  const std::string recurrence = culprit.recurrence.value_or("");
  const std::string steps =
      culprit.steps ? fmt::format("{} {}", FormatCount(culprit.steps), StepsWord(culprit.block_ns)) : "";
  if (recurrence == "once") return "seen once, with no sign that it recurs";
  if (recurrence == "irregular") return "irregularly, but it is most of the waiting";
  if (recurrence == "undecided") return "too few steps to tell whether it recurs";
  if (recurrence == "periodic")
    return fmt::format("every {} {}, {} tested", Cell(culprit.period_steps).Text(),
                       culprit.block_ns ? "blocks" : "steps", steps);
  if (!culprit.persistence || recurrence.empty()) return "";
  const std::string often = fmt::format("in {} of {}", FormatPercent(culprit.persistence), steps);
  if (recurrence == "bursty") return often + ", in bursts";
  return recurrence == "random" ? often + ", irregularly" : often;
}

std::string CauseWords(const report::Culprit& culprit) {
  const std::string cause = culprit.cause.value_or("");
  const std::string kernel = ShortenKernel(Printable(culprit.kernel.value_or("")), 40);
  const std::string excess = culprit.excess_ratio ? FormatPercent(culprit.excess_ratio) + " " : "";
  if (cause == "slow_compute") return "the same work takes longer on it than on its peers";
  if (cause == "slow_device") return fmt::format("all its kernels run {}slower than on its peers", excess);
  if (cause == "slow_kernel") return fmt::format("its kernel {} runs {}slower than on its peers", kernel, excess);
  if (cause == "more_work") {
    const std::string of_kernel = kernel.empty() ? "" : fmt::format(" (kernel {})", kernel);
    return fmt::format("it has {}more work to compute than its peers{}", excess, of_kernel);
  }
  if (cause == "more_data") return "it sends or receives more data than its peers in uneven exchanges";
  if (cause == "host_delay") return "its CPU launches kernels late, so its GPU waits for its own host";
  if (cause == "host_pause") return "its host process stops for long times now and then";
  if (cause == "copies") return "its memory copies delay its kernels";
  if (cause == "transfer") return "its transfers are slower than those of equal groups: a slow link or rail";
  if (cause == "dependency") return "it waits for other work of its own";
  return cause.empty() ? "unknown: the traces do not show it" : cause;
}

std::string WhereText(const report::Culprit& culprit) {
  std::string text;
  const auto add = [&](std::string_view word, const std::optional<std::string>& value) {
    if (value && !value->empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", word, *value);
  };
  add("host", culprit.host);
  add("device", culprit.gpu_uuid);
  add("bus", culprit.pci_bus);
  if (!text.empty()) return text;
  if (culprit.ranks.size() > 1) return fmt::format("{} ranks", culprit.ranks.size());
  return "unknown: the traces name no host and no GPU";
}

std::string WorstText(const report::Culprit& culprit) {
  const std::string utc = culprit.worst_at_unix_ns ? FormatUtc(culprit.worst_at_unix_ns->value) : "";
  if (!culprit.worst_at_ns) return utc;
  return fmt::format("{}{}{} after the run's start", utc, utc.empty() ? "" : ", ", FormatTime(culprit.worst_at_ns));
}

// "" where there is no saving and no reason for that.
std::string GainText(const report::Culprit& culprit) {
  if (!culprit.saving_ratio) {
    const std::string reason = culprit.saving_reason.value_or("");
    return reason.empty() ? "" : fmt::format("unknown: {}", reason);
  }
  if (culprit.saving_after_others_ratio) {
    const bool some = culprit.saving_ratio >= kLeastShown;
    return fmt::format("{} by itself, because the others also wait for another one; {} of each step once that is fixed",
                       some ? FormatPercent(culprit.saving_ratio) : "none",
                       FormatPercent(culprit.saving_after_others_ratio));
  }
  if (culprit.saving_ratio < kLeastShown) return "none: replayed without its delay, the run takes as long";
  std::string text = FormatPercent(culprit.saving_ratio);
  if (const auto& interval = culprit.saving_interval_ratio) {
    text += fmt::format(" of each step ({} to {})", FormatPercent(interval->first), FormatPercent(interval->second));
  }
  return text +
         (culprit.cause == "more_data" ? " if it moved as much as its peers" : " if it were as fast as its peers");
}

// The same of those that are told in one line; "" where none is known.
std::string SavingOfNext(const report::Culprit& culprit) {
  if (culprit.saving_after_others_ratio) {
    return fmt::format("; saving {} once the others are fixed", FormatPercent(culprit.saving_after_others_ratio));
  }
  if (!culprit.saving_ratio) return "";
  return fmt::format("; saving {}", culprit.saving_ratio < kLeastShown ? "none" : FormatPercent(culprit.saving_ratio));
}

// Durations alone contradict the finding; "" where they agree or cannot tell.
std::string DoubtText(const report::Culprit& culprit) {
  return culprit.frontier == "disagrees" ? ", but durations without clocks point to another rank" : "";
}

void WriteCulprit(const report::Culprit& culprit, TextPage& page) {
  const std::string often = HowOften(culprit);
  page.Item("confidence", kLabelWidth,
            fmt::format("{}{}{}{}", HowSure(culprit.confidence), often.empty() ? "" : ", ", often, DoubtText(culprit)));
  page.Item("where", kLabelWidth, WhereText(culprit));
  if (culprit.rank_source == "assumed") {
    page.Item("number", kLabelWidth,
              fmt::format("the rank number is assumed: it is device {} of {}", Cell(culprit.device).Text(),
                          culprit.path.value_or("")));
  }
  page.Item("cause", kLabelWidth, CauseWords(culprit));
  if (const auto& stretch = culprit.stretch_ns; stretch && culprit.recurrence != "once") {
    page.Item("when", kLabelWidth,
              fmt::format("nearly all from {} to {} after the run's start",
                          FormatTime(std::max<int64_t>(0, stretch->first)), FormatTime(stretch->second)));
  }
  if (const std::string worst = WorstText(culprit); !worst.empty()) page.Item("worst wait", kLabelWidth, worst);
  if (const std::string gain = GainText(culprit); !gain.empty()) page.Item("saving", kLabelWidth, gain);
}

void WriteCulprits(const std::vector<report::Culprit>& culprits, TextPage& page) {
  WriteCulprit(culprits.front(), page);
  for (size_t i = 1; i < culprits.size(); ++i) {
    const report::Culprit& next = culprits[i];
    page.Item("then", kLabelWidth,
              fmt::format("{}: {} ({}), {}; {}{}", NameOfCulprit(next), FormatTime(next.caused_wait_total_ns),
                          FormatPercent(next.share_of_wait_ratio), HowSure(next.confidence), WhereText(next),
                          SavingOfNext(next)));
  }
}

// What the devices mostly do where they work, by name "compute", which counts copies.
std::string_view WorkText(bool of_copies, bool of_ranges) {
  if (of_copies && of_ranges)
    return "The ranges launch mostly copies: moving less data, or copying during compute, would help most.";
  if (of_copies) return "The GPUs mostly copy: moving less data, or copying during compute, would help most.";
  if (of_ranges) return "The ranges launch mostly compute: faster kernels would help most.";
  return "The GPUs mostly compute: faster kernels would help most.";
}

// What communication does, with the shares that the block below shows.
std::string CommunicationText(std::string_view what, const report::Summary& summary) {
  const report::TimeShares& share = summary.time_share;
  return fmt::format("{} is {}: {} of GPU time is exposed waiting, {} exposed transfer.",
                     RestsOnAllRanks(summary) ? "If these are all ranks, communication" : "Communication", what,
                     FormatPercent(share.exposed_wait_ratio.value_or(0)),
                     FormatPercent(share.exposed_transfer_ratio.value_or(0)));
}

// `of_ranges`: under --nvtx, where the verdict is of what the ranges launched.
std::string VerdictText(const report::Summary& summary, bool of_ranges) {
  const std::string& verdict = summary.verdict;
  const report::TimeShares& share = summary.time_share;
  if (verdict == "skew") return CommunicationText("mostly waiting for late ranks, not moving data", summary);
  if (verdict == "transfer") return CommunicationText("mostly moving data, not waiting for late ranks", summary);
  if (verdict == "mixed") return CommunicationText("partly waiting for late ranks, partly moving data", summary);
  if (verdict == "compute") {
    return std::string(WorkText(share.copy_ratio.value_or(0) > share.compute_ratio.value_or(0), of_ranges));
  }
  if (verdict == "host") {
    return fmt::format("The GPUs are idle {} of the time, mostly because their hosts launch kernels too late.",
                       FormatPercent(share.idle_ratio.value_or(0)));
  }
  constexpr double kMostly = 0.5;
  if (share.opaque_ratio.value_or(0) > kMostly) {
    return "The GPUs mostly run CUDA graphs whose kernels are not in the trace, so what limits the run is unknown.";
  }
  if (share.idle_ratio.value_or(0) > kMostly) {
    return fmt::format("The GPUs are idle {} of the time, and the traces do not show why.",
                       FormatPercent(share.idle_ratio));
  }
  return "These traces do not show what limits the run.";
}

// The one class of workload that the verdict does not tell.
void WriteMemoryBound(const report::Workload& workload, TextPage& page) {
  if (workload.kind != "memory") return;
  page.Line(fmt::format("The work is memory-bound: judged by kernel names, {} of the kernel time moves data.",
                        FormatPercent(workload.memory_ratio.value_or(0))),
            0, 2);
}

struct PartOfTime {
  std::optional<double> report::TimeShares::*ratio;
  std::string_view label;
  bool always = false;  // shown also where it is nothing
};
constexpr std::array<PartOfTime, 7> kPartsOfTime = {
    {{&report::TimeShares::compute_ratio, "computing", true},
     {&report::TimeShares::exposed_wait_ratio, "waiting for a later rank (exposed)"},
     {&report::TimeShares::exposed_transfer_ratio, "transferring (exposed)"},
     {&report::TimeShares::exposed_unresolved_ratio, "waiting or transferring, not separable"},
     {&report::TimeShares::copy_ratio, "copying (exposed)"},
     {&report::TimeShares::opaque_ratio, "in CUDA graphs traced as a whole"},
     {&report::TimeShares::idle_ratio, "idle", true}}};

void WriteTimeShare(const report::Summary& summary, TextPage& page) {
  const report::TimeShares& share = summary.time_share;
  // As long as the page leaves room for, next to labels and numbers.
  const double bar = std::clamp(page.options().width - 54, 10, 60);
  page.Heading("where the GPU time goes",
               summary.window ? WindowText(*summary.window) : "in the time that all ranks have in common");
  bool any = false;
  for (const PartOfTime& part : kPartsOfTime) {
    const std::optional<double> ratio = share.*part.ratio;
    if (!ratio || (*ratio == 0 && !part.always)) continue;
    const double length = std::clamp(std::nearbyint(*ratio * bar), 0.0, bar);
    const std::string line =
        fmt::format("  {:<39}{:>6.1f} %  {}", part.label, 100 * *ratio, std::string(static_cast<size_t>(length), '#'));
    page.Raw(std::string_view(line).substr(0, line.find_last_not_of(' ') + 1));
    any = true;
  }
  if (!any) page.Line("unknown: there is no time in which all ranks have device activity", 2, 0, Emphasis::kFaint);
}

void WriteWorstCollectives(const std::vector<report::WorstCollective>& rows, TextPage& page) {
  using Row = report::WorstCollective;
  if (rows.empty()) return;
  page.Heading("worst collectives", "by waiting of all members");
  page.Table(rows, {{"group", [](const Row& row) { return row.name.value_or(row.communicator_id); }},
                    {"operation", &Row::op},
                    {"message", &Row::bytes, CellKind::kBytes},
                    {"waiting", &Row::wait_total_ns, CellKind::kTime},
                    {"verdict", &Row::verdict}});
}

// A long collective is mostly a long wait: then not the rank with the tail is to blame.
Cell Because(const report::WorstTail& tail) {
  if (tail.waits_for_rank) return fmt::format("waiting for rank {}", *tail.waits_for_rank);
  return tail.waits ? Cell("waiting for a later rank") : Cell();
}

// Those that would not be shown as 0.0 %.
void WriteWorstTails(std::vector<report::WorstTail> rows, TextPage& page) {
  using Row = report::WorstTail;
  std::erase_if(rows, [](const Row& row) { return row.tail_score < kLeastShown; });
  if (rows.empty()) return;
  page.Heading("worst tails", "GPU time lost in instances longer than twice the median");
  page.Table(rows, {{"lost", &Row::tail_score, CellKind::kPercent},
                    {"top rank", &Row::rank, CellKind::kNumber},
                    {"because", [](const Row& row) { return Because(row); }},
                    {"kernel", &Row::name, CellKind::kKernel}});
}

void WriteProblems(const std::vector<report::Problem>& problems, TextPage& page) {
  if (problems.empty()) return;
  page.Heading("problems in the data");
  for (const report::Problem& problem : problems) {
    page.Line(fmt::format("{}: {}", problem.gate, problem.detail), 2, 2, Emphasis::kBad);
    if (!problem.fix.empty()) page.Line(fmt::format("fix: {}", problem.fix), 4, 5);
  }
}

void WriteNext(const std::vector<std::string>& next, TextPage& page) {
  if (next.empty()) return;
  page.Heading("next");
  for (const std::string& line : next) page.Line(line, 2, 4);
}

// The step time of the job, which people compare first.
void WriteStepTime(const report::Summary& summary, TextPage& page) {
  const std::optional<report::Percentiles>& step_ns = summary.step_ns;
  if (!step_ns || step_ns->count == 0) return;
  if (step_ns->count == 1) return page.Line(fmt::format("step time: {} (1 step)", FormatTime(step_ns->max)), 0, 2);
  std::string text = fmt::format("step time: {} longest", FormatTime(step_ns->max));
  if (step_ns->p90)
    text = fmt::format("step time: {} median, {} p90, {} longest", FormatTime(step_ns->p50), FormatTime(step_ns->p90),
                       FormatTime(step_ns->max));
  else if (step_ns->p50)
    text = fmt::format("step time: {} median, {} longest", FormatTime(step_ns->p50), FormatTime(step_ns->max));
  const std::string_view whose = summary.steps_by_rank ? " (each rank numbers its own, and all are counted)" : "";
  page.Line(fmt::format("{} of {} steps{}", text, FormatCount(step_ns->count), whose), 0, 2);
}

}  // namespace

void SummarySection(const report::Summary& summary, const report::Run& run, TextPage& page) {
  WriteStepTime(summary, page);
  page.Raw("");
  WriteHeadline(summary, run, page);
  if (!summary.culprits.empty()) WriteCulprits(summary.culprits, page);
  WriteWhoLooksLate(summary, page);
  page.Line(VerdictText(summary, run.analysed && run.analysed->nvtx), 0, 2);
  WriteMemoryBound(summary.workload, page);
  WriteTimeShare(summary, page);
  WriteWorstCollectives(summary.worst_collectives, page);
  WriteWorstTails(summary.worst_tails, page);
  WriteProblems(summary.problems, page);
  WriteNext(summary.next, page);
}

}  // namespace lockstep
