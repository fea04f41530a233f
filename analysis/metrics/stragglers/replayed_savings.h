// What mending a candidate saves, asked of the replay. A run may have thousands of candidates: only so many are asked
// about. Pure but for that count; not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/replayed_part.h"
#include "analysis/metrics/stragglers/test_units.h"

namespace lockstep {

class ReplayedSavings {
 public:
  using Ask = std::function<std::optional<WhatIf>(const Idealisation&)>;

  // All are kept by reference. `ask` is empty where the replay does not reproduce the run: then OfOne and OfBurst are
  // not to be called. `replayed`: what `ask` is of.
  ReplayedSavings(const std::vector<Candidate>& candidates, const TestUnits& units, const Ask& ask,
                  const ReplayedPart& replayed)
      : candidates_(candidates), units_(units), ask_(ask), replayed_(replayed) {}

  // Ranks of which each costs little by what is blamed on it, in the order in which they will be asked about, for
  // OfOneAtMost and After: of many suspects hardly any saves enough to be told, so that several are asked about at
  // once. Few are still asked about one by one.
  void Suspect(std::vector<int32_t> ranks);

  // Whether one more may be asked about.
  [[nodiscard]] bool MayAsk() const;

  // Null where the replay cannot tell, as below.
  std::optional<WhatIf> OfOne(size_t candidate);
  // The same, or an upper limit of it that is less than kMinSavingRatio.
  std::optional<WhatIf> OfOneAtMost(size_t candidate);
  // What happened for a while only is idealised in that while. Nothing is saved where there is no such while.
  std::optional<WhatIf> OfBurst(size_t candidate);
  // What it saves once all of these ranks are mended; null where there are none. Mending more ranks saves no less, so
  // what is known of more or fewer ranks may show without a replay that it is less than kMinSavingRatio. Then the
  // result is an upper limit.
  std::optional<WhatIf> After(size_t candidate, std::vector<int32_t> ranks);
  // Replays what all of these save together, for the limits of After.
  void Learn(std::vector<int32_t> ranks);

 private:
  struct Answer {
    std::vector<int32_t> ranks;  // that were mended for the whole run, ascending
    WhatIf saved;
  };

  [[nodiscard]] std::optional<WhatIf> Replayed(const Idealisation& ideal);
  [[nodiscard]] std::optional<WhatIf> ReplayedRanks(std::vector<int32_t> ranks);
  // A search among the suspects for those who save enough: so many are asked about together next.
  struct Search {
    size_t at_once = 0;
    int too_little = 0;  // so many questions in a row found nobody
  };
  // What these ranks save, which are the candidate and those to be mended before it, or what more of the suspects save
  // with them, if that is too little already; `of_mended`: what is known to be saved without the candidate.
  [[nodiscard]] std::optional<WhatIf> WithSuspects(size_t candidate, const std::vector<int32_t>& ranks,
                                                   const WhatIf& of_mended, Search& search);
  [[nodiscard]] WhatIf MostOfSome(const std::vector<int32_t>& ranks) const;
  [[nodiscard]] std::optional<WhatIf> LeastOfMore(const std::vector<int32_t>& ranks) const;

  const std::vector<Candidate>& candidates_;
  const TestUnits& units_;
  const Ask& ask_;
  const ReplayedPart& replayed_;
  std::vector<Answer> answers_;
  std::vector<int32_t> suspects_;
  Search alone_;
  Search after_;
  int asked_ = 0;
};

}  // namespace lockstep
