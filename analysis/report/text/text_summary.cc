// The summary: what a tired engineer reads first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/report/json.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

constexpr size_t kLabelWidth = 6;

double RatioOf(const Json& summary, std::string_view path) { return RealOf(FieldOf(summary, path)).value_or(0); }

std::string NameOfCulprit(const Json& culprit) {
  std::string scope = TextOf(FieldOf(culprit, "scope"));
  if (scope.empty()) scope = "rank";
  const std::string id = PlainText(FieldOf(culprit, "id"));
  return id.rfind(scope, 0) == 0 ? id : fmt::format("{} {}", scope, id);
}

// Part of all ranks' time; only known here when nothing was restricted.
std::string ShareOfRankTime(const Json& report, double ns) {
  const auto ranks = RealOf(FieldOf(report, "run.ranks"));
  const auto span = RealOf(FieldOf(report, "run.span_ns"));
  if (!ranks || !span || *ranks * *span <= 0 || !FieldOf(report, "run.analysed").is_null()) return "";
  return fmt::format(", {} of rank-time", FormatPercent(ns / (*ranks * *span)));
}

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
  page.Item("why", kLabelWidth, CauseWords(culprit));
  const std::string worst = WorstText(culprit);
  if (!worst.empty()) page.Item("worst", kLabelWidth, worst);
  if (FieldOf(culprit, "saving_ratio").is_number()) {
    page.Item("gain", kLabelWidth, GainText(culprit));
  } else if (const std::string reason = TextOf(FieldOf(culprit, "saving_reason")); !reason.empty()) {
    page.Item("gain", kLabelWidth, fmt::format("not told: {}", reason));
  }
}

void WriteCulprits(const Json& report, const Json& culprits, TextPage& page) {
  const Json& worst = culprits[0];
  const Json& caused = FieldOf(worst, "caused_wait_total_ns");
  const Json& total = FieldOf(report, "summary.wait_total_ns");
  std::string name = NameOfCulprit(worst);
  name[0] = name[0] >= 'a' && name[0] <= 'z' ? static_cast<char>(name[0] - 'a' + 'A') : name[0];
  const std::string of_all = total.is_number() ? fmt::format(" of {}", FormatTime(total)) : "";
  page.Line(fmt::format("{} makes the others wait: {}{} waiting ({}){}.", name, FormatTime(caused), of_all,
                        FormatPercent(FieldOf(worst, "share_of_wait_ratio")),
                        ShareOfRankTime(report, RealOf(caused).value_or(0))),
            0, 2, Emphasis::kStrong);
  WriteCulprit(worst, page);
  for (size_t i = 1; i < culprits.size(); ++i) {
    const Json& next = culprits[i];
    page.Item("then", kLabelWidth,
              fmt::format("{}: {} ({}), {}; {}", NameOfCulprit(next), FormatTime(FieldOf(next, "caused_wait_total_ns")),
                          FormatPercent(FieldOf(next, "share_of_wait_ratio")), HowSure(FieldOf(next, "confidence")),
                          WhereText(next)));
  }
}

// Why arrivals cannot be compared, in the words of the gate that says so.
std::string WhyNotTold(const Json& report) {
  if (IntegerOf(FieldOf(report, "run.ranks")) == 1) return "one rank alone does not show when the others arrive";
  constexpr std::array<std::string_view, 5> kTelling = {"matching", "clock", "complete_ranks", "rank_identity",
                                                        "duplicate_rank"};
  for (const std::string_view gate : kTelling) {
    for (const Json& problem : ListOf(report, "summary.problems")) {
      if (TextOf(FieldOf(problem, "gate")) == gate) return TextOf(FieldOf(problem, "detail"));
    }
  }
  return "no collective could be matched across the ranks with confidence";
}

// Most waiting is for a rank that is not shown; "" where it is not.
std::string LeftOutText(const Json& summary) {
  constexpr double kMost = 0.5;
  const Json& caused = FieldOf(summary, "left_out_culprit.caused_wait_total_ns");
  const Json& total = FieldOf(summary, "wait_total_ns");
  const double share = RealOf(caused).value_or(0) / std::max(RealOf(total).value_or(0), 1.0);
  if (share < kMost) return "";
  return fmt::format("Rank {}, which --ranks leaves out, makes the others wait: {} of {} waiting ({}).",
                     PlainText(FieldOf(summary, "left_out_culprit.rank")), FormatTime(caused), FormatTime(total),
                     FormatPercent(share));
}

// The first sentence where no rank is to blame.
std::string NobodyText(const Json& report) {
  const Json& summary = FieldOf(report, "summary");
  if (std::string left_out = LeftOutText(summary); !left_out.empty()) return left_out;
  const double wait = RealOf(FieldOf(summary, "wait_total_ns")).value_or(0);
  const double unresolved = RatioOf(summary, "time_share.exposed_unresolved_ratio");
  const double transfer = RatioOf(summary, "time_share.exposed_transfer_ratio");
  const double exposed_wait = RatioOf(summary, "time_share.exposed_wait_ratio");
  const bool collectives = !ListOf(summary, "worst_collectives").empty();
  const bool shares_known = FieldOf(summary, "time_share.compute_ratio").is_number();
  // Steps that each rank numbers alone hold no collective.
  if (wait <= 0 && exposed_wait > 0 && FieldOf(report, "run.analysed").is_object()) {
    return fmt::format(
        "Ranks wait for {} of the time; for whom cannot be told: no collective lies in what was asked for.",
        FormatPercent(exposed_wait));
  }
  if (wait <= 0 && unresolved <= 0 && shares_known) {
    if (transfer > 0) return "Nobody waits: in every collective that can be compared the ranks arrive together.";
    if (!collectives) return "Nobody waits for anybody: there is no communication in what was analysed.";
  }
  if (wait <= 0) return fmt::format("Waiting cannot be told: {}.", WhyNotTold(report));
  if (unresolved > exposed_wait + transfer) {
    return fmt::format(
        "Waiting can be told only in part: {} of it is seen, but {} of the time is communication of which "
        "it cannot be said: {}.",
        FormatTime(FieldOf(summary, "wait_total_ns")), FormatPercent(unresolved), WhyNotTold(report));
  }
  const double unassigned = RealOf(FieldOf(summary, "unassigned_wait_ns")).value_or(0);
  return fmt::format(
      "Nobody in particular makes the others wait: {} of waiting{}, {} of it not certainly one rank's doing.",
      FormatTime(FieldOf(summary, "wait_total_ns")), ShareOfRankTime(report, wait), FormatPercent(unassigned / wait));
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
  if (culprits.empty()) {
    page.Line(NobodyText(report), 0, 2, Emphasis::kStrong);
  } else {
    WriteCulprits(report, culprits, page);
  }
  page.Line(VerdictText(summary, FieldOf(report, "run.analysed.nvtx").is_string()), 0, 2);
  WriteMemoryBound(summary, page);
  WriteTimeShare(summary, page);
  WriteWorst(summary, page);
  WriteProblems(summary, page);
  WriteNext(summary, page);
}

}  // namespace lockstep
