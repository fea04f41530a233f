// The one catalogue of why a record was dropped, repaired or left ambiguous. Nothing vanishes silently: every such
// record is counted under one of these, the counters travel with the data, and the quality view shows them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep {

// clang-format off
#define LOCKSTEP_DROP_REASONS(X) \
  X(kZeroTime, "zero_time") X(kNegativeDuration, "negative_duration") \
  X(kOutsideWindow, "outside_window") X(kAbsurdDuration, "absurd_duration") \
  X(kBadNumber, "bad_number") X(kBadString, "bad_string") \
  X(kBadUtf8, "bad_utf8") X(kOversizeEvent, "oversize_event") \
  X(kUnknownPhase, "unknown_phase") X(kTruncatedTail, "truncated_tail") \
  X(kGzipTruncated, "gzip_truncated") X(kResync, "resync") \
  X(kMissingLaunch, "missing_launch") X(kNegativeLaunchDelay, "negative_launch_delay") \
  X(kStrayDevice, "stray_device") X(kDuplicateRecord, "duplicate_record") \
  X(kNameLimit, "name_limit") X(kKeyLimit, "key_limit") \
  X(kElidedGroupUnresolved, "elided_group_unresolved") X(kNoGroup, "no_group") \
  X(kClockOrderViolation, "clock_order_violation") X(kUnmatchedInstance, "unmatched_instance") \
  X(kAmbiguousInstance, "ambiguous_instance") X(kConflictingBatch, "conflicting_batch") \
  X(kDuplicateRank, "duplicate_rank") X(kStepLimit, "step_limit")
// clang-format on

enum class DropReason : uint8_t {
#define LOCKSTEP_X(id, name) id,
  LOCKSTEP_DROP_REASONS(LOCKSTEP_X)
#undef LOCKSTEP_X
};

inline constexpr std::array kDropReasonNames = {
#define LOCKSTEP_X(id, name) std::string_view(name),
    LOCKSTEP_DROP_REASONS(LOCKSTEP_X)
#undef LOCKSTEP_X
};
inline constexpr size_t kDropReasonCount = kDropReasonNames.size();

constexpr std::string_view Name(DropReason reason) { return kDropReasonNames[static_cast<size_t>(reason)]; }

// Counts per reason. Plain value; merging is addition.
struct DropCounters {
  std::array<int64_t, kDropReasonCount> count{};

  void Add(DropReason reason, int64_t n = 1) { count[static_cast<size_t>(reason)] += n; }
  [[nodiscard]] int64_t Of(DropReason reason) const { return count[static_cast<size_t>(reason)]; }
  void Merge(const DropCounters& other) {
    for (size_t i = 0; i < kDropReasonCount; ++i) count[i] += other.count[i];
  }
  // Records that are lost to the analysis (repairs and missing launches are not losses).
  [[nodiscard]] int64_t Lost() const {
    return Of(DropReason::kZeroTime) + Of(DropReason::kNegativeDuration) + Of(DropReason::kOutsideWindow) +
           Of(DropReason::kAbsurdDuration) + Of(DropReason::kBadNumber) + Of(DropReason::kOversizeEvent) +
           Of(DropReason::kResync);
  }
  friend bool operator==(const DropCounters&, const DropCounters&) = default;
};

}  // namespace lockstep
