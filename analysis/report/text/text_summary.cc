// The summary: what a tired engineer reads first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/report/json.h"
#include "analysis/report/text/text_headline.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

constexpr size_t kLabelWidth = 6;

std::string HowSure(const Json& confidence) {
  const auto value = RealOf(confidence);
  if (!value) return "not known";
  const std::string_view word = *value >= 0.95 ? "certain" : *value >= 0.8 ? "fairly" : "not sure";
  return fmt::format("{} ({})", word, FormatPercent(*value));
}

// How often it is late; "" where that was not tested.
std::string HowOften(const Json& culprit) {
  const std::string& recurrence = TextOf(FieldOf(culprit, "recurrence"));
  const std::string steps = PlainText(FieldOf(culprit, "steps"));
  const auto share = RealOf(FieldOf(culprit, "persistence"));
  if (recurrence == "once") return "once: nothing says that it comes back";
  if (recurrence == "irregular") return "in no rhythm: most of the waiting all the same";
  if (recurrence == "undecided") return "too few steps to say that it comes back";
  if (recurrence == "periodic") {
    return fmt::format("every {} of {} steps", PlainText(FieldOf(culprit, "period_steps")), steps);
  }
  if (!share || recurrence.empty()) return "";
  const std::string often = fmt::format("in {} of {} steps", FormatPercent(*share), steps);
  if (recurrence == "bursty") return often + ", in bursts";
  return recurrence == "random" ? often + ", without an order" : often;
}

std::string Slower(const Json& culprit) {
  const auto excess = RealOf(FieldOf(culprit, "excess_ratio"));
  return excess ? fmt::format("{} ", FormatPercent(*excess)) : "";
}

