#include "bench/accuracy/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

constexpr size_t kShownNotes = 12;

Count CountOf(const Score& score, const std::string& claim) {
  const auto at = score.counts().find(claim);
  return at == score.counts().end() ? Count{} : at->second;
}

double HitShare(const Count& count) {
  return count.trials == 0 ? 0 : static_cast<double>(count.hits) / static_cast<double>(count.trials);
}

// What was counted and is no claim: shown, so that one sees where a claim fails.
std::vector<std::pair<std::string, Count>> OthersOf(const ScoredRow& scored) {
  std::vector<std::pair<std::string, Count>> others;
  for (const auto& counted : scored.score.counts()) {
    const auto claims = [&](const Claim& claim) { return claim.name == counted.first; };
    if (std::none_of(scored.row.claims.begin(), scored.row.claims.end(), claims)) others.push_back(counted);
  }
  return others;
}

std::string_view EffortName(Effort effort) {
  return effort == Effort::kQuick ? "quick" : effort == Effort::kDefault ? "default" : "full";
}

}  // namespace

std::string TextOf(const ScoredRow& scored) {
  std::string text = fmt::format("{}  ({})\n", scored.row.figure, scored.row.id);
  for (const Claim& claim : scored.row.claims) {
    const Count count = CountOf(scored.score, claim.name);
    const Interval seen = SeenInterval(count);
    text += fmt::format("  {:<38} {:>9} of {:<9} {:8.4f} %  [{:.4f}, {:.4f}]  {}\n", claim.name, count.hits,
                        count.trials, HitShare(count) * 100, seen.lo * 100, seen.hi * 100, Name(Judge(claim, count)));
  }
  for (const auto& [name, count] : OthersOf(scored)) {
    text += fmt::format("  {:<38} {:>9} of {:<9} {:8.4f} %\n", name, count.hits, count.trials, HitShare(count) * 100);
  }
  for (const auto& [series, values] : scored.score.values()) {
    text += fmt::format("  {:<38} p50 {:.4g}  p95 {:.4g}  p99 {:.4g}  max {:.4g} {}  (n = {})\n", series,
                        Percentile(values, 0.5), Percentile(values, 0.95), Percentile(values, 0.99),
                        Percentile(values, 1), scored.row.unit, values.size());
  }
  const std::vector<std::string>& notes = scored.score.notes();
  for (size_t i = 0; i < std::min(notes.size(), kShownNotes); ++i) text += fmt::format("    {}\n", notes[i]);
  if (notes.size() > kShownNotes) {
    text += fmt::format("    ({} more lines are in the file of --json)\n", notes.size() - kShownNotes);
  }
  return text;
}

nlohmann::ordered_json JsonOf(const std::vector<ScoredRow>& rows, const Plan& plan) {
  nlohmann::ordered_json json;
  json["schema"] = "lockstep.accuracy/1";
  json["seed"] = std::to_string(plan.seed);
  json["effort"] = EffortName(plan.effort);
  json["figures"] = nlohmann::ordered_json::array();
  for (const ScoredRow& scored : rows) {
    nlohmann::ordered_json figure;
    figure["id"] = scored.row.id;
    figure["figure"] = scored.row.figure;
    figure["unit"] = scored.row.unit;
    for (const Claim& claim : scored.row.claims) {
      const Count count = CountOf(scored.score, claim.name);
      const Interval seen = SeenInterval(count);
      figure["claims"].push_back({{"claim", claim.name},
                                  {"target_ratio", claim.target},
                                  {"hits", count.hits},
                                  {"trials", count.trials},
                                  {"interval", {seen.lo, seen.hi}},
                                  {"verdict", Name(Judge(claim, count))}});
    }
    for (const auto& [name, count] : OthersOf(scored)) {
      figure["counts"][name] = {{"hits", count.hits}, {"trials", count.trials}};
    }
    for (const auto& [series, values] : scored.score.values()) {
      figure["values"][series] = {{"p50", Percentile(values, 0.5)},
                                  {"p95", Percentile(values, 0.95)},
                                  {"p99", Percentile(values, 0.99)},
                                  {"max", Percentile(values, 1)},
                                  {"count", values.size()}};
    }
    figure["notes"] = scored.score.notes();
    json["figures"].push_back(std::move(figure));
  }
  return json;
}

int MissedClaims(const std::vector<ScoredRow>& rows, bool strict) {
  int missed = 0;
  for (const ScoredRow& scored : rows) {
    for (const Claim& claim : scored.row.claims) {
      const Verdict verdict = Judge(claim, CountOf(scored.score, claim.name));
      if (verdict == Verdict::kMissed || (strict && verdict == Verdict::kNotEnoughTrials)) ++missed;
    }
  }
  return missed;
}

}  // namespace lockstep
