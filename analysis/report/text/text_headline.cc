#include "analysis/report/text/text_headline.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/rank_list.h"
#include "analysis/report/text/text_no_culprit.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

std::string Capitalised(std::string text) {
  text[0] = text[0] >= 'a' && text[0] <= 'z' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
  return text;
}

// What the answer rests on where a rank whose trace is not here would change it.
void WriteAssumption(const HeadlineInput& in, TextPage& page) {
  if (!RestsOnAllRanks(in.summary)) return;
  const int64_t ranks = in.run.ranks;
  page.Line(
      fmt::format(
          "The traces do not say how many ranks the job has. If it has more than these {}, they may wait for one whose "
          "trace is missing. If these are all ranks, add --expect-ranks {}.",
          ranks, ranks),
      0, 2);
}

struct OpenQuestion {
  std::string why;
  std::string help;
};

OpenQuestion QuestionOfMissingRecord(const HeadlineInput& in, const report::UnresolvedTime& unresolved) {
  if (const std::vector<int32_t>& missing = unresolved.missing_ranks; !missing.empty()) {
    const bool one = missing.size() == 1;
    return {fmt::format("{} {} no trace here, and the others may have waited for {}", FoldedRanks(missing),
                        one ? "has" : "have", one ? "it" : "them"),
            fmt::format("add the trace{} of {}", one ? "" : "s", FoldedRanks(missing))};
  }
  if (!unresolved.lacking_rank && unresolved.groups_inferred) {
    return {"the traces do not tell who is in a group, and the others may have waited for a member elsewhere",
            "record process groups (torch 2.4 or later, or NCCL 2.25 or later exported with --include-blobs=true), and "
            "give the traces of all ranks"};
  }
  if (!unresolved.lacking_rank && in.run.world_size && in.run.ranks >= in.run.world_size->value) {
    return {"some collectives lack the record of a member, and the others may have waited for it",
            "capture again where --view quality shows a trace that was cut or lost records"};
  }
  if (!unresolved.lacking_rank) {
    return {"a group has more members than there are traces, and the others may have waited for one of them",
            "add the traces of all ranks"};
  }
  const auto hides = [](const report::Problem& problem) { return problem.gate == "graphs_visible"; };
  const bool in_graphs = std::ranges::any_of(in.summary.problems, hides);
  return {fmt::format("rank {} lacks records of collectives that the others have, and they may have waited for it",
                      *unresolved.lacking_rank),
          in_graphs
              ? "capture the nodes of CUDA graphs (nsys profile --cuda-graph-trace=node): some are traced as a whole"
              : "capture again with larger profiler buffers, all ranks over the same steps, and check that its file is "
                "whole"};
}

OpenQuestion QuestionOfKernel(const report::UnresolvedKernel& kernel) {
  const std::string name = ShortenKernel(Printable(kernel.name), 40);
  const std::string times =
      fmt::format("{} on rank {}, which computes most, and up to {} on the others",
                  FormatTime(kernel.shortest_total_ns), kernel.shortest_rank, FormatTime(kernel.longest_total_ns));
  if (kernel.others.value > 0) {
    return {fmt::format("kernel {} and {} more look like communication, but lockstep does not know them: together they "
                        "take {}",
                        name, FormatCount(kernel.others), times),
            "if they communicate, pass --families FILE with a line for each: communication, NAME"};
  }
  return {fmt::format("kernel {} looks like communication, but lockstep does not know it: it takes {}", name, times),
          "if it communicates, pass --families FILE with the line: communication, NAME"};
}

OpenQuestion QuestionOf(const HeadlineInput& in, const report::UnresolvedTime& unresolved) {
  const std::string& reason = unresolved.reason;
  if (reason == "missing_record") return QuestionOfMissingRecord(in, unresolved);
  if (reason == "unknown_role") {
    return {"the traces do not say who sends to whom in broadcasts, reduces, or sends and receives",
            "record roots and peers: NCCL 2.25 or later with nsys, or sequence numbers (torch 2.12 or later)"};
  }
  if (reason == "unknown_kernel") return QuestionOfKernel(unresolved.kernel.value_or(report::UnresolvedKernel()));
  if (reason == "clocks") {
    return {"the clocks of the ranks are less certain than the waits are long",
            "capture longer, with collectives that span the hosts"};
  }
  return {WhyNotTold(in), "--view quality shows what the traces lack"};
}

void WriteQuestion(const HeadlineInput& in, const report::UnresolvedTime& unresolved, TextPage& page) {
  const OpenQuestion question = QuestionOf(in, unresolved);
  const std::string how_much =
      unresolved.ratio > 0 ? fmt::format(
                                 "{} of the time is communication in which the wait cannot be separated from the "
                                 "transfer.",
                                 FormatPercent(unresolved.ratio))
                           : "Hardly any communication is known here: it may be in kernels that are not classified.";
  page.Line(fmt::format("Who makes the others wait cannot be told: {}. {}", question.why, how_much), 0, 2,
            Emphasis::kStrong);
  page.Line(fmt::format("What would help: {}.", question.help), 0, 2);
}

