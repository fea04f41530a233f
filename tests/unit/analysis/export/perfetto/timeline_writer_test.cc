#include "analysis/export/perfetto/timeline_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/export/perfetto/chrome_format.h"
#include "analysis/export/perfetto/perfetto_format.h"
#include "tests/unit/analysis/export/perfetto/naive_trace.h"
#include "tests/unit/analysis/export/perfetto/random_events.h"

namespace lockstep::perfetto {
namespace {

using testing::ElementsAre;
using testing::Pair;

NaiveTrace TraceOf(const RandomEvents& events, const TimelineWriterOptions& options = {}) {
  PerfettoFormat format;
  return NaiveTrace(Written(events, format, options));
}

using Stretch = std::tuple<std::string, int64_t, int64_t, std::string>;  // process, start, end, name

std::multiset<Stretch> Stretches(const NaiveTrace& trace, const std::set<std::string>& categories) {
  std::multiset<Stretch> stretches;
  for (const NaiveSlice& slice : trace.slices) {
    if (!categories.contains(slice.category)) continue;
    stretches.emplace(trace.ProcessOf(slice.track), slice.start_ns, slice.end_ns, slice.name);
  }
  return stretches;
}

TEST(TimelineWriter, ADecoderFindsEveryEventWithItsRankTimesAndName) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const RandomEvents events = DrawEvents(seed, static_cast<uint32_t>(1 + seed % 5), 40, 120);
    const NaiveTrace trace = TraceOf(events);  // which also checks order, nesting, names and arrows
    std::multiset<Stretch> expected;
    const auto add = [&](const auto& event) {
      expected.emplace(events.timeline.ranks[event.rank].name, event.start_ns, event.start_ns + event.duration_ns,
                       events.timeline.names[event.name]);
    };
    for (const SliceEvent& event : events.slices) add(event);
    for (const StepEvent& event : events.steps) add(event);
    for (const CollectiveEvent& event : events.collectives) add(event);
    EXPECT_EQ(Stretches(trace, {"step", "collective", "kernel", "copy", "memset", "graph", "gap"}), expected);
  }
}

TEST(TimelineWriter, SlicesOfATrackLieOneAfterTheOtherOrInsideOneAnother) {
  const NaiveTrace trace = TraceOf(DrawEvents(5, 3, 50, 400));
  std::map<uint64_t, std::vector<const NaiveSlice*>> open;
  for (const NaiveSlice& slice : trace.slices) {
    std::vector<const NaiveSlice*>& stack = open[slice.track];
    // Of what is inside, only the parts of a collective and the lines about the file.
    while (static_cast<int>(stack.size()) > slice.depth) stack.pop_back();
    ASSERT_EQ(static_cast<int>(stack.size()), slice.depth);
    if (!stack.empty()) {
      EXPECT_LE(stack.back()->start_ns, slice.start_ns);
      EXPECT_GE(stack.back()->end_ns, slice.end_ns);
      EXPECT_THAT(slice.category, testing::AnyOf("wait", "transfer", "about"));
    }
    stack.push_back(&slice);
  }
}

TEST(TimelineWriter, WaitAndTransferOfAMemberTileItsCollective) {
  const RandomEvents events = DrawEvents(7, 4, 60, 0);
  const NaiveTrace trace = TraceOf(events);
  int waits = 0;
  for (const CollectiveEvent& event : events.collectives) waits += event.waits() ? 1 : 0;
  ASSERT_GT(waits, 20);
  EXPECT_EQ(static_cast<int>(Stretches(trace, {"wait"}).size()), waits);
  std::map<std::pair<uint64_t, int64_t>, int64_t> ends_of_waits;  // by track and begin
  for (const NaiveSlice& slice : trace.slices) {
    if (slice.category == "wait") ends_of_waits[{slice.track, slice.start_ns}] = slice.end_ns;
  }
  for (const NaiveSlice& slice : trace.slices) {
    if (slice.category != "collective") continue;
    const auto wait = ends_of_waits.find({slice.track, slice.start_ns});
    if (wait == ends_of_waits.end()) continue;
    EXPECT_EQ(std::to_string(wait->second - slice.start_ns), slice.notes.at("wait_ns"));
    EXPECT_LE(wait->second, slice.end_ns);
  }
}

TEST(TimelineWriter, AnArrowLeadsFromWhoCameLastToWhoWaited) {
  const RandomEvents events = DrawEvents(8, 4, 60, 30);
  const NaiveTrace trace = TraceOf(events);
  std::map<uint64_t, const NaiveSlice*> begins;
  int arrows = 0;
  for (const NaiveSlice& slice : trace.slices) {
    for (const uint64_t flow : slice.flows_from) {
      EXPECT_EQ(slice.category, "collective");
      begins[flow] = &slice;
    }
    for (const uint64_t flow : slice.flows_to) {
      ++arrows;
      EXPECT_EQ(slice.category, "transfer");
      EXPECT_EQ(trace.ProcessOf(begins.at(flow)->track), "rank " + begins.at(flow)->notes.at("last_rank"));
      EXPECT_EQ(begins.at(flow)->start_ns, slice.start_ns);
    }
  }
  EXPECT_GT(arrows, 20);
  EXPECT_EQ(begins.size(), static_cast<size_t>(arrows));
}

