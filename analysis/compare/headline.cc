#include "analysis/compare/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analysis/base/unit_text.h"
#include "analysis/compare/metrics.h"
#include "analysis/compare/words.h"

namespace lockstep::compare {
namespace {

constexpr size_t kMostDetails = 3;
constexpr double kLeastDetail = 0.005;   // of the step: smaller entries are not worth a sentence
constexpr double kLeastUntested = 0.01;  // likewise, of entries without an interval
constexpr double kLeastMoved = 0.02;     // likewise, of waiting for one rank where the step has not changed
// Work that was saved came back as waiting where the waiting grew by at least this share of it.
constexpr double kCameBack = 0.25;

std::string IntervalText(const report::MetricChange& metric) {
  if (!metric.interval_ratio) return "";
  return fmt::format(" (95 % interval {})", PercentRange(metric.change_ratio.value_or(0), *metric.interval_ratio));
}

std::string TimesText(const report::MetricChange& metric) {
  return fmt::format("{} a step instead of {}", TimeText(metric.fresh.value_or(0)), TimeText(metric.base.value_or(0)));
}

bool AreApart(const report::OptionalRange& a, const report::OptionalRange& b) {
  return a && b && (a->second < b->first || b->second < a->first);
}

// A change that holds for the mean alone, or is another one there, comes from a few long steps.
std::string RareSteps(const report::ComparisonDocument& document, const report::MetricChange& step_time) {
  const report::MetricChange* mean = FindMetric(document.metrics, "step_time_mean");
  if (mean == nullptr) return "";
  if (mean->verdict == step_time.verdict && !AreApart(mean->interval_ratio, step_time.interval_ratio)) return "";
  if (mean->verdict != report::kSlowerWord && mean->verdict != report::kFasterWord) return "";
  return fmt::format(" The mean step, which rare long steps move, is {}: {}{}.", mean->verdict,
                     SignedPercent(mean->change_ratio.value_or(0)), IntervalText(*mean));
}

// "by 12.0 %"; "by a factor of 55" where the table has 55x.
std::string HowMuch(double change) {
  if (IsManyTimes(change)) return fmt::format("by a factor of {:.3g}", 1 + change);
  return fmt::format("by {}", PlainPercent(std::abs(change)));
}

std::string SentenceOf(const report::ComparisonDocument& document, const report::MetricChange& step_time) {
  const std::string& verdict = step_time.verdict;
  const double change = step_time.change_ratio.value_or(0);
  if (verdict == report::kNotEnoughWord) {
    const std::string needed =
        step_time.steps_needed ? fmt::format("; at this noise {} steps a run would do", step_time.steps_needed->value)
                               : "";
    return fmt::format("Not enough steps: the run with the fewest has {:.1f} independent steps, and 8 are needed{}.",
                       step_time.n_eff.value_or(0), needed);
  }
  if (verdict == report::kSlowerWord || verdict == report::kFasterWord) {
    return fmt::format("{} {}{}: {}.{}", verdict == report::kSlowerWord ? "Slower" : "Faster", HowMuch(change),
                       IntervalText(step_time), TimesText(step_time), RareSteps(document, step_time));
  }
  if (verdict == report::kSameWord) {
    const double excluded = step_time.excluded_ratio.value_or(0);
    const std::string limit =
        excluded > 0 ? fmt::format("; a change of {} or more is excluded", PlainPercent(excluded)) : "";
    return fmt::format("No change of the step time is found: {}{}{}.{}", TimesText(step_time),
                       change == 0 ? "" : fmt::format(" ({})", SignedPercent(change)), limit,
                       RareSteps(document, step_time));
  }
  return fmt::format("It is unclear whether the step time changed: {}{}, {}.{}", SignedPercent(change),
                     IntervalText(step_time), TimesText(step_time), RareSteps(document, step_time));
}

std::string NoiseText(const report::Noise& noise) {
  const std::string differ =
      noise.ratio ? fmt::format("two runs of the same code differ by up to {}", PlainPercent(*noise.ratio)) : "";
  if (noise.source == "repeats") return fmt::format("By the {} runs of this comparison, {}.", noise.runs.value, differ);
  if (noise.source == "history") {
    return fmt::format(
        "{} earlier runs with the same context differ by up to {}. If their code differs, give each run its --context "
        "commit=HASH.",
        noise.runs.value, PlainPercent(noise.ratio.value_or(0)));
  }
  if (noise.source == "default") {
    return fmt::format("The noise between runs is not measured, which needs 4 runs in all; it is assumed that {}.",
                       differ);
  }
  return "";
}

std::string SurenessOf(const report::ComparisonDocument& document, const report::MetricChange& step_time) {
  std::string text = NoiseText(document.noise);
  if (step_time.verdict == report::kNotEnoughWord || text.empty()) return text;
  if (step_time.repeats_needed && step_time.repeats_needed->value > 0) {
    text += fmt::format(" {} more repeat{} a side would resolve a change of 1 %.", step_time.repeats_needed->value,
                        step_time.repeats_needed->value == 1 ? "" : "s");
  }
  return text;
}

// Entries that are worth a sentence: large enough, and no chance. Of an unchanged step those without an interval may
// be.
bool IsWorth(const report::LedgerEntry& entry, double step_ns, bool changed) {
  const double change_ns = std::abs(static_cast<double>(entry.change_ns_per_step));
  // Who is waited for may change while the step does not.
  if (entry.kind == "wait" && entry.rank && change_ns >= kLeastMoved * step_ns) return true;
  if (!entry.interval) return changed && change_ns >= kLeastUntested * step_ns;
  const bool excludes_none = entry.interval->first > 0 || entry.interval->second < 0;
  return excludes_none && change_ns >= kLeastDetail * step_ns;
}

// How much of the waiting is not yet said to have moved, by entry.
using WaitsLeft = std::vector<std::pair<const report::LedgerEntry*, double>>;

// Waiting that took over what was saved, or left with what was added: "" where none did.
std::string MovedText(const report::LedgerEntry& entry, double all_waits_ns, WaitsLeft& waits) {
  if (entry.kind != "work" && entry.kind != "idle") return "";
  const auto change_ns = static_cast<double>(entry.change_ns_per_step);
  // Where waiting in all went the same way, it has only another culprit.
  if ((all_waits_ns < 0) == (change_ns < 0)) return "";
  for (auto& [wait, left_ns] : waits) {
    const bool opposite = (wait->change_ns_per_step < 0) != (change_ns < 0);
    const double moved = std::min({left_ns, std::abs(change_ns), std::abs(all_waits_ns)});
    if (!opposite || moved < kCameBack * std::abs(change_ns)) continue;
    left_ns -= moved;
    return fmt::format(", of which {} {} as {}", TimeText(moved), change_ns < 0 ? "came back" : "was there before",
                       wait->label);
  }
  return "";
}

// What the other side does not show, because it lies in time that may be anything.
bool IsHidden(const report::LedgerEntry& entry, const report::ComparisonDocument& document, double step_ns) {
  if (entry.kind == "unresolved" || entry.part == "opaque") return false;
  return std::any_of(document.ledger.begin(), document.ledger.end(), [&](const report::LedgerEntry& hiding) {
    const bool may_hide =
        hiding.part == "opaque" || (hiding.kind == "unresolved" && (entry.kind == "wait" || entry.kind == "transfer"));
    const auto hidden_ns = static_cast<double>(hiding.change_ns_per_step);
    return may_hide && compare::HidesMuch(hidden_ns, step_ns) &&
           compare::MovedInto(static_cast<double>(entry.change_ns_per_step), hidden_ns);
  });
}

std::vector<std::string> DetailsOf(const report::ComparisonDocument& document, bool changed) {
  double step_ns = 0;
  for (const report::LedgerEntry& entry : document.ledger) step_ns += static_cast<double>(entry.base_ns_per_step);
  WaitsLeft waits;
  for (const report::LedgerEntry& entry : document.ledger) {
    if (entry.kind != "wait" || !IsWorth(entry, step_ns, changed)) continue;
    waits.emplace_back(&entry, std::abs(static_cast<double>(entry.change_ns_per_step)));
  }
  double all_waits_ns = 0;
  for (const report::LedgerEntry& entry : document.ledger) {
    if (entry.kind == "wait") all_waits_ns += static_cast<double>(entry.change_ns_per_step);
  }
  std::vector<std::string> details;
  for (const report::LedgerEntry& entry : document.ledger) {
    if (details.size() == kMostDetails) break;
    if (!IsWorth(entry, step_ns, changed) || IsHidden(entry, document, step_ns)) continue;
    details.push_back(fmt::format("{}: {} a step{}", entry.label,
                                  SignedTime(static_cast<double>(entry.change_ns_per_step)),
                                  MovedText(entry, all_waits_ns, waits)));
  }
  return details;
}

}  // namespace

report::ComparisonHeadline HeadlineOf(const report::ComparisonDocument& document) {
  report::ComparisonHeadline headline;
  const report::MetricChange* step_time = FindMetric(document.metrics, kStepTime);
  headline.verdict = step_time == nullptr ? report::kNotEnoughWord : std::string_view(step_time->verdict);
  if (document.comparable.verdict == "no") {
    headline.verdict = report::kNotEnoughWord;
    headline.sentence = fmt::format("The sides cannot be compared: {}.", fmt::join(document.comparable.reasons, "; "));
    return headline;
  }
  if (step_time == nullptr) return headline;
  headline.sentence = SentenceOf(document, *step_time);
  headline.sureness = SurenessOf(document, *step_time);
  const bool changed = headline.verdict == report::kSlowerWord || headline.verdict == report::kFasterWord;
  headline.details = DetailsOf(document, changed);
  return headline;
}

}  // namespace lockstep::compare
