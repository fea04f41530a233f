#include "analysis/condense/segment_builder.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analysis/condense/gap.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/record_scatter.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kCrossStreamNs = 6'000;
constexpr int64_t kSlackNs = 50'000;
constexpr int kCrossStreamLookback = 64;

void AddPart(Segment& segment, ActivitySet set, int64_t instance, int64_t from_ns, int64_t to_ns) {
  const int64_t length = to_ns - from_ns;
  switch (set) {
    case ActivitySet::kCompute:
      segment.compute_ns += length;
      break;
    case ActivitySet::kCopy:
      segment.copy_ns += length;
      break;
    case ActivitySet::kComm:
      segment.other_comm_ns += length;
      if (length > 0) segment.tiles.push_back({instance, from_ns - segment.begin_ns, length});
      break;
    case ActivitySet::kOpaque:
      segment.rest_ns += length;
      break;
  }
}

void AddGapPart(Segment& segment, int64_t from_ns, int64_t to_ns, int64_t launch_end_ns) {
  if (to_ns <= from_ns) return;
  const Gap gap = ClassifyGap(from_ns, to_ns, launch_end_ns, true);
  segment.host_ns += gap.host_end_ns - gap.begin_ns;
  const int64_t rest = gap.end_ns - gap.host_end_ns;
  if (gap.rest == GapRest::kLaunch) segment.launch_ns += rest;
  if (gap.rest == GapRest::kDependency) segment.dependency_ns += rest;
  if (gap.rest == GapRest::kOther) segment.rest_ns += rest;
}

}  // namespace

void SegmentBuilder::Add(const ActivityRecord& activity, ActivitySet set, int64_t instance) {
  Entry entry;
  entry.start_ns = activity.start_ns;
  entry.end_ns = activity.end_ns();
  entry.launch_end_ns = activity.launch_end_ns;
  entry.host_wait = activity.host_wait;
  entry.instance = instance;
  entry.stream = activity.stream;
  entry.set = set;
  const int64_t number = next_number_++;
  const auto last = last_on_stream_.find(activity.stream);
  if (last == last_on_stream_.end()) {
    last_on_stream_.emplace(activity.stream, number);
  } else {
    entry.previous_on_stream = std::exchange(last->second, number);
  }
  if (entries_.size() < kHistory) {
    entries_.push_back(entry);
  } else {
    entries_[static_cast<size_t>(number) % kHistory] = entry;
    ++first_number_;
  }
  if (last_on_stream_.size() > kHistory) last_on_stream_.clear();  // thousands of streams: start anew, bounded
}

bool SegmentBuilder::JustEnded(const Entry& other, const Entry& entry) {
  return other.end_ns <= entry.start_ns + kRecordScatterNs && other.end_ns > entry.start_ns - kCrossStreamNs;
}

SegmentBuilder::Predecessor SegmentBuilder::PredecessorOf(int64_t number) const {
  const Entry& entry = *At(number);
  Predecessor best;
  const auto consider = [&](const Entry* candidate, int64_t candidate_number) {
    if (candidate == nullptr || candidate->start_ns >= entry.start_ns) return;
    const int64_t end = std::min(candidate->end_ns, entry.start_ns);
    if (best.entry == nullptr || end > best.end_ns) {
      if (best.entry != nullptr) best.second_end_ns = std::max(best.second_end_ns, best.end_ns);
      best = {candidate, candidate_number, end, best.second_end_ns};
    } else {
      best.second_end_ns = std::max(best.second_end_ns, end);
    }
  };
  int64_t on_stream = entry.previous_on_stream;
  while (At(on_stream) != nullptr && At(on_stream)->start_ns >= entry.start_ns)
    on_stream = At(on_stream)->previous_on_stream;
  consider(At(on_stream), on_stream);
  for (int64_t back = number - 1; back > number - kCrossStreamLookback && At(back) != nullptr; --back) {
    const Entry& other = *At(back);
    if (other.stream == entry.stream) continue;
    if (JustEnded(other, entry) || entry.host_wait.Saw(other.end_ns)) consider(&other, back);
  }
  return best;
}

Segment SegmentBuilder::Before(int64_t begin_ns, size_t most_tiles) const {
  Segment segment;
  segment.begin_ns = begin_ns;
  int64_t number = next_number_ - 1;
  int64_t t = At(number)->start_ns;
  if (t < begin_ns) return Segment{};  // overlaps its predecessor: no segment between them
  bool is_first = true;
  while (t > begin_ns) {
    if (segment.tiles.size() >= most_tiles) {
      segment.rest_ns += t - begin_ns;
      break;
    }
    const Entry& entry = *At(number);
    const Predecessor before = PredecessorOf(number);
    if (before.entry == nullptr || before.end_ns <= begin_ns) {
      AddGapPart(segment, begin_ns, t, entry.launch_end_ns);
      break;
    }
    if (is_first) {
      const int64_t second = std::max(before.second_end_ns, std::min(entry.launch_end_ns, t));
      is_first = false;
      const int64_t slack = second == kNoTime ? kSlackNs : std::abs(before.end_ns - second);
      if (slack < kSlackNs) segment.second_slack_ns = slack;
    }
    AddGapPart(segment, before.end_ns, t, entry.launch_end_ns);
    const int64_t from = std::max(begin_ns, before.entry->start_ns);
    AddPart(segment, before.entry->set, before.entry->instance, from, before.end_ns);
    t = from;
    number = before.number;
  }
  std::reverse(segment.tiles.begin(), segment.tiles.end());
  return segment;
}

}  // namespace lockstep