TEST(TimelineWriter, MembersOfACollectiveHaveOneCorrelation) {
  const RandomEvents events = DrawEvents(9, 5, 30, 10);
  const NaiveTrace trace = TraceOf(events);
  std::map<uint64_t, std::set<std::string>> ranks;
  for (const NaiveSlice& slice : trace.slices) {
    EXPECT_EQ(slice.correlation != 0, slice.category == "collective");
    if (slice.correlation != 0) ranks[slice.correlation].insert(trace.ProcessOf(slice.track));
  }
  EXPECT_EQ(ranks.size(), 30U);
  for (const auto& [correlation, members] : ranks) EXPECT_EQ(members.size(), 5U);
}

uint64_t TrackWithName(const NaiveTrace& trace, const std::string& name) {
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.name == name) return uuid;
  }
  ADD_FAILURE() << "no track " << name;
  return 0;
}

TEST(TimelineWriter, CountsTheRanksThatWait) {
  const RandomEvents events = DrawEvents(10, 6, 50, 0);
  const NaiveTrace trace = TraceOf(events);
  const auto& samples = trace.samples.at(TrackWithName(trace, "ranks that wait"));
  ASSERT_GT(samples.size(), 50U);
  for (size_t i = 0; i < samples.size(); ++i) {
    std::set<uint32_t> waiting;  // at the time of the sample, by definition
    for (const CollectiveEvent& event : events.collectives) {
      const int64_t until = std::min(event.arrival_ns, event.start_ns + event.duration_ns);
      if (event.waits() && event.start_ns <= samples[i].first && samples[i].first < until) waiting.insert(event.rank);
    }
    EXPECT_EQ(samples[i].second, static_cast<int64_t>(waiting.size())) << "at " << samples[i].first;
    if (i > 0) {
      EXPECT_LT(samples[i - 1].first, samples[i].first);
    }
  }
  EXPECT_EQ(samples.back().second, 0);
}

TEST(TimelineWriter, RanksAreInTheirOrderAndLatenessHasOneParent) {
  const NaiveTrace trace = TraceOf(DrawEvents(11, 4, 20, 5));
  std::vector<std::pair<int64_t, std::string>> processes;
  std::set<uint64_t> parents;
  for (const auto& [uuid, track] : trace.tracks) {
    if (!track.process.empty()) processes.emplace_back(track.place, track.process);
    if (track.name.starts_with("lateness of rank")) parents.insert(track.parent);
  }
  std::sort(processes.begin(), processes.end());
  EXPECT_THAT(processes, ElementsAre(Pair(0, "run a run"), Pair(1, "rank 0"), Pair(2, "rank 2"), Pair(3, "rank 4"),
                                     Pair(4, "rank 6")));
  EXPECT_EQ(parents.size(), 1U);
}

TEST(TimelineWriter, TellsTheTimeOfDayAndWhatItIs) {
  const NaiveTrace trace = TraceOf(DrawEvents(12, 1, 1, 1));
  EXPECT_EQ(trace.clocks.at(6), 0U);
  EXPECT_EQ(trace.clocks.at(1), 1'700'000'000'000'000'000U);
  EXPECT_EQ(trace.attributes.at("left out"), "\"nothing\"\n");
  RandomEvents timeless = DrawEvents(12, 1, 1, 1);
  timeless.timeline.start_unix_ns = 0;
  EXPECT_FALSE(TraceOf(timeless).clocks.contains(1));
}

TEST(TimelineWriter, LeavesOutWhatOverlapsBeyondTheLanes) {
  RandomEvents events = DrawEvents(13, 1, 0, 0);
  for (uint32_t i = 0; i < 100; ++i) {
    events.slices.push_back({.start_ns = i, .duration_ns = 1000, .stream = 7, .name = 8, .ordinal = i});
  }
  PerfettoFormat format;
  int64_t left_out = 0;
  const NaiveTrace trace(Written(events, format, {}, &left_out));
  EXPECT_EQ(left_out, 100 - static_cast<int64_t>(TrackTable::kMostLanes));
  EXPECT_EQ(Stretches(trace, {"kernel"}).size(), TrackTable::kMostLanes);
}

TEST(TimelineWriter, LessDetailIsSmallerAndLosesNoSlice) {
  const RandomEvents events = DrawEvents(14, 4, 60, 20);
  PerfettoFormat full_format;
  PerfettoFormat brief_format;
  const std::string full = Written(events, full_format);
  const std::string brief = Written(events, brief_format, {.detail = Detail::kBrief, .lateness = false});
  EXPECT_LT(brief.size() * 4, full.size() * 3);
  const NaiveTrace a(full);
  const NaiveTrace b(brief);
  EXPECT_EQ(Stretches(a, {"collective", "wait", "kernel"}), Stretches(b, {"collective", "wait", "kernel"}));
}

TEST(TimelineWriter, TheSizeOfItsPiecesChangesNothing) {
  const RandomEvents events = DrawEvents(15, 3, 30, 50);
  PerfettoFormat a;
  PerfettoFormat b;
  EXPECT_EQ(Written(events, a, {.write_bytes = 1}), Written(events, b));
}

TEST(TimelineWriter, AnErrorOfTheSinkStopsIt) {
  PerfettoFormat format;
  TimelineWriter writer(DrawEvents(1, 1, 1, 1).timeline, format, {.write_bytes = 1},
                        [](std::string_view) { return absl::ResourceExhaustedError("full"); });
  EXPECT_TRUE(absl::IsResourceExhausted(writer.Begin()));
}

}  // namespace
}  // namespace lockstep::perfetto
