#include "analysis/export/perfetto/size_plan.h"

#include <algorithm>
#include <bit>

namespace lockstep::perfetto {
namespace {

// Eight classes an octave: 0 is 0, and lengths below 8 have classes of their own.
size_t ClassOf(int64_t length_ns) {
  if (length_ns <= 0) return 0;
  const auto value = static_cast<uint64_t>(length_ns);
  if (value < 8) return static_cast<size_t>(value);
  const int octave = static_cast<int>(std::bit_width(value)) - 1;  // at least 3
  return static_cast<size_t>(8 * (octave - 2)) + static_cast<size_t>(value >> (octave - 3) & 7);
}

// The least length of a class.
int64_t LeastOf(size_t of_class) {
  if (of_class < 16) return static_cast<int64_t>(of_class);
  const auto octave = of_class / 8 + 2;
  if (octave > 62) return INT64_MAX;
  return static_cast<int64_t>((uint64_t{8} + of_class % 8) << (octave - 3));
}

// A twentieth of the limit stays free.
constexpr int64_t kReserve = 20;
constexpr int64_t kMostForIdle = 4;  // a quarter

// Limits come from people, counts from files: neither may overflow.
int64_t Times(int64_t count, int64_t bytes) {
  constexpr int64_t kMost = int64_t{1} << 50;
  return std::clamp<int64_t>(count, 0, kMost) * bytes;
}

}  // namespace

void LengthCounts::Add(int64_t length_ns, int64_t count) { counts_[ClassOf(length_ns)] += count; }

void LengthCounts::Merge(const LengthCounts& other) {
  for (size_t i = 0; i < kClasses; ++i) counts_[i] += other.counts_[i];
}

int64_t LengthCounts::total() const {
  int64_t sum = 0;
  for (const int64_t count : counts_) sum += count;
  return sum;
}

int64_t LengthCounts::LeastFor(int64_t most) const {
  int64_t sum = 0;
  for (size_t i = kClasses; i-- > 0;) {
    sum += counts_[i];
    if (sum > most) return LeastOf(i + 1);
  }
  return 0;
}

int64_t LengthCounts::CountFrom(int64_t length_ns) const {
  int64_t sum = 0;
  for (size_t i = ClassOf(length_ns); i < kClasses; ++i) sum += counts_[i];
  return sum;
}

TimelinePlan PlanTimeline(const TimelineSizes& sizes, int64_t limit_bytes, const EventBytes& bytes) {
  TimelinePlan plan;
  const int64_t samples = Times(sizes.samples, bytes.sample);
  plan.idle = samples <= limit_bytes / kMostForIdle;
  // Names and tracks are not counted, and the estimate is one.
  const int64_t fixed = Times(sizes.steps, bytes.step) + (plan.idle ? samples : 0);
  const int64_t room = std::max<int64_t>(0, limit_bytes - limit_bytes / kReserve - fixed);
  const auto of_collectives = [&](int64_t count) {
    const int64_t waits = sizes.collectives == 0 ? 0 : std::min(count, sizes.waits);
    return Times(count, (plan.detail == Detail::kFull ? bytes.collective : bytes.brief_collective) +
                            (plan.lateness ? bytes.sample : 0)) +
           Times(waits, bytes.wait);
  };
  if (of_collectives(sizes.collectives) > room) plan.lateness = false;
  if (of_collectives(sizes.collectives) > room) plan.detail = Detail::kBrief;
  if (of_collectives(sizes.collectives) > room) {
    // Those that stay wait most: each of them is counted with its wait.
    plan.least_wait_ns = sizes.by_wait.LeastFor(room / (bytes.brief_collective + bytes.wait));
  }
  const int64_t kept = plan.least_wait_ns == 0 ? sizes.collectives : sizes.by_wait.CountFrom(plan.least_wait_ns);
  plan.collectives_left_out = sizes.collectives - kept;
  plan.bytes_left = std::max<int64_t>(0, room - of_collectives(kept));
  return plan;
}

}  // namespace lockstep::perfetto
