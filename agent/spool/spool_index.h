// Which records of the spool are still needed, where they stand, and how much of each segment they are. Pure; not
// thread safe.
//
// A source has a context and batches without holes from `first` on; a note stands for itself. What is acknowledged,
// replaced or released is dead, and a segment without live records can go.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "agent/spool/frame.h"
#include "analysis/base/hash128.h"
#include "analysis/model/instance_row.h"

namespace lockstep {

struct RecordPlace {
  uint32_t segment = 0;
  uint32_t offset = 0;
  uint32_t bytes = 0;  // of the whole frame
};

// A place in the order in which records were written.
struct SpoolPosition {
  uint32_t segment = 0;
  uint32_t offset = 0;
  friend auto operator<=>(const SpoolPosition&, const SpoolPosition&) = default;
};

struct SpoolRecord {
  FrameKind kind = FrameKind::kBatch;
  Hash128 id;            // of the source or the note
  int64_t sequence = 0;  // of a batch
  RecordPlace place;
  SpoolPosition before{};  // of a rewind: what stands before it of its source is void
};

// Batches first..last of a source are not there though they are not known to be acknowledged.
struct LostBatches {
  Hash128 source_id;
  int64_t first = 0;
  int64_t last = 0;
  friend bool operator==(const LostBatches&, const LostBatches&) = default;
};

// The highest acknowledged sequence by source or note. kAllAcknowledged: nothing of it is needed any more.
using Acknowledged = std::map<Hash128, int64_t>;
inline constexpr int64_t kAllAcknowledged = std::numeric_limits<int64_t>::max();

class SpoolIndex {
 public:
  SpoolIndex() = default;
  // From all records found in the segments, in their order (of repeated ones the last counts; none that a rewind
  // voids). A source keeps the first run of unacknowledged batches without a hole. What is missing before it and what
  // stands behind it is appended to `lost`: the former may have been acknowledged without that being known here, which
  // the aggregator will tell.
  SpoolIndex(const std::vector<SpoolRecord>& records, const Acknowledged& acknowledged, std::vector<LostBatches>& lost);

  // Of a segment, live or dead.
  void AddBytes(uint32_t segment, int64_t bytes);
  // Puts what Wants says is wanted.
  void Put(const SpoolRecord& record);
  // Whether this record would be kept: the next batch of its source, or a note or context (a known context only once).
  [[nodiscard]] bool Wants(FrameKind kind, const Hash128& id, int64_t sequence) const;
  // A live record was copied to `place`.
  void Move(const SpoolRecord& record, const RecordPlace& place);

  void Acknowledge(const Hash128& id, int64_t sequence);
  // Nothing of this source or note is needed any more, now and later.
  void Release(const Hash128& id);
  // A released source is not remembered any longer: it would be taken again.
  void Settle(const Hash128& id) { released_.erase(id); }
  // The source is begun anew behind `last_sequence`: its context and batches are dropped.
  void Rewind(const Hash128& id, int64_t last_sequence);
  // Nothing of the source or note counts any longer, whatever became of it: it will be given again.
  void TakeBack(const Hash128& id);
  // Whether a rewind has to be safe on the disk before the source's next context: after a kill what is void would be
  // taken for a part of what is put from now on.
  [[nodiscard]] bool NeedsRewind(const Hash128& id) const;
  // It is.
  void RewindIsSafe(const Hash128& id);
  // Rewinds with no segment left that could hold anything void are not needed any longer.
  void DropIdleRewinds();

  // A source that cannot be sent for now is not sendable until it is resumed.
  void Park(const Hash128& id);
  void Resume(const Hash128& id);

  // Sources with batches that are not parked, the oldest first, at most `limit`.
  [[nodiscard]] std::vector<Hash128> Sendable(size_t limit) const;
  // Notes younger than the `after`-th record, oldest first, with their order; at most `limit`.
  [[nodiscard]] std::vector<std::pair<uint64_t, Hash128>> NotesAfter(uint64_t after, size_t limit) const;
  [[nodiscard]] std::optional<RecordPlace> Context(const Hash128& id) const;
  [[nodiscard]] std::optional<RecordPlace> Note(const Hash128& id) const;
  [[nodiscard]] std::optional<RecordPlace> Batch(const Hash128& id, int64_t sequence) const;
  // Sequences kept of a source: [first, next). Of an unknown source 0, 0.
  [[nodiscard]] std::pair<int64_t, int64_t> Range(const Hash128& id) const;

  // Whether a note, or what is not acknowledged of the first `batches` of a source, is kept.
  [[nodiscard]] bool Holds(const Hash128& id, int64_t batches) const;

  // Live batches and notes.
  [[nodiscard]] int64_t unsent() const { return unsent_; }
  [[nodiscard]] int64_t notes() const { return static_cast<int64_t>(notes_.size()); }
  // Batches of parked sources.
  [[nodiscard]] int64_t parked() const;
  [[nodiscard]] int64_t total_bytes() const { return total_bytes_; }
  [[nodiscard]] int64_t BytesOf(uint32_t segment) const;
  [[nodiscard]] int64_t LiveBytesOf(uint32_t segment) const;
  // Segments other than `active` without any live record.
  [[nodiscard]] std::vector<uint32_t> Dead(uint32_t active) const;
  // The segment other than `active` with the smallest live share, if that is at most half of it.
  [[nodiscard]] std::optional<uint32_t> MostlyDead(uint32_t active) const;
  [[nodiscard]] std::vector<SpoolRecord> LiveIn(uint32_t segment) const;
  void RemoveSegment(uint32_t segment);

 private:
  struct Source {
    uint64_t order = 0;
    bool needs_rewind = false;
    bool parked = false;
    std::optional<RecordPlace> context;
    int64_t first = 0;
    std::deque<RecordPlace> batches;
    [[nodiscard]] int64_t next() const { return first + static_cast<int64_t>(batches.size()); }
  };
  struct NoteEntry {
    uint64_t order = 0;
    RecordPlace place;
  };
  struct RewindEntry {
    RecordPlace place;
    SpoolPosition before;
  };
  struct Segment {
    int64_t bytes = 0;
    int64_t live_bytes = 0;
    int64_t live_records = 0;
  };

  void Live(const RecordPlace& place);
  void Dead(const RecordPlace& place);
  Source& SourceOf(const Hash128& id);
  void PutBatch(const Hash128& id, const RecordPlace& place);
  void PutNote(const Hash128& id, const RecordPlace& place);
  void PutRewind(const Hash128& id, const RewindEntry& entry);
  void DropFront(const Hash128& id, Source& source);
  void DropBatches(const Hash128& id, Source& source);

  std::map<Hash128, Source> sources_;
  std::map<Hash128, NoteEntry> notes_;
  std::map<uint64_t, Hash128> sendable_;  // by order
  std::map<uint64_t, Hash128> notes_by_order_;
  std::map<Hash128, RewindEntry> rewinds_;  // the last of each source
  std::set<Hash128> released_;              // sources
  std::map<uint32_t, Segment> segments_;
  uint64_t next_order_ = 1;
  int64_t unsent_ = 0;
  int64_t total_bytes_ = 0;
};

}  // namespace lockstep
