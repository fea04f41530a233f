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

  // Whether one more may be asked about.
  [[nodiscard]] bool MayAsk() const;

  // Null where the replay cannot tell, as below.
  std::optional<WhatIf> OfOne(size_t candidate);
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
  [[nodiscard]] WhatIf MostOfSome(const std::vector<int32_t>& ranks) const;
  [[nodiscard]] std::optional<WhatIf> LeastOfMore(const std::vector<int32_t>& ranks) const;

  const std::vector<Candidate>& candidates_;
  const TestUnits& units_;
  const Ask& ask_;
  const ReplayedPart& replayed_;
  std::vector<Answer> answers_;
  int asked_ = 0;
};

}  // namespace lockstep
