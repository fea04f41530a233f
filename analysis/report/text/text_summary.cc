// The summary: what a tired engineer reads first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/report/text/text_headline.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

constexpr size_t kLabelWidth = 6;

std::string HowSure(double confidence) {
  const std::string_view word = confidence >= 0.95 ? "certain" : confidence >= 0.8 ? "fairly" : "not sure";
  return fmt::format("{} ({})", word, FormatPercent(confidence));
}

// How often it is late; "" where that was not tested.
std::string HowOften(const report::Culprit& culprit) {
  const std::string recurrence = culprit.recurrence.value_or("");
  const std::string steps = Cell(culprit.steps).Text();
  if (recurrence == "once") return "once: nothing says that it comes back";
  if (recurrence == "irregular") return "in no rhythm: most of the waiting all the same";
  if (recurrence == "undecided") return "too few steps to say that it comes back";
  if (recurrence == "periodic") return fmt::format("every {} of {} steps", Cell(culprit.period_steps).Text(), steps);
  if (!culprit.persistence || recurrence.empty()) return "";
  const std::string often = fmt::format("in {} of {} steps", FormatPercent(culprit.persistence), steps);
  if (recurrence == "bursty") return often + ", in bursts";
  return recurrence == "random" ? often + ", without an order" : often;
}

std::string CauseWords(const report::Culprit& culprit) {
  const std::string cause = culprit.cause.value_or("");
  const std::string kernel = ShortenKernel(Printable(culprit.kernel.value_or("")), 40);
  const std::string excess = culprit.excess_ratio ? FormatPercent(culprit.excess_ratio) + " " : "";
  if (cause == "slow_compute") return "the same work takes it longer than the others";
  if (cause == "slow_device") return fmt::format("all its kernels run {}slower than the others'", excess);
  if (cause == "slow_kernel") return fmt::format("its kernel {} runs {}slower than the others'", kernel, excess);
  if (cause == "more_work") {
    const std::string of_kernel = kernel.empty() ? "" : fmt::format(" (kernel {})", kernel);
    return fmt::format("it has {}more to compute than the others{}", excess, of_kernel);
  }
  if (cause == "more_data")
    return "its part of uneven exchanges takes longer: it sends or receives more than the others";
  if (cause == "host_delay") return "its host launches late: its device waits for its own host";
  if (cause == "host_pause") return "its host stops for long now and then";
  if (cause == "copies") return "its copies keep it busy";
  if (cause == "transfer") return "its transfers are slower than those of equal groups: a link or rail";
  if (cause == "dependency") return "it waits for other work of its own";
  return cause.empty() ? "the traces do not tell" : cause;
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
  if (culprit.ranks.size() > 1) return fmt::format("{} ranks on several hosts", culprit.ranks.size());
  return "host and GPU are not in the trace";
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
    return reason.empty() ? "" : fmt::format("not told: {}", reason);
  }
  if (culprit.saving_after_others_ratio) {
    return fmt::format("none alone, because the others wait for somebody slower; {} of each step once those are mended",
                       FormatPercent(culprit.saving_after_others_ratio));
  }
  std::string text = FormatPercent(culprit.saving_ratio);
  if (const auto& interval = culprit.saving_interval_ratio) {
    text += fmt::format(" of each step ({} to {})", FormatPercent(interval->first), FormatPercent(interval->second));
  }
  return text + " if it were as the others";
}

// Durations alone contradict the finding; "" where they agree or cannot tell.
std::string DoubtText(const report::Culprit& culprit) {
  return culprit.frontier == "disagrees" ? ", durations alone point elsewhere" : "";
}

void WriteCulprit(const report::Culprit& culprit, TextPage& page) {
  const std::string often = HowOften(culprit);
  page.Item("sure", kLabelWidth,
            fmt::format("{}{}{}{}", HowSure(culprit.confidence), often.empty() ? "" : ", ", often, DoubtText(culprit)));
  page.Item("where", kLabelWidth, WhereText(culprit));
  if (culprit.rank_source == "assumed") {
    page.Item("whose", kLabelWidth,
              fmt::format("the number of the rank is assumed: it is device {} of {}", Cell(culprit.device).Text(),
                          culprit.path.value_or("")));
  }
  page.Item("why", kLabelWidth, CauseWords(culprit));
  if (const auto& stretch = culprit.stretch_ns; stretch && culprit.recurrence != "once") {
    page.Item("when", kLabelWidth,
              fmt::format("nearly all from {} to {} after the run's start", FormatTime(stretch->first),
                          FormatTime(stretch->second)));
  }
  if (const std::string worst = WorstText(culprit); !worst.empty()) page.Item("worst", kLabelWidth, worst);
  if (const std::string gain = GainText(culprit); !gain.empty()) page.Item("gain", kLabelWidth, gain);
}

void WriteCulprits(const std::vector<report::Culprit>& culprits, TextPage& page) {
  WriteCulprit(culprits.front(), page);
  for (size_t i = 1; i < culprits.size(); ++i) {
    const report::Culprit& next = culprits[i];
    page.Item("then", kLabelWidth,
              fmt::format("{}: {} ({}), {}; {}", NameOfCulprit(next), FormatTime(next.caused_wait_total_ns),
                          FormatPercent(next.share_of_wait_ratio), HowSure(next.confidence), WhereText(next)));
  }
}