std::string CauseWords(const Json& culprit) {
  const std::string& cause = TextOf(FieldOf(culprit, "cause"));
  const std::string& kernel = TextOf(FieldOf(culprit, "kernel"));
  if (cause == "slow_compute") return "the same work takes it longer than the others";
  if (cause == "slow_device") return fmt::format("all its kernels run {}slower than the others'", Slower(culprit));
  if (cause == "slow_kernel") {
    return fmt::format("its kernel {} runs {}slower than the others'", ShortenKernel(Printable(kernel), 40),
                       Slower(culprit));
  }
  if (cause == "more_work") {
    return fmt::format("it has {}more to compute than the others{}", Slower(culprit),
                       kernel.empty() ? "" : fmt::format(" (kernel {})", ShortenKernel(Printable(kernel), 40)));
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

std::string WhereText(const Json& culprit) {
  std::string text;
  const auto add = [&](std::string_view word, std::string_view key) {
    const std::string& value = TextOf(FieldOf(culprit, key));
    if (!value.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", word, value);
  };
  add("host", "host");
  add("device", "gpu_uuid");
  add("bus", "pci_bus");
  if (!text.empty()) return text;
  const Json& ranks = ListOf(culprit, "ranks");
  if (ranks.size() > 1) return fmt::format("{} ranks on several hosts", ranks.size());
  return "host and GPU are not in the trace";
}

std::string WorstText(const Json& culprit) {
  const Json& at = FieldOf(culprit, "worst_at_ns");
  const std::string utc = FormatUtc(FieldOf(culprit, "worst_at_unix_ns"));
  if (at.is_null()) return utc;
  return fmt::format("{}{}{} after the run's start", utc, utc.empty() ? "" : ", ", FormatTime(at));
}

std::string GainText(const Json& culprit) {
  if (const Json& after = FieldOf(culprit, "saving_after_others_ratio"); after.is_number()) {
    return fmt::format("none alone, because the others wait for somebody slower; {} of each step once those are mended",
                       FormatPercent(after));
  }
  const Json& interval = ListOf(culprit, "saving_interval_ratio");
  std::string text = FormatPercent(FieldOf(culprit, "saving_ratio"));
  if (interval.size() == 2) {
    text += fmt::format(" of each step ({} to {})", FormatPercent(interval[0]), FormatPercent(interval[1]));
  }
  return text + " if it were as the others";
}

// Durations alone contradict the finding; "" where they agree or cannot tell.
std::string DoubtText(const Json& culprit) {
  return TextOf(FieldOf(culprit, "frontier")) == "disagrees" ? ", durations alone point elsewhere" : "";
}

void WriteCulprit(const Json& culprit, TextPage& page) {
  const std::string often = HowOften(culprit);
  page.Item("sure", kLabelWidth,
            fmt::format("{}{}{}{}", HowSure(FieldOf(culprit, "confidence")), often.empty() ? "" : ", ", often,
                        DoubtText(culprit)));
  page.Item("where", kLabelWidth, WhereText(culprit));
  if (TextOf(FieldOf(culprit, "rank_source")) == "assumed") {
    page.Item("whose", kLabelWidth,
              fmt::format("the number of the rank is assumed: it is device {} of {}",
                          PlainText(FieldOf(culprit, "device")), TextOf(FieldOf(culprit, "path"))));
  }
  page.Item("why", kLabelWidth, CauseWords(culprit));
  const bool once = TextOf(FieldOf(culprit, "recurrence")) == "once";
  if (const Json& stretch = ListOf(culprit, "stretch_ns"); stretch.size() == 2 && !once) {
    page.Item(
        "when", kLabelWidth,
        fmt::format("nearly all from {} to {} after the run's start", FormatTime(stretch[0]), FormatTime(stretch[1])));
  }
  const std::string worst = WorstText(culprit);
  if (!worst.empty()) page.Item("worst", kLabelWidth, worst);
  if (FieldOf(culprit, "saving_ratio").is_number()) {
    page.Item("gain", kLabelWidth, GainText(culprit));
  } else if (const std::string reason = TextOf(FieldOf(culprit, "saving_reason")); !reason.empty()) {
    page.Item("gain", kLabelWidth, fmt::format("not told: {}", reason));
  }
}

void WriteCulprits(const Json& culprits, TextPage& page) {
  WriteCulprit(culprits[0], page);
  for (size_t i = 1; i < culprits.size(); ++i) {
    const Json& next = culprits[i];
    page.Item("then", kLabelWidth,
              fmt::format("{}: {} ({}), {}; {}", NameOfCulprit(next), FormatTime(FieldOf(next, "caused_wait_total_ns")),
                          FormatPercent(FieldOf(next, "share_of_wait_ratio")), HowSure(FieldOf(next, "confidence")),
                          WhereText(next)));
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
std::string_view VerdictText(const Json& summary, bool of_ranges) {
  const std::string verdict = TextOf(FieldOf(summary, "verdict"));
  const bool of_copies = RatioOf(summary, "time_share.copy_ratio") > RatioOf(summary, "time_share.compute_ratio");
  if (verdict == "skew") return "Communication is mostly waiting for late ranks, not moving data.";
  if (verdict == "transfer") return "Communication is mostly moving data, not waiting for late ranks.";
  if (verdict == "mixed") return "Communication is partly waiting for late ranks, partly moving data.";
  if (verdict == "compute") return WorkText(of_copies, of_ranges);
  if (verdict == "host") return "The devices mostly wait for their hosts to launch.";
  return "What bounds the run cannot be told from these traces.";
}

// The one class of workload that the verdict does not tell.
void WriteMemoryBound(const Json& summary, TextPage& page) {
  if (FieldOf(summary, "workload.class") != "memory") return;
  page.Line(fmt::format("Their work is bound by memory: {} of the kernel time moves data, by the kernels' names.",
                        FormatPercent(RatioOf(summary, "workload.memory_ratio"))),
            0, 2);
}

struct TimePart {
  std::string_view key;
  std::string_view label;
};
constexpr std::array<TimePart, 7> kTimeParts = {{{"compute_ratio", "computing"},
                                                 {"exposed_wait_ratio", "waiting for a later rank"},
                                                 {"exposed_transfer_ratio", "transferring, nothing else running"},
                                                 {"exposed_unresolved_ratio", "communicating, wait or transfer untold"},
                                                 {"copy_ratio", "copying, nothing else running"},
                                                 {"opaque_ratio", "inside CUDA graphs traced as a whole"},
                                                 {"idle_ratio", "idle"}}};

void WriteTimeShare(const Json& summary, TextPage& page) {
  constexpr double kBar = 46;
  page.Heading("where the rank-time goes", "common window of all ranks");
  const Json& share = FieldOf(summary, "time_share");
  bool any = false;
  for (const TimePart& part : kTimeParts) {
    const auto ratio = RealOf(FieldOf(share, part.key));
    if (!ratio || (*ratio == 0 && part.key != "compute_ratio" && part.key != "idle_ratio")) continue;
    const double length = std::clamp(std::nearbyint(*ratio * kBar), 0.0, kBar);
    const std::string line =
        fmt::format("  {:<39}{:>6.1f} %  {}", part.label, 100 * *ratio, std::string(static_cast<size_t>(length), '#'));
    page.Raw(std::string_view(line).substr(0, line.find_last_not_of(' ') + 1));
    any = true;
  }
  if (!any) page.Line("not known: no device activity that all ranks have", 2, 0, Emphasis::kFaint);
}

// Those that would not be shown as 0.0 %.
Json MaterialTails(const Json& tails) {
  Json material = Json::array();
  for (const Json& tail : tails) {
    if (RealOf(FieldOf(tail, "tail_score")).value_or(0) >= 0.0005) material.push_back(tail);
  }
  return material;
}

void WriteWorst(const Json& summary, TextPage& page) {
  const Json& collectives = ListOf(summary, "worst_collectives");
  if (!collectives.empty()) {
    page.Heading("worst collectives", "by waiting of all members");
    page.Table(collectives, {{"group", "communicator_id", CellKind::kText},
                             {"operation", "op", CellKind::kText},
                             {"message", "bytes", CellKind::kBytes},
                             {"waiting", "wait_total_ns", CellKind::kTime},
                             {"verdict", "verdict", CellKind::kText}});
  }
  const Json tails = MaterialTails(ListOf(summary, "worst_tails"));
  if (!tails.empty()) {
    page.Heading("worst tails", "rank-time lost in instances over twice the median");
    page.Table(tails, {{"lost", "tail_score", CellKind::kPercent},
                       {"rank", "rank", CellKind::kNumber},
                       {"kernel", "name", CellKind::kKernel}});
  }
}

void WriteProblems(const Json& summary, TextPage& page) {
  const Json& problems = ListOf(summary, "problems");
  if (problems.empty()) return;
  page.Heading("problems of the data");
  for (const Json& problem : problems) {
    page.Line(fmt::format("{}: {}", TextOf(FieldOf(problem, "gate")), TextOf(FieldOf(problem, "detail"))), 2, 2,
              Emphasis::kBad);
    const std::string& fix = TextOf(FieldOf(problem, "fix"));
    if (!fix.empty()) page.Line(fmt::format("fix: {}", fix), 4, 5);
  }
}

void WriteNext(const Json& summary, TextPage& page) {
  const Json& next = ListOf(summary, "next");
  if (next.empty()) return;
  page.Heading("look next at");
  for (const Json& line : next) page.Line(TextOf(line), 2, 4);
}

}  // namespace

void SummarySection(const Json& report, TextPage& page) {
  const Json& summary = FieldOf(report, "summary");
  const Json& culprits = ListOf(summary, "culprits");
  page.Raw("");
  WriteHeadline(report, page);
  if (!culprits.empty()) WriteCulprits(culprits, page);
  page.Line(VerdictText(summary, FieldOf(report, "run.analysed.nvtx").is_string()), 0, 2);
  WriteMemoryBound(summary, page);
  WriteTimeShare(summary, page);
  WriteWorst(summary, page);
  WriteProblems(summary, page);
  WriteNext(summary, page);
}

}  // namespace lockstep
