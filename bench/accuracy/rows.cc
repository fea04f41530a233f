#include "bench/accuracy/rows.h"

#include <fmt/format.h>

#include <sstream>

#include "analysis/base/hash128.h"

namespace lockstep {

uint64_t SeedOf(const Plan& plan, std::string_view row, int trial) {
  const Hash128 hash = HashBuilder().Add(static_cast<int64_t>(plan.seed)).Add(row).Add(int64_t{trial}).Finish();
  return hash.low;
}

Task TrialTask(const FigureRow& row, std::vector<std::string> flags, uint64_t seed, bool step_times_without,
               std::function<void(Trial&, Score&)> score) {
  std::vector<std::string> claims;
  for (const Claim& claim : row.claims) claims.push_back(claim.name);
  return [=]() {
    Score out;
    auto trial = Trial::Run(flags, seed, step_times_without);
    if (!trial.ok()) {
      out.Note(fmt::format("seed {}: {}", seed, std::string(trial.status().message())));
      for (const std::string& claim : claims) out.Count(claim, false);
      return out;
    }
    score(**trial, out);
    if (!out.notes().empty())
      out.Note(fmt::format("  in: lockstep-simulate {} --seed {}", fmt::join(flags, " "), seed));
    return out;
  };
}

std::vector<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace lockstep
