#include "analysis/export/perfetto/size_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analysis/export/perfetto/chrome_format.h"
#include "analysis/export/perfetto/perfetto_format.h"
#include "tests/unit/analysis/export/perfetto/random_events.h"

namespace lockstep::perfetto {
namespace {

TEST(LengthCounts, TheLeastLengthKeepsNoMoreThanAskedForAndNotMuchLess) {
  std::mt19937_64 random(31);
  for (int round = 0; round < 50; ++round) {
    std::vector<int64_t> lengths;
    LengthCounts counts;
    for (int i = 0; i < 500; ++i) {
      lengths.push_back(static_cast<int64_t>(random() >> (1 + random() % 63)));
      counts.Add(lengths.back());
    }
    const auto most = static_cast<int64_t>(random() % 600);
    const int64_t least = counts.LeastFor(most);
    const auto kept = std::count_if(lengths.begin(), lengths.end(), [&](int64_t l) { return l >= least; });
    EXPECT_LE(kept, most);
    EXPECT_EQ(counts.CountFrom(least), kept);
    EXPECT_EQ(counts.total(), 500);
    if (most >= 500) {
      EXPECT_EQ(least, 0);
    }
    // A length an eighth shorter would have been too much.
    const auto more =
        std::count_if(lengths.begin(), lengths.end(), [&](int64_t l) { return l >= least - least / 8 - 1; });
    if (least > 0) {
      EXPECT_GT(more, most);
    }
  }
}

TEST(LengthCounts, TakesAbsurdLengths) {
  LengthCounts counts;
  for (const int64_t length : {INT64_MAX, INT64_MIN, int64_t{0}, int64_t{-5}}) counts.Add(length);
  EXPECT_EQ(counts.total(), 4);
  EXPECT_EQ(counts.LeastFor(0), INT64_MAX);
  EXPECT_EQ(counts.LeastFor(4), 0);
}

TimelineSizes ManyCollectives(int64_t count) {
  TimelineSizes sizes;
  sizes.collectives = count;
  sizes.waits = count / 2;
  for (int64_t i = 0; i < 1000; ++i) sizes.by_wait.Add(i * 1000, count / 1000);
  return sizes;
}

TEST(SizePlan, LeavesNothingOutWhileThereIsRoom) {
  const TimelinePlan plan = PlanTimeline(ManyCollectives(1000), 300'000'000);
  EXPECT_EQ(plan.detail, Detail::kFull);
  EXPECT_TRUE(plan.lateness);
  EXPECT_EQ(plan.collectives_left_out, 0);
  EXPECT_GT(plan.bytes_left, 280'000'000);
}

TEST(SizePlan, LeavesOutTheLeastInterestingFirst) {
  const TimelineSizes sizes = ManyCollectives(1'000'000);  // 253 MB with all
  const TimelinePlan no_lateness = PlanTimeline(sizes, 250'000'000);
  EXPECT_FALSE(no_lateness.lateness);
  EXPECT_EQ(no_lateness.detail, Detail::kFull);
  const TimelinePlan brief = PlanTimeline(sizes, 180'000'000);
  EXPECT_EQ(brief.detail, Detail::kBrief);
  EXPECT_EQ(brief.collectives_left_out, 0);
  const TimelinePlan few = PlanTimeline(sizes, 50'000'000);
  EXPECT_GT(few.least_wait_ns, 500'000);
  EXPECT_GT(few.collectives_left_out, 700'000);
  EXPECT_LT(few.collectives_left_out, 1'000'000);
}

TEST(SizePlan, CountersOfIdleTimeTakeNoMoreThanAQuarter) {
  TimelineSizes sizes;
  sizes.samples = 1000;
  EXPECT_FALSE(PlanTimeline(sizes, 4 * 1000 * EventBytes{}.sample - 4).idle);
  EXPECT_TRUE(PlanTimeline(sizes, 4 * 1000 * EventBytes{}.sample).idle);
}

TEST(SizePlan, NeverTakesMoreThanTheLimitAndTakesAnyLimit) {
  const EventBytes bytes;
  for (const int64_t limit : {int64_t{1}, int64_t{1000}, int64_t{100'000'000}, INT64_MAX}) {
    for (const int64_t count : {int64_t{0}, int64_t{1000}, int64_t{50'000'000}}) {
      const TimelinePlan plan = PlanTimeline(ManyCollectives(count), limit);
      const int64_t kept = count - plan.collectives_left_out;
      EXPECT_GE(kept, 0);
      EXPECT_LE(kept * bytes.brief_collective, limit);
      EXPECT_GE(plan.bytes_left, 0);
    }
  }
}

TEST(SizePlan, EstimatesWhatIsWritten) {
  const EventBytes perfetto;
  const EventBytes chrome = ChromeBytes();
  RandomEvents all = DrawEvents(41, 8, 2000, 1500);
  // Times of a run of half a minute: small numbers take less room.
  constexpr int64_t kLaterNs = 30'000'000'000;
  for (SliceEvent& event : all.slices) {
    event.start_ns += kLaterNs;
    event.step = 1000;
  }
  for (CollectiveEvent& event : all.collectives) {
    event.start_ns += kLaterNs;
    event.arrival_ns += kLaterNs;
    event.last_start_ns += kLaterNs;
    event.step = event.seq = 1000;
    event.bytes = 1 << 20;
    event.transfer_ns = 10'000;
  }
  const auto check = [&](const RandomEvents& events, int64_t of_perfetto, int64_t of_chrome, const char* what) {
    PerfettoFormat one;
    ChromeFormat other;
    const auto a = static_cast<double>(Written(events, one, {.lateness = false}).size());
    const auto b = static_cast<double>(Written(events, other, {.lateness = false}).size());
    EXPECT_GT(static_cast<double>(of_perfetto), a * 0.75) << what << a;
    EXPECT_LT(static_cast<double>(of_perfetto), a * 1.34) << what << a;
    EXPECT_GT(static_cast<double>(of_chrome), b * 0.75) << what << b;
    EXPECT_LT(static_cast<double>(of_chrome), b * 1.5) << what << b;
  };
  RandomEvents kernels{.timeline = all.timeline, .slices = all.slices, .steps = {}, .collectives = {}, .samples = {}};
  const auto count = static_cast<int64_t>(kernels.slices.size());
  check(kernels, count * perfetto.kernel, count * chrome.kernel, "kernels ");
  RandomEvents collectives = kernels;
  collectives.slices.clear();
  collectives.collectives = all.collectives;
  int64_t waits = 0;
  for (const CollectiveEvent& event : all.collectives) waits += event.waits() ? 1 : 0;
  const auto members = static_cast<int64_t>(all.collectives.size());
  check(collectives, members * perfetto.collective + waits * perfetto.wait,
        members * chrome.collective + waits * chrome.wait, "collectives ");
}

}  // namespace
}  // namespace lockstep::perfetto