// A slow part of the run for which nobody waits; nothing if one that is named is in it.
void WriteSlowPart(const report::Summary& summary, TextPage& page) {
  const std::optional<report::SlowPart>& slow = summary.slow_part;
  if (!slow) return;
  for (const report::Culprit& culprit : summary.culprits) {
    for (const int32_t rank : culprit.ranks) {
      if (std::find(slow->ranks.begin(), slow->ranks.end(), rank) != slow->ranks.end()) return;
    }
  }
  const double longer = static_cast<double>(slow->step_ns.value) / static_cast<double>(slow->others_step_ns.value) - 1;
  page.Line(
      fmt::format("A step of {}{} takes {} longer than a step of the other ranks, which launch as many kernels: {} "
                  "instead of {}. No collective joins them with other ranks, so nobody else waits for them.",
                  FoldedRanks(slow->ranks), slow->host ? fmt::format(" on host {}", *slow->host) : "",
                  FormatPercent(longer), FormatTime(slow->step_ns), FormatTime(slow->others_step_ns)),
      0, 2, Emphasis::kStrong);
}

// The sentence about one that is named.
std::string CulpritText(const HeadlineInput& in, const report::Culprit& culprit, bool after_question) {
  const report::Count caused = culprit.caused_wait_total_ns;
  const std::string waiting =
      fmt::format("{} of {} of waiting ({})", FormatTime(caused), FormatTime(in.summary.wait_total_ns),
                  FormatPercent(culprit.share_of_wait_ratio));
  const std::string name = NameOfCulprit(culprit);
  if (caused <= 0) {
    return Capitalised(
        fmt::format("{} holds the others up: each step would be {} shorter if it were as fast as its peers. "
                    "The clocks are not exact enough to tell how long each rank waits for it.",
                    name, FormatPercent(culprit.saving_ratio)));
  }
  if (culprit.cause == "transfer") {
    return Capitalised(fmt::format("{} moves data more slowly than equal groups: {} is due to it.", name, waiting));
  }
  if (culprit.cause == "more_data") {
    return Capitalised(
        fmt::format("{} moves more data than its peers and arrives late: {} is due to it.", name, waiting));
  }
  if (culprit.recurrence == "once") {
    return Capitalised(fmt::format("{} made the others wait once: {}.", name, waiting));
  }
  if (after_question || culprit.open)
    return fmt::format("In the recorded collectives, {} makes the others wait: {}.", name, waiting);
  return Capitalised(fmt::format("{} makes the others wait: {}.", name, waiting));
}

}  // namespace

std::string NameOfCulprit(const report::Culprit& culprit) {
  if (culprit.name) return fmt::format("group {} ({})", *culprit.name, FoldedRanks(culprit.ranks, 4));
  return NameInScope(culprit.scope, culprit.id);
}

void WriteHeadline(const report::Summary& summary, const report::Run& run, TextPage& page) {
  const HeadlineInput in{summary, run};
  WriteSlowPart(summary, page);
  const bool question = summary.unresolved && summary.unresolved->leads && run.ranks != 1;
  if (question) WriteQuestion(in, *summary.unresolved, page);
  if (summary.culprits.empty()) {
    if (question) return;
    page.Line(NoCulpritText(in), 0, 2, Emphasis::kStrong);
    WriteAssumption(in, page);
    return;
  }
  for (const report::Culprit& culprit : summary.culprits) {
    const bool first = &culprit == &summary.culprits.front();
    if (!first && culprit.share_of_wait_ratio < kMostOfWaiting) continue;
    page.Line(CulpritText(in, culprit, question), 0, 2, question ? Emphasis::kPlain : Emphasis::kStrong);
  }
}

void WriteWhoLooksLate(const report::Summary& summary, TextPage& page) {
  const std::optional<report::LooksLate>& late = summary.looks_late;
  if (summary.culprits.empty() || !late || !late->saving_ratio) return;
  const bool is_told = std::ranges::any_of(summary.culprits, [&](const report::Culprit& culprit) {
    const bool is_it = culprit.scope == late->scope && culprit.id == late->id;
    return is_it || culprit.saving_ratio.value_or(0) >= *late->saving_ratio;
  });
  if (is_told) return;
  page.Line(
      fmt::format("Whether {} makes the others wait as well, and more, is not known after {} {}: each step may be "
                  "{} shorter if it were as fast as its peers.",
                  NameInScope(late->scope, late->id), FormatCount(late->steps), StepsWord(late->block_ns),
                  FormatPercent(*late->saving_ratio)),
      0, 2);
}

}  // namespace lockstep