// What the devices mostly do where they work, by name "compute", which counts copies.
std::string_view WorkText(bool of_copies, bool of_ranges) {
  if (of_copies && of_ranges)
    return "What the ranges launch mostly copies: less data, or copies under compute, help most.";
  if (of_copies) return "The devices mostly copy: less data, or copies under compute, help most.";
  if (of_ranges) return "What the ranges launch mostly computes: faster kernels help most.";
  return "The devices mostly compute: faster kernels help most.";
}

// `of_ranges`: under --nvtx, where the verdict is of what the ranges launched.
std::string_view VerdictText(const report::Summary& summary, bool of_ranges) {
  const std::string& verdict = summary.verdict;
  const report::TimeShares& share = summary.time_share;
  if (verdict == "skew") return "Communication is mostly waiting for late ranks, not moving data.";
  if (verdict == "transfer") return "Communication is mostly moving data, not waiting for late ranks.";
  if (verdict == "mixed") return "Communication is partly waiting for late ranks, partly moving data.";
  if (verdict == "compute") return WorkText(share.copy_ratio.value_or(0) > share.compute_ratio.value_or(0), of_ranges);
  if (verdict == "host") return "The devices mostly wait for their hosts to launch.";
  return "What bounds the run cannot be told from these traces.";
}

// The one class of workload that the verdict does not tell.
void WriteMemoryBound(const report::Workload& workload, TextPage& page) {
  if (workload.kind != "memory") return;
  page.Line(fmt::format("Their work is bound by memory: {} of the kernel time moves data, by the kernels' names.",
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
     {&report::TimeShares::exposed_wait_ratio, "waiting for a later rank"},
     {&report::TimeShares::exposed_transfer_ratio, "transferring, nothing else running"},
     {&report::TimeShares::exposed_unresolved_ratio, "communicating, wait or transfer untold"},
     {&report::TimeShares::copy_ratio, "copying, nothing else running"},
     {&report::TimeShares::opaque_ratio, "inside CUDA graphs traced as a whole"},
     {&report::TimeShares::idle_ratio, "idle", true}}};

void WriteTimeShare(const report::TimeShares& share, TextPage& page) {
  constexpr double kBar = 46;
  page.Heading("where the rank-time goes", "common window of all ranks");
  bool any = false;
  for (const PartOfTime& part : kPartsOfTime) {
    const std::optional<double> ratio = share.*part.ratio;
    if (!ratio || (*ratio == 0 && !part.always)) continue;
    const double length = std::clamp(std::nearbyint(*ratio * kBar), 0.0, kBar);
    const std::string line =
        fmt::format("  {:<39}{:>6.1f} %  {}", part.label, 100 * *ratio, std::string(static_cast<size_t>(length), '#'));
    page.Raw(std::string_view(line).substr(0, line.find_last_not_of(' ') + 1));
    any = true;
  }
  if (!any) page.Line("not known: no device activity that all ranks have", 2, 0, Emphasis::kFaint);
}

void WriteWorstCollectives(const std::vector<report::WorstCollective>& rows, TextPage& page) {
  using Row = report::WorstCollective;
  if (rows.empty()) return;
  page.Heading("worst collectives", "by waiting of all members");
  page.Table(rows, {{"group", &Row::communicator_id},
                    {"operation", &Row::op},
                    {"message", &Row::bytes, CellKind::kBytes},
                    {"waiting", &Row::wait_total_ns, CellKind::kTime},
                    {"verdict", &Row::verdict}});
}

// Those that would not be shown as 0.0 %.
void WriteWorstTails(std::vector<report::WorstTail> rows, TextPage& page) {
  using Row = report::WorstTail;
  std::erase_if(rows, [](const Row& row) { return row.tail_score < 0.0005; });
  if (rows.empty()) return;
  page.Heading("worst tails", "rank-time lost in instances over twice the median");
  page.Table(rows, {{"lost", &Row::tail_score, CellKind::kPercent},
                    {"rank", &Row::rank, CellKind::kNumber},
                    {"kernel", &Row::name, CellKind::kKernel}});
}

void WriteProblems(const std::vector<report::Problem>& problems, TextPage& page) {
  if (problems.empty()) return;
  page.Heading("problems of the data");
  for (const report::Problem& problem : problems) {
    page.Line(fmt::format("{}: {}", problem.gate, problem.detail), 2, 2, Emphasis::kBad);
    if (!problem.fix.empty()) page.Line(fmt::format("fix: {}", problem.fix), 4, 5);
  }
}

void WriteNext(const std::vector<std::string>& next, TextPage& page) {
  if (next.empty()) return;
  page.Heading("look next at");
  for (const std::string& line : next) page.Line(line, 2, 4);
}

}  // namespace

void SummarySection(const report::Summary& summary, const report::Run& run, TextPage& page) {
  page.Raw("");
  WriteHeadline(summary, run, page);
  if (!summary.culprits.empty()) WriteCulprits(summary.culprits, page);
  page.Line(VerdictText(summary, run.analysed && run.analysed->nvtx), 0, 2);
  WriteMemoryBound(summary.workload, page);
  WriteTimeShare(summary.time_share, page);
  WriteWorstCollectives(summary.worst_collectives, page);
  WriteWorstTails(summary.worst_tails, page);
  WriteProblems(summary.problems, page);
  WriteNext(summary.next, page);
}

}  // namespace lockstep
