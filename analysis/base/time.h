// Time on one clock, as int64 nanoseconds. One C++ type per clock, so that times of different clocks never mix.
//
// LocalTime    a source's own clock reading, expressed on the Unix axis the source claims (meaningless across domains)
// AlignedTime  the reference clock of a component; only ClockModel::Align makes one from a LocalTime
// Duration     a difference, always nanoseconds
//
// Never a double: 19 digit nanoseconds do not fit one. Thread rule: plain values.
#pragma once

#include <compare>
#include <cstdint>

namespace lockstep {

struct Duration {
  int64_t ns = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
};

template <typename Clock>
struct Instant {
  int64_t ns = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
  friend constexpr Instant operator+(Instant a, Duration d) { return {a.ns + d.ns}; }
  friend constexpr Instant operator-(Instant a, Duration d) { return {a.ns - d.ns}; }
};

struct LocalClock;
struct AlignedClock;
using LocalTime = Instant<LocalClock>;
using AlignedTime = Instant<AlignedClock>;

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerS = 1'000'000'000;
inline constexpr int64_t kNsPerHour = 3'600 * kNsPerS;

// Times beyond this bound are absurd in any trace and are dropped by the readers, so that sums of a few of them never
// overflow int64: about 73 years from the Unix epoch, in either direction.
inline constexpr int64_t kMaxAbsTimeNs = int64_t{1} << 61;

}  // namespace lockstep
