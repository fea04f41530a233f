#include "analysis/report/text/text_headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/report/json.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

constexpr double kMostOfWaiting = 0.5;   // who caused as much is in the headline, also behind another one
constexpr double kMaterialWait = 0.005;  // of the time: as much as a rank must cause to be named

// Part of all ranks' time, which of a restricted run is not the run's.
std::string ShareOfRankTime(const Json& report, double ns) {
  const double rank_time_ns = RatioOf(report, "summary.rank_time_ns");
  if (rank_time_ns <= 0 || !FieldOf(report, "run.analysed").is_null()) return "";
  return fmt::format(", {} of rank-time", FormatPercent(ns / rank_time_ns));
}

std::string Capitalised(std::string text) {
  text[0] = text[0] >= 'a' && text[0] <= 'z' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
  return text;
}

// "3, 5, 7 and 12 more"
std::string NumbersText(const Json& numbers) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < numbers.size() && i < kMost; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", PlainText(numbers[i]));
  }
  if (numbers.size() > kMost) text += fmt::format(" and {} more", numbers.size() - kMost);
  return text;
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
    if (!collectives) return "Nobody is seen to wait: no kernel in what was analysed is known to communicate.";
  }
  if (wait <= 0 && transfer > unresolved) {
    return fmt::format("Nobody is seen to wait; {} of the time is communication that may be waiting.",
                       FormatPercent(unresolved));
  }
  if (wait <= 0) return fmt::format("Waiting cannot be told: {}.", WhyNotTold(report));
  if (unresolved > exposed_wait + transfer) {
    return fmt::format(
        "Waiting can be told only in part: {} of it is seen, but {} of the time is communication of which "
        "it cannot be said: {}.",
        FormatTime(FieldOf(summary, "wait_total_ns")), FormatPercent(unresolved), WhyNotTold(report));
  }
  const std::string waiting =
      fmt::format("{} of waiting{}", FormatTime(FieldOf(summary, "wait_total_ns")), ShareOfRankTime(report, wait));
  if (FieldOf(summary, "decided") == false && exposed_wait >= kMaterialWait) {
    return fmt::format("Whether anybody in particular makes the others wait cannot be told from so few steps: {}.",
                       waiting);
  }
  if (RealOf(FieldOf(summary, "pair_wait_total_ns")).value_or(0) >= kMostOfWaiting * wait &&
      exposed_wait >= kMaterialWait) {
    return fmt::format(
        "Which stage makes the others wait cannot be told: {}. Most of it is receivers that wait for their senders, "
        "which every pipeline has.",
        waiting);
  }
  const double unassigned = RatioOf(summary, "unassigned_wait_ns") / wait;
  const Json& tied = ListOf(summary, "tied_ranks");
  if (unassigned >= kMostOfWaiting && exposed_wait >= kMaterialWait && !tied.empty()) {
    return fmt::format(
        "For whom the ranks wait cannot be told: in {} of the waiting several arrive last, closer together "
        "than the clocks tell, most often rank {}: {}.",
        FormatPercent(unassigned), NumbersText(tied), waiting);
  }
  return fmt::format("Nobody in particular makes the others wait: {}, spread over the ranks.", waiting);
}

// What the answer rests on where a rank whose trace is not here would change it.
void WriteAssumption(const Json& report, TextPage& page) {
  const Json& summary = FieldOf(report, "summary");
  const double communication =
      RatioOf(summary, "time_share.exposed_wait_ratio") + RatioOf(summary, "time_share.exposed_transfer_ratio");
  if (FieldOf(summary, "ranks_assumed_all") != true || communication < kMaterialWait) return;
  const std::string ranks = PlainText(FieldOf(report, "run.ranks"));
  page.Line(
      fmt::format(
          "No trace tells how many ranks the job has. If there are more than these {}, they may wait for one whose "
          "trace is not here. If these are all, give --expect-ranks {}.",
          ranks, ranks),
      0, 2);
}

struct OpenQuestion {
  std::string why;
  std::string help;
};

