// Which of the judged candidates are reported: those that cost enough, each by the narrowest scope whose mending saves
// what can be saved. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/judge.h"
#include "analysis/metrics/stragglers/replayed_part.h"

namespace lockstep {

// What decides whether a late candidate costs enough to be reported.
struct Costs {
  std::function<std::optional<WhatIf>(const Idealisation&)> saving;  // empty: the replay does not reproduce the run
  std::function<int64_t(const Candidate&)> critical_ns;              // blamed on it on the critical path, whole run
  // How long others may have waited for it, in a unit, in operations that do not tell who waits for whom; empty: not
  // at all.
  std::function<double(const Candidate&)> open_ns;
  // How much longer the devices of a stage compute in a unit than those of the others.
  std::function<double(const Candidate&)> compute_excess_ns;
  ReplayedPart replayed;  // what `saving` is of
};

struct Selected {
  size_t candidate = 0;
  std::optional<WhatIf> what_if;  // null: the replay cannot tell
  bool shown = true;              // by the replayed part
  // What it saves once those selected before it, or as late as it is, are mended; only where that is much more than it
  // saves alone.
  std::optional<WhatIf> after_others = std::nullopt;
  bool stands_out = false;    // some of its units do, and make up most of its lateness
  bool contradicted = false;  // no what_if: the replayed one saves nothing, and the others lose much to it
  bool open = false;          // no what_if: the same, and the others may have waited for it (Costs::open_ns)
};

struct LateOnce {
  size_t candidate = 0;
  double late_ns = 0;  // in the event
};

struct Selection {
  std::vector<Selected> found;
  std::vector<Selected> undecided;  // worth fixing, but its steps do not decide it
  std::vector<LateOnce> once;       // late in one event, which is most of its lateness: neither of the above
};

// Groups before their members: what a group explains is not repeated for its members.
[[nodiscard]] Selection SelectStragglers(const std::vector<Candidate>& candidates,
                                         const std::vector<Judgement>& judgements, const std::vector<RankOwnTime>& own,
                                         const TestUnits& units, const Costs& costs);

}  // namespace lockstep
