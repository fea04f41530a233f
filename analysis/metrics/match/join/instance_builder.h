// Makes joined instances of rows: the words that the rows themselves say. Internal to the joining of instances.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// A row of a communicator: position in CommunicatorPlan::ranks, and index into RankRows::rows of that rank.
struct RowRef {
  size_t member = 0;
  uint32_t row = 0;
};

[[nodiscard]] inline const CollectiveRow& RowAt(const JoinInput& input, const RowRef& ref) {
  return input.rows[static_cast<size_t>(input.plan.ranks[ref.member])].rows[ref.row];
}

// Rank index of a position or global rank as the row states it; -1 if unknown or not present in the run.
[[nodiscard]] int32_t ResolvePeer(const JoinInput& input, const RowRef& ref, int32_t peer);

// The row that a member was made of.
[[nodiscard]] RowRef RefOf(const JoinInput& input, const MatchedMember& member);

// `members` in any order, at most one row a rank, at least one.
[[nodiscard]] JoinedInstance MakeInstance(const JoinInput& input, std::span<const RowRef> members, MatchKind kind,
                                          double confidence);
[[nodiscard]] inline JoinedInstance MakeInstance(const JoinInput& input, std::initializer_list<RowRef> members,
                                                 MatchKind kind, double confidence) {
  return MakeInstance(input, std::span(members.begin(), members.size()), kind, confidence);
}

}  // namespace lockstep
