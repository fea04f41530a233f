#include "analysis/report/text/text_no_culprit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/base/rank_list.h"
#include "analysis/report/text/text_units.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

double NanosecondsOf(report::Count count) { return static_cast<double>(count.value); }

double ShareOfCounts(report::Count part, report::Count whole) {
  return NanosecondsOf(part) / std::max(NanosecondsOf(whole), 1.0);
}

// Most waiting is for a rank that is not shown; "" where it is not.
std::string LeftOutText(const report::Summary& summary) {
  constexpr double kMost = 0.5;
  const std::optional<report::LeftOutCulprit>& left_out = summary.left_out_culprit;
  if (!left_out) return "";
  const double share = ShareOfCounts(left_out->caused_wait_total_ns, summary.wait_total_ns);
  if (share < kMost) return "";
  return fmt::format("Rank {}, which --ranks leaves out, makes the others wait: {} of {} of waiting ({}).",
                     left_out->rank, FormatTime(left_out->caused_wait_total_ns), FormatTime(summary.wait_total_ns),
                     FormatPercent(share));
}

// The first sentence where no waiting was found.
std::string NoWaitText(const HeadlineInput& in, const ExposedShares& exposed) {
  const report::Summary& summary = in.summary;
  // Steps that each rank numbers alone hold no collective.
  if (exposed.wait > 0 && in.run.analysed) {
    return fmt::format(
        "Ranks wait {} of the time. For whom cannot be told, because the selection contains no collective.",
        FormatPercent(exposed.wait));
  }
  if (exposed.transfer <= 0 && summary.time_share.opaque_ratio.value_or(0) > 0.5) {
    return "Waiting cannot be told: the kernels inside the CUDA graphs are not in the trace.";
  }
  if (exposed.unresolved <= 0 && summary.time_share.compute_ratio) {
    if (exposed.transfer > 0)
      return "Nobody waits: in every collective whose arrivals can be compared, the ranks arrive together.";
    const auto problem_of = [&](std::string_view gate) {
      return std::find_if(summary.problems.begin(), summary.problems.end(),
                          [&](const report::Problem& problem) { return problem.gate == gate; });
    };
    const bool all_have_kernels = problem_of("kernels_present") == summary.problems.end();
    if (summary.worst_collectives.empty() && all_have_kernels) {
      if (const auto cut = problem_of("files_whole"); cut != summary.problems.end() && in.run.ranks > 1) {
        return fmt::format("Waiting cannot be told: no kernel in the analysed traces is known to communicate, but {}.",
                           cut->detail);
      }
      return "No waiting is visible: no kernel in the analysed traces is known to communicate.";
    }
  }
  if (exposed.transfer > exposed.unresolved) {
    return fmt::format(
        "No waiting is visible. At most {} of the time may be waiting: communication in which the wait cannot be "
        "separated from the transfer.",
        FormatPercent(exposed.unresolved));
  }
  return fmt::format("Waiting cannot be told: {}.", WhyNotTold(in));
}

// "545 ms of waiting"; "5.25 ms of waiting, at least 3.1 ms of it certain" where the clocks leave much of it open.
std::string WaitingText(const report::Summary& summary) {
  constexpr double kNearlyAll = 0.9;
  constexpr double kHardlyAny = 0.01;
  const std::string waiting = fmt::format("{} of waiting", FormatTime(summary.wait_total_ns));
  if (!summary.certain_wait_ns) return waiting;
  const double certain = ShareOfCounts(*summary.certain_wait_ns, summary.wait_total_ns);
  if (certain >= kNearlyAll) return waiting;
  if (certain < kHardlyAny) return waiting + ", none of it certain";
  return fmt::format("{}, at least {} of it certain", waiting, FormatTime(*summary.certain_wait_ns));
}

// "36.5 ms of waiting", with the share of the block below where it is little.
std::string HowMuchText(const report::Summary& summary, bool material) {
  std::string text = WaitingText(summary);
  if (material) return text;
  return text + fmt::format(", of which {} of the GPU time is exposed",
                            FormatPercent(summary.time_share.exposed_wait_ratio.value_or(0)));
}

