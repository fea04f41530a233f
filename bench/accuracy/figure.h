// One figure of the accuracy table: what is promised, what was seen, and whether that holds.
//
// A figure is made of claims, each about a share of trials. A claim holds if its 95 % interval contains or beats the
// target; a claim that no miss is allowed for ("exact") holds only without one. With fewer trials than the target can
// be told from (3 / p for a rate of at most p), the verdict is "not enough trials".
//
// Trials of one simulated cluster share its clocks and its noise, so that they say less than as many independent ones:
// the interval is that of the effective number of trials (see EffectiveTrials).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/accuracy/proportion.h"

namespace lockstep {

enum class ClaimKind : uint8_t {
  kAtLeast = 0,  // the share of hits is at least `target`
  kExact = 1,    // every trial is a hit
  kBetween = 2,  // the share lies between `target` and `upper`
};

struct Claim {
  std::string name;  // "p99 <= 5 us"
  ClaimKind kind = ClaimKind::kAtLeast;
  double target = 1;
  double upper = 1;        // kBetween
  int64_t min_trials = 0;  // 0: derived from the target
};

struct Count {
  int64_t hits = 0;
  int64_t trials = 0;
  // Over the scores that were merged, each of one simulated cluster.
  int64_t clusters = 0;
  double hits_squared = 0;
  double hits_times_trials = 0;
  double trials_squared = 0;
};

// What trials give to a figure. Merged in the order of the trials, so that threads change nothing.
class Score {
 public:
  void Count(std::string_view claim, bool hit) { Count(claim, hit ? 1 : 0, 1); }
  void Count(std::string_view claim, int64_t hits, int64_t trials);
  // A measured value, for the percentiles shown beside the claims.
  void Value(std::string_view series, double value) { values_[std::string(series)].push_back(value); }
  // What went wrong, for people; the text of a table shows the first few.
  void Note(std::string text) { notes_.push_back(std::move(text)); }
  void Merge(const Score& other);

  [[nodiscard]] const std::map<std::string, lockstep::Count>& counts() const { return counts_; }
  [[nodiscard]] const std::map<std::string, std::vector<double>>& values() const { return values_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::map<std::string, lockstep::Count> counts_;
  std::map<std::string, std::vector<double>> values_;
  std::vector<std::string> notes_;
};

enum class Verdict : uint8_t { kHeld = 0, kMissed = 1, kNotEnoughTrials = 2 };
[[nodiscard]] std::string_view Name(Verdict verdict);  // "held" | "missed" | "not enough trials"

// How many independent trials are as sure as these, from how much the share differs between clusters (ratio estimator);
// never more than there are. All of them where nothing differs, and where the trials are of one cluster.
[[nodiscard]] double EffectiveTrials(const Count& count);
// The 95 % interval of the share: exact (Clopper-Pearson) for the effective trials. Source: Korn and Graubard,
// "Confidence intervals for proportions with small expected number of positive counts estimated from survey data",
// Survey Methodology 24 (1998).
[[nodiscard]] Interval SeenInterval(const Count& count);
[[nodiscard]] int64_t MinTrials(const Claim& claim);
[[nodiscard]] Verdict Judge(const Claim& claim, const Count& count);

// Order statistic ceil(q n); 0 without values.
[[nodiscard]] double Percentile(std::vector<double> values, double q);

}  // namespace lockstep
