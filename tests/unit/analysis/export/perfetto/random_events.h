// Random events of a run, sorted as the writer wants them, and the writer's output for them.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analysis/export/perfetto/timeline_writer.h"

namespace lockstep::perfetto {

struct RandomEvents {
  Timeline timeline;
  std::vector<SliceEvent> slices;
  std::vector<StepEvent> steps;
  std::vector<CollectiveEvent> collectives;
  std::vector<SampleEvent> samples;
};

// Collectives of all ranks whose members wait for the last one of them; kernels that may overlap; steps in a row.
inline RandomEvents DrawEvents(uint64_t seed, uint32_t ranks, int instances, int kernels) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
  RandomEvents events;
  events.timeline.run = "a run";
  events.timeline.start_unix_ns = 1'700'000'000'000'000'000;
  events.timeline.duration_ns = 10'000'000;
  events.timeline.about = {{"run", "a run"}, {"left out", "\"nothing\"\n"}};
  events.timeline.names = {"host", "launch", "dependency", "other", "group", "kernel", "all_reduce"};
  for (int i = 0; i < 20; ++i) events.timeline.names.push_back("kernel " + std::to_string(i));
  for (uint32_t r = 0; r < ranks; ++r) {
    events.timeline.ranks.push_back({.rank = static_cast<int32_t>(2 * r), .name = "rank " + std::to_string(2 * r)});
  }
  uint64_t flow = 0;
  for (int i = 0; i < instances; ++i) {
    std::vector<CollectiveEvent> members(ranks);
    uint32_t last = 0;
    for (uint32_t r = 0; r < ranks; ++r) {
      members[r].start_ns = 40'000 * i + draw(20'000);
      if (members[r].start_ns > members[last].start_ns) last = r;
    }
    const int64_t arrival_ns = members[last].start_ns;
    for (uint32_t r = 0; r < ranks; ++r) {
      CollectiveEvent& event = members[r];
      event.duration_ns = arrival_ns - event.start_ns + draw(15'000);
      event.arrival_ns = arrival_ns;
      event.wait_ns = std::min(arrival_ns, event.start_ns + event.duration_ns) - event.start_ns;
      event.wait_uncertainty_ns = 1'000;
      event.lateness_ns = draw(1000) - 500;
      event.uncertainty_ns = 1'000;
      event.last_rank = static_cast<int32_t>(2 * last);
      event.awaited_rank = r == last ? -1 : event.last_rank;
      event.last_start_ns = arrival_ns;
      event.instance = static_cast<uint64_t>(i) + 1;
      event.instance_wait_ns = 1000 * i;
      event.rank = r;
      event.stream = static_cast<int32_t>(draw(2));
      event.name = 6;
      event.kernel = 5;
      event.group = 4;
      event.members = ranks;
      event.comparable = draw(10) != 0;
    }
    for (CollectiveEvent& event : members) {
      if (!event.waits() || event.arrival_ns >= event.start_ns + event.duration_ns) continue;
      event.flow_to_here = ++flow;
      if (members[last].flows++ == 0) members[last].first_flow = flow;
    }
    events.collectives.insert(events.collectives.end(), members.begin(), members.end());
  }
  for (uint32_t r = 0; r < ranks; ++r) {
    for (int i = 0; i < kernels; ++i) {
      SliceEvent event{.start_ns = draw(2'000'000), .duration_ns = draw(5) == 0 ? 0 : draw(4'000)};
      event.rank = r;
      event.ordinal = static_cast<uint32_t>(i);
      event.kind = static_cast<SliceKind>(draw(6));
      event.stream = static_cast<int32_t>(draw(3));
      event.name = event.kind == SliceKind::kGap ? static_cast<uint32_t>(draw(4)) : static_cast<uint32_t>(7 + draw(20));
      events.slices.push_back(event);
    }
    for (int i = 0; i < 20; ++i) {
      events.steps.push_back({.start_ns = 100'000 * i, .duration_ns = 100'000, .step = i, .rank = r, .name = 7});
      events.samples.push_back({.start_ns = 100'000 * i, .value = draw(101), .rank = r});
    }
  }
  std::sort(events.slices.begin(), events.slices.end(), InOrder());
  std::sort(events.steps.begin(), events.steps.end(), InOrder());
  std::sort(events.collectives.begin(), events.collectives.end(), InOrder());
  std::sort(events.samples.begin(), events.samples.end(), InOrder());
  return events;
}

// What the writer makes of them, in chunks of a size that cuts packets anywhere.
inline std::string Written(const RandomEvents& events, TimelineFormat& format, TimelineWriterOptions options = {},
                           int64_t* left_out = nullptr) {
  std::string bytes;
  TimelineWriter writer(events.timeline, format, options, [&](std::string_view more) {
    bytes += more;
    return absl::OkStatus();
  });
  EXPECT_TRUE(writer.Begin().ok());
  size_t slice = 0;
  size_t step = 0;
  size_t collective = 0;
  size_t sample = 0;
  const auto next = [](const auto& list, size_t at) { return at < list.size() ? list[at].start_ns : INT64_MAX; };
  while (true) {
    const int64_t least = std::min({next(events.slices, slice), next(events.steps, step),
                                    next(events.collectives, collective), next(events.samples, sample)});
    if (least == INT64_MAX) break;
    if (next(events.steps, step) == least) {
      EXPECT_TRUE(writer.Add(events.steps[step++]).ok());
    } else if (next(events.samples, sample) == least) {
      EXPECT_TRUE(writer.Add(events.samples[sample++]).ok());
    } else if (next(events.collectives, collective) == least) {
      EXPECT_TRUE(writer.Add(events.collectives[collective++]).ok());
    } else {
      EXPECT_TRUE(writer.Add(events.slices[slice++]).ok());
    }
  }
  EXPECT_TRUE(writer.End().ok());
  EXPECT_EQ(writer.written_bytes(), static_cast<int64_t>(bytes.size()));
  if (left_out != nullptr) *left_out = writer.left_out();
  return bytes;
}

}  // namespace lockstep::perfetto