// Too few steps to tell; "" where they tell.
std::string NotEnoughStepsText(const report::Summary& summary, const std::string& how_much) {
  if (const auto& late = summary.looks_late) {
    return fmt::format("Whether {} makes the others wait is not known after {} {}: there is {}.",
                       NameInScope(late->scope, late->id), FormatCount(late->steps), StepsWord(late->block_ns),
                       how_much);
  }
  if (summary.decided != false) return "";
  return fmt::format("Whether one rank makes the others wait is not known after so few steps: there is {}.", how_much);
}

// Most waiting is in collectives of which it is unknown for whom; "" where it is not.
std::string ForWhomUnknownText(const report::Summary& summary, const std::string& how_much) {
  if (ShareOfCounts(summary.pair_wait_total_ns, summary.wait_total_ns) >= kMostOfWaiting) {
    return fmt::format(
        "Which stage makes the others wait cannot be told: there is {}, but most of it is between senders and "
        "receivers, which every pipeline has.",
        how_much);
  }
  const double unassigned = ShareOfCounts(summary.unassigned_wait_ns, summary.wait_total_ns);
  if (unassigned < kMostOfWaiting || summary.tied_ranks.empty()) return "";
  return fmt::format(
      "For whom the ranks wait cannot be told: there is {2}, and in {0} of it several ranks arrive last, closer "
      "together than the clocks can resolve, most often {1}.",
      FormatPercent(unassigned), FoldedRanks(summary.tied_ranks), how_much);
}

// Nobody began most of the waiting.
std::string NobodyText(const report::Summary& summary, const std::string& how_much) {
  const auto& most = summary.most_awaited;
  const std::string_view nobody =
      RestsOnAllRanks(summary) ? "Among these ranks, nobody in particular" : "Nobody in particular";
  if (!most) return fmt::format("{} makes the others wait: {}, spread over the ranks.", nobody, how_much);
  const bool much = ShareOfCounts(most->caused_wait_total_ns, summary.rank_time_ns) >= kMaterialWait;
  return fmt::format("{} makes the others wait{}: {}, and in {} of it rank {} arrives last{}.", nobody,
                     much ? "" : " by much", how_much,
                     FormatPercent(ShareOfCounts(most->caused_wait_total_ns, summary.wait_total_ns)), most->rank,
                     much ? ", but it did not begin the delay, or is no later than the others on the whole" : "");
}

}  // namespace

bool RestsOnAllRanks(const report::Summary& summary) {
  const ExposedShares exposed(summary.time_share);
  return summary.ranks_assumed_all && summary.culprits.empty() && exposed.wait + exposed.transfer >= kMaterialWait;
}

std::string WhyNotTold(const HeadlineInput& in) {
  for (const report::Problem& problem : in.summary.problems) {
    if (problem.gate == "kernels_present") return problem.detail;
  }
  if (in.run.ranks == 1) return "one rank alone does not show when the others arrive";
  constexpr std::array<std::string_view, 5> kTelling = {"matching", "clock", "complete_ranks", "rank_identity",
                                                        "duplicate_rank"};
  for (const std::string_view gate : kTelling) {
    for (const report::Problem& problem : in.summary.problems) {
      if (problem.gate == gate) return problem.detail;
    }
  }
  return "no collective could be matched across the ranks with confidence";
}

std::string NoCulpritText(const HeadlineInput& in) {
  const report::Summary& summary = in.summary;
  if (std::string left_out = LeftOutText(summary); !left_out.empty()) return left_out;
  const ExposedShares exposed(summary.time_share);
  if (summary.wait_total_ns <= 0) return NoWaitText(in, exposed);
  if (exposed.unresolved > exposed.wait + exposed.transfer) {
    return fmt::format("{} is visible. In a further {} of the time the wait cannot be separated from the transfer: {}.",
                       WaitingText(summary), FormatPercent(exposed.unresolved), WhyNotTold(in));
  }
  const bool material = exposed.wait >= kMaterialWait;
  const std::string how_much = HowMuchText(summary, material);
  if (std::string too_few = NotEnoughStepsText(summary, how_much); !too_few.empty()) return too_few;
  if (std::string unknown = ForWhomUnknownText(summary, how_much); material && !unknown.empty()) return unknown;
  return NobodyText(summary, how_much);
}

}  // namespace lockstep
