#include "agent/spool/spool_index.h"

#include <algorithm>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/model/instance_row.h"

namespace lockstep {
namespace {

// What was found of one source.
struct Found {
  std::optional<RecordPlace> context;
  std::map<int64_t, RecordPlace> batches;
};

// No source has so many batches.
constexpr int64_t kMaxSequence = int64_t{1} << 60;

SpoolPosition PositionOf(const RecordPlace& place) { return {place.segment, place.offset}; }

// From where on the records of each rewound source count.
std::map<Hash128, SpoolPosition> RewoundFrom(const std::vector<SpoolRecord>& records) {
  std::map<Hash128, SpoolPosition> from;
  for (const SpoolRecord& record : records) {
    if (record.kind == FrameKind::kRewind) {
      SpoolPosition& position = from[record.id];
      position = std::max(position, record.before);
    }
  }
  return from;
}

bool IsSequence(int64_t sequence) { return sequence >= 0 && sequence < kMaxSequence; }

// -1 = nothing.
int64_t AcknowledgedOf(const Acknowledged& acknowledged, const Hash128& id) {
  const auto found = acknowledged.find(id);
  if (found == acknowledged.end() || (found->second != kAllAcknowledged && !IsSequence(found->second))) {
    return -1;
  }
  return found->second;
}

}  // namespace

SpoolIndex::SpoolIndex(const std::vector<SpoolRecord>& records, const Acknowledged& acknowledged,
                       std::vector<LostBatches>& lost) {
  std::map<Hash128, Found> found;
  std::vector<Hash128> order;
  const std::map<Hash128, SpoolPosition> rewound = RewoundFrom(records);
  for (const SpoolRecord& record : records) {
    if (record.kind == FrameKind::kRewind) {
      PutRewind(record.id, {record.place, record.before});
      continue;
    }
    if (const auto from = rewound.find(record.id);
        from != rewound.end() && record.kind != FrameKind::kNote && PositionOf(record.place) < from->second) {
      continue;
    }
    if (AcknowledgedOf(acknowledged, record.id) == kAllAcknowledged) {
      continue;
    }
    if (record.kind == FrameKind::kNote) {
      Put(record);
      continue;
    }
    const auto [place, added] = found.try_emplace(record.id);
    if (added) {
      order.push_back(record.id);
    }
    if (record.kind == FrameKind::kContext) {
      place->second.context = record.place;
    } else if (record.kind == FrameKind::kBatch && IsSequence(record.sequence)) {
      place->second.batches.insert_or_assign(record.sequence, record.place);
    }
  }
  for (const Hash128& id : order) {
    const Found& what = found.at(id);
    const int64_t wanted = AcknowledgedOf(acknowledged, id) + 1;
    auto batch = what.batches.lower_bound(wanted);
    int64_t next = wanted;
    // A context with nothing to send is let go: whoever has more of the source writes it again, and if all of it was
    // given, nobody would ever release it.
    if (what.context && batch != what.batches.end()) {
      next = batch->first;
      if (next > wanted) {
        lost.push_back({id, wanted, next - 1});
      }
      Put({FrameKind::kContext, id, 0, *what.context});
      SourceOf(id).first = next;
      for (; batch != what.batches.end() && batch->first == next; ++batch) {
        Put({FrameKind::kBatch, id, next++, batch->second});
      }
    }
    if (!what.batches.empty() && what.batches.rbegin()->first >= next) {
      lost.push_back({id, next, what.batches.rbegin()->first});
    }
  }
  for (const auto& [id, sequence] : acknowledged) {
    if (sequence == kAllAcknowledged) {
      released_.insert(id);
    } else if (IsSequence(sequence) && !sources_.contains(id)) {
      SourceOf(id).first = sequence + 1;
    }
  }
}

void SpoolIndex::AddBytes(uint32_t segment, int64_t bytes) {
  segments_[segment].bytes += bytes;
  total_bytes_ += bytes;
}

void SpoolIndex::Live(const RecordPlace& place) {
  Segment& segment = segments_[place.segment];
  segment.live_bytes += place.bytes;
  ++segment.live_records;
}

void SpoolIndex::Dead(const RecordPlace& place) {
  Segment& segment = segments_[place.segment];
  segment.live_bytes -= place.bytes;
  --segment.live_records;
}

SpoolIndex::Source& SpoolIndex::SourceOf(const Hash128& id) {
  const auto [place, added] = sources_.try_emplace(id);
  if (added) {
    place->second.order = next_order_++;
  }
  return place->second;
}

bool SpoolIndex::Wants(FrameKind kind, const Hash128& id, int64_t sequence) const {
  if (kind == FrameKind::kNote || kind == FrameKind::kRewind) {
    return true;
  }
  if (released_.contains(id)) {
    return false;
  }
  const auto found = sources_.find(id);
  if (kind == FrameKind::kContext) {
    return found == sources_.end() || !found->second.context;
  }
  return found != sources_.end() && found->second.context && sequence == found->second.next();
}

void SpoolIndex::Put(const SpoolRecord& record) {
  LOCKSTEP_CHECK(Wants(record.kind, record.id, record.sequence));
  if (record.kind == FrameKind::kRewind) {
    PutRewind(record.id, {record.place, record.before});
    DropIdleRewinds();
    return;
  }
  Live(record.place);
  switch (record.kind) {
    case FrameKind::kContext:
      SourceOf(record.id).context = record.place;
      break;
    case FrameKind::kBatch:
      PutBatch(record.id, record.place);
      break;
    default:
      PutNote(record.id, record.place);
      break;
  }
}

void SpoolIndex::PutBatch(const Hash128& id, const RecordPlace& place) {
  Source& source = sources_.at(id);
  source.batches.push_back(place);
  if (!source.parked) {
    sendable_[source.order] = id;
  }
  ++unsent_;
}

void SpoolIndex::PutNote(const Hash128& id, const RecordPlace& place) {
  const auto [entry, added] = notes_.try_emplace(id);
  if (!added) {
    Dead(entry->second.place);
    notes_by_order_.erase(entry->second.order);
    --unsent_;
  }
  released_.erase(id);
  entry->second = {next_order_++, place};
  notes_by_order_[entry->second.order] = id;
  ++unsent_;
}

// Of two of a source the one that voids more is enough: the other one may be a copy that was moved.
void SpoolIndex::PutRewind(const Hash128& id, const RewindEntry& entry) {
  const auto [known, added] = rewinds_.try_emplace(id, entry);
  if (!added) {
    if (entry.before < known->second.before) {
      return;
    }
    Dead(known->second.place);
    known->second = entry;
  }
  Live(entry.place);
}

void SpoolIndex::Move(const SpoolRecord& record, const RecordPlace& place) {
  Dead(record.place);
  Live(place);
  if (record.kind == FrameKind::kNote) {
    notes_.at(record.id).place = place;
  } else if (record.kind == FrameKind::kRewind) {
    rewinds_.at(record.id).place = place;
  } else if (record.kind == FrameKind::kContext) {
    sources_.at(record.id).context = place;
  } else {
    Source& source = sources_.at(record.id);
    source.batches.at(static_cast<size_t>(record.sequence - source.first)) = place;
  }
}

void SpoolIndex::DropFront(const Hash128& id, Source& source) {
  LOCKSTEP_CHECK(sources_.contains(id));
  Dead(source.batches.front());
  source.batches.pop_front();
  ++source.first;
  --unsent_;
  if (source.batches.empty()) {
    sendable_.erase(source.order);
  }
}

void SpoolIndex::DropBatches(const Hash128& id, Source& source) {
  while (!source.batches.empty()) {
    DropFront(id, source);
  }
}

void SpoolIndex::Acknowledge(const Hash128& id, int64_t sequence) {
  const auto found = sources_.find(id);
  if (found == sources_.end()) {
    return;
  }
  Source& source = found->second;
  while (!source.batches.empty() && source.first <= sequence) {
    DropFront(id, source);
  }
  if (source.batches.empty() && sequence < kAllAcknowledged && source.first <= sequence) {
    source.first = sequence + 1;  // the aggregator has more than was given: from an earlier agent
  }
}

void SpoolIndex::Release(const Hash128& id) {
  if (const auto note = notes_.find(id); note != notes_.end()) {
    Dead(note->second.place);
    notes_by_order_.erase(note->second.order);
    notes_.erase(note);
    --unsent_;
    return;
  }
  released_.insert(id);
  const auto found = sources_.find(id);
  if (found == sources_.end()) {
    return;
  }
  DropBatches(id, found->second);
  if (found->second.context) {
    Dead(*found->second.context);
  }
  sources_.erase(found);
}

void SpoolIndex::Rewind(const Hash128& id, int64_t last_sequence) {
  released_.erase(id);
  Source& source = SourceOf(id);
  DropBatches(id, source);
  if (source.context) {
    Dead(*source.context);
    source.context.reset();
  }
  source.first = last_sequence + 1;
  source.needs_rewind = true;
}

void SpoolIndex::TakeBack(const Hash128& id) {
  if (released_.contains(id) || sources_.contains(id)) {
    Rewind(id, -1);
  }
}

bool SpoolIndex::NeedsRewind(const Hash128& id) const {
  const auto found = sources_.find(id);
  return found != sources_.end() && found->second.needs_rewind;
}

void SpoolIndex::RewindIsSafe(const Hash128& id) {
  if (const auto found = sources_.find(id); found != sources_.end()) {
    found->second.needs_rewind = false;
  }
}

// What is void stands in a segment before that of `before`, or in that one; if the rewind stands there itself, both go
// together.
void SpoolIndex::DropIdleRewinds() {
  const uint32_t first = segments_.empty() ? 0 : segments_.begin()->first;
  for (auto entry = rewinds_.begin(); entry != rewinds_.end();) {
    const auto& [place, before] = entry->second;
    if (first < before.segment || (first == before.segment && place.segment != before.segment)) {
      ++entry;
    } else {
      Dead(place);
      entry = rewinds_.erase(entry);
    }
  }
}

void SpoolIndex::Park(const Hash128& id) {
  if (const auto found = sources_.find(id); found != sources_.end()) {
    found->second.parked = true;
    sendable_.erase(found->second.order);
  }
}

void SpoolIndex::Resume(const Hash128& id) {
  const auto found = sources_.find(id);
  if (found == sources_.end() || !std::exchange(found->second.parked, false)) {
    return;
  }
  // Behind all others: many that are put off again and again must not keep those from their turn that are not.
  found->second.order = next_order_++;
  if (!found->second.batches.empty()) {
    sendable_[found->second.order] = id;
  }
}

int64_t SpoolIndex::parked() const {
  int64_t batches = 0;
  for (const auto& [id, source] : sources_) {
    batches += source.parked ? static_cast<int64_t>(source.batches.size()) : 0;
  }
  return batches;
}

std::vector<Hash128> SpoolIndex::Sendable(size_t limit) const {
  std::vector<Hash128> ids;
  for (auto entry = sendable_.begin(); entry != sendable_.end() && ids.size() < limit; ++entry) {
    ids.push_back(entry->second);
  }
  return ids;
}

std::vector<std::pair<uint64_t, Hash128>> SpoolIndex::NotesAfter(uint64_t after, size_t limit) const {
  std::vector<std::pair<uint64_t, Hash128>> notes;
  for (auto note = notes_by_order_.upper_bound(after); note != notes_by_order_.end() && notes.size() < limit; ++note) {
    notes.push_back(*note);
  }
  return notes;
}

std::optional<RecordPlace> SpoolIndex::Context(const Hash128& id) const {
  const auto found = sources_.find(id);
  return found == sources_.end() ? std::nullopt : found->second.context;
}

std::optional<RecordPlace> SpoolIndex::Note(const Hash128& id) const {
  const auto found = notes_.find(id);
  return found == notes_.end() ? std::nullopt : std::optional(found->second.place);
}

std::optional<RecordPlace> SpoolIndex::Batch(const Hash128& id, int64_t sequence) const {
  const auto found = sources_.find(id);
  if (found == sources_.end() || sequence < found->second.first || sequence >= found->second.next()) {
    return std::nullopt;
  }
  return found->second.batches[static_cast<size_t>(sequence - found->second.first)];
}

bool SpoolIndex::Holds(const Hash128& id, int64_t batches) const {
  const auto found = sources_.find(id);
  const bool as_source = found != sources_.end() && found->second.context && found->second.next() >= batches;
  return as_source || notes_.contains(id);
}

std::pair<int64_t, int64_t> SpoolIndex::Range(const Hash128& id) const {
  const auto found = sources_.find(id);
  return found == sources_.end() ? std::pair<int64_t, int64_t>(0, 0)
                                 : std::pair(found->second.first, found->second.next());
}

int64_t SpoolIndex::BytesOf(uint32_t segment) const {
  const auto found = segments_.find(segment);
  return found == segments_.end() ? 0 : found->second.bytes;
}

int64_t SpoolIndex::LiveBytesOf(uint32_t segment) const {
  const auto found = segments_.find(segment);
  return found == segments_.end() ? 0 : found->second.live_bytes;
}

std::vector<uint32_t> SpoolIndex::Dead(uint32_t active) const {
  std::vector<uint32_t> dead;
  for (const auto& [number, segment] : segments_) {
    if (number != active && segment.live_records == 0) {
      dead.push_back(number);
    }
  }
  return dead;
}

std::optional<uint32_t> SpoolIndex::MostlyDead(uint32_t active) const {
  std::optional<uint32_t> best;
  double best_share = 0.5;
  for (const auto& [number, segment] : segments_) {
    const double share = static_cast<double>(segment.live_bytes) / static_cast<double>(segment.bytes);
    if (number != active && segment.live_records > 0 && share <= best_share) {
      best = number;
      best_share = share;
    }
  }
  return best;
}

std::vector<SpoolRecord> SpoolIndex::LiveIn(uint32_t segment) const {
  std::vector<SpoolRecord> records;
  const auto add = [&](FrameKind kind, const Hash128& id, int64_t sequence, const RecordPlace& place) {
    if (place.segment == segment) {
      records.push_back({kind, id, sequence, place});
    }
  };
  for (const auto& [id, source] : sources_) {
    if (source.context) {
      add(FrameKind::kContext, id, 0, *source.context);
    }
    for (size_t i = 0; i < source.batches.size(); ++i) {
      add(FrameKind::kBatch, id, source.first + static_cast<int64_t>(i), source.batches[i]);
    }
  }
  for (const auto& [id, note] : notes_) {
    add(FrameKind::kNote, id, 0, note.place);
  }
  for (const auto& [id, rewind] : rewinds_) {
    add(FrameKind::kRewind, id, 0, rewind.place);
  }
  return records;
}

void SpoolIndex::RemoveSegment(uint32_t segment) {
  const auto found = segments_.find(segment);
  LOCKSTEP_CHECK(found != segments_.end() && found->second.live_records == 0);
  total_bytes_ -= found->second.bytes;
  segments_.erase(found);
  DropIdleRewinds();
}

}  // namespace lockstep