OpenQuestion QuestionOf(const Json& report, const Json& unresolved) {
  const std::string& reason = TextOf(FieldOf(unresolved, "reason"));
  const Json& missing = ListOf(unresolved, "missing_ranks");
  if (reason == "missing_record" && !missing.empty()) {
    const bool one = missing.size() == 1;
    return {fmt::format("no trace of rank {} is analysed, and the others may have waited for {}", NumbersText(missing),
                        one ? "it" : "them"),
            fmt::format("give the trace{} of rank {} too", one ? "" : "s", NumbersText(missing))};
  }
  if (reason == "missing_record") {
    const Json& lacking = FieldOf(unresolved, "lacking_rank");
    if (lacking.is_null()) {
      return {"a group has more members than there are traces, and the others may have waited for one of those",
              "give the traces of all ranks"};
    }
    const std::string who = fmt::format("rank {} lacks", PlainText(lacking));
    return {who + " records of collectives that the others have, and they may have waited for it",
            "capture again with larger profiler buffers, all ranks over the same steps"};
  }
  if (reason == "unknown_role") {
    return {"the traces do not say who sends to whom in the broadcasts, reduces, or sends and receives",
            "record roots and peers: NCCL 2.25 or later with nsys, or sequence numbers (torch 2.12 or later)"};
  }
  if (reason == "unknown_kernel") {
    const Json& kernel = FieldOf(unresolved, "kernel");
    return {fmt::format("kernel {} looks like communication that is not known as such: it takes {} on rank {}, which "
                        "computes most, and up to {} on the others",
                        ShortenKernel(Printable(TextOf(FieldOf(kernel, "name"))), 40),
                        FormatTime(FieldOf(kernel, "shortest_total_ns")), PlainText(FieldOf(kernel, "shortest_rank")),
                        FormatTime(FieldOf(kernel, "longest_total_ns"))),
            "if it communicates, analyse the files with --families FILE and in it a line: communication, NAME"};
  }
  if (reason == "clocks") {
    return {"the clocks of the ranks are known less exactly than the waits are long",
            "capture longer, with collectives that span the hosts"};
  }
  return {WhyNotTold(report), "--view quality says what the traces lack"};
}

void WriteQuestion(const Json& report, const Json& unresolved, TextPage& page) {
  const OpenQuestion question = QuestionOf(report, unresolved);
  page.Line(fmt::format("Who makes the others wait cannot be told: {}. {} of the time is communication that may be "
                        "waiting or transferring.",
                        question.why, FormatPercent(RatioOf(unresolved, "ratio"))),
            0, 2, Emphasis::kStrong);
  page.Line(fmt::format("What would help: {}.", question.help), 0, 2);
}

// Of the one named first.
std::string CulpritText(const Json& report, const Json& culprit, bool after_question) {
  const Json& caused = FieldOf(culprit, "caused_wait_total_ns");
  const Json& total = FieldOf(report, "summary.wait_total_ns");
  const std::string of_all = total.is_number() ? fmt::format(" of {}", FormatTime(total)) : "";
  const std::string waiting = fmt::format("{}{} waiting ({}){}", FormatTime(caused), of_all,
                                          FormatPercent(FieldOf(culprit, "share_of_wait_ratio")),
                                          ShareOfRankTime(report, RealOf(caused).value_or(0)));
  const std::string name = NameOfCulprit(culprit);
  if (RealOf(caused).value_or(0) <= 0) {
    return Capitalised(
        fmt::format("{} holds the others up: each step would be {} shorter if it were as fast as they are. "
                    "How long each of them waits is less than the clocks can tell.",
                    name, FormatPercent(FieldOf(culprit, "saving_ratio"))));
  }
  if (TextOf(FieldOf(culprit, "cause")) == "transfer") {
    return Capitalised(
        fmt::format("{} moves its data more slowly than equal groups do: {} follows from it.", name, waiting));
  }
  if (TextOf(FieldOf(culprit, "cause")) == "more_data") {
    return Capitalised(
        fmt::format("{} moves more data than the others, and is late by it: {} follows from it.", name, waiting));
  }
  if (TextOf(FieldOf(culprit, "recurrence")) == "once") {
    return Capitalised(fmt::format("{} made the others wait once: {}.", name, waiting));
  }
  if (after_question || FieldOf(culprit, "open") == true)
    return fmt::format("Of what is recorded, {} makes the others wait: {}.", name, waiting);
  return Capitalised(fmt::format("{} makes the others wait: {}.", name, waiting));
}

}  // namespace

std::string NameOfCulprit(const Json& culprit) {
  std::string scope = TextOf(FieldOf(culprit, "scope"));
  if (scope.empty()) scope = "rank";
  const std::string id = PlainText(FieldOf(culprit, "id"));
  return id.rfind(scope, 0) == 0 ? id : fmt::format("{} {}", scope, id);
}

void WriteHeadline(const Json& report, TextPage& page) {
  const Json& culprits = ListOf(report, "summary.culprits");
  const Json& unresolved = FieldOf(report, "summary.unresolved");
  const bool question = FieldOf(unresolved, "leads") == true && IntegerOf(FieldOf(report, "run.ranks")) != 1;
  if (question) WriteQuestion(report, unresolved, page);
  if (!culprits.empty()) {
    page.Line(CulpritText(report, culprits[0], question), 0, 2, question ? Emphasis::kPlain : Emphasis::kStrong);
    for (size_t i = 1; i < culprits.size(); ++i) {
      if (RatioOf(culprits[i], "share_of_wait_ratio") < kMostOfWaiting) continue;
      page.Line(CulpritText(report, culprits[i], question), 0, 2, question ? Emphasis::kPlain : Emphasis::kStrong);
    }
  } else if (!question) {
    page.Line(NobodyText(report), 0, 2, Emphasis::kStrong);
    WriteAssumption(report, page);
  }
}

}  // namespace lockstep
