// Who is named without the test of stragglers: who was late once, looks late but undecided, or caused most of the
// waiting without a rhythm; and what NameCulprits asks of such ranks and of stragglers alike. The rules are those of
// docs/algorithms/verdicts.md. Pure; what is borrowed must outlive the call. Units: ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/metrics/summary/summary.h"

namespace lockstep {

inline constexpr double kContradicted = 0.5;     // confidence at most, where something speaks for somebody else
inline constexpr double kMoreThanFair = 1.5;     // times one rank's even part of all waiting
inline constexpr double kNinetyPercent = 1.645;  // standard deviations to both sides hold 90 % of normal noise

// What names are given by.
struct NamingInput {
  const Fleet& fleet;
  const FleetMeasures& measures;
  const StragglerResult& stragglers;
  const BlameResult* blame;  // null = not known
  const WaitBlame& waiting;
};

// Whether the rank indices, ascending, hold this one.
[[nodiscard]] bool Holds(const std::vector<int32_t>& ascending, int64_t value);

// Whether much of the waiting is that of receivers for senders, as between stages.
[[nodiscard]] bool IsPipeline(const WaitBlame& waiting);

// Members of the fleet that the straggler consists of.
[[nodiscard]] std::vector<size_t> MembersOf(const Fleet& fleet, const Straggler& straggler);

// The undecided scope that the member belongs to, the rank itself first; null: none.
[[nodiscard]] const Undecided* UndecidedOf(const Fleet& fleet, const StragglerResult& stragglers, size_t member);

// Whether `members`, ascending, are late because their part of uneven exchanges takes longer than the others' does: by
// as much as the others wait for them.
[[nodiscard]] bool MovesMore(const std::vector<size_t>& members, int64_t caused_wait_ns, const Fleet& fleet,
                             const FleetMeasures& measures);

// That it stalled, or was slow for a while, is a fact, and what that cost is replayed: only whether it will again is
// not decided.
[[nodiscard]] bool StandsOutAtACost(const Fleet& fleet, const Undecided& it);

[[nodiscard]] bool IsNamed(const std::vector<Culprit>& named, const Fleet& fleet, size_t member);

// How one that is no straggler is named, and looks undecided; false: it is not. `waited_for`: among those that the
// others wait for most. Behind these, only what is known to cost much is told.
[[nodiscard]] bool NameWithoutTest(const NamingInput& in, bool waited_for, Culprit& culprit);

// Adds ranks that stall at a cost, as the replay tells, and that are waited for less than is worth a look by itself:
// each of a pair has one that waits, and what the clocks do not resolve is no certain wait.
void NameStallsLittleWaitedFor(const NamingInput& in, std::vector<Culprit>& named);

}  // namespace lockstep
