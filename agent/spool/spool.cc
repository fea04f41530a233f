#include "agent/spool/spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/spool/fields.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "platform/log.h"

namespace lockstep {
namespace {

constexpr std::string_view kEnding = ".spool";
// An active segment of this share of a whole one is closed when all of it is dead.
constexpr int64_t kWorthClosing = 4;

// "00000012.spool" -> 12.
std::optional<uint32_t> NumberOf(std::string_view name) {
  if (!name.ends_with(kEnding)) {
    return std::nullopt;
  }
  name.remove_suffix(kEnding.size());
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && end == name.data() + name.size() && !name.empty();
  return whole ? std::optional(number) : std::nullopt;
}

std::string PayloadOf(const Hash128& id, int64_t sequence, std::string_view body) {
  return FieldWriter().Id(id).Signed(sequence).Raw(body).Finish();
}

// Null for a kind that this release does not write.
std::optional<SpoolRecord> RecordOf(const Frame& frame, uint32_t segment) {
  FieldReader fields(frame.payload);
  SpoolRecord record{.kind = frame.kind, .id = fields.Id(), .sequence = fields.Signed(), .place = {}};
  record.place = {segment, static_cast<uint32_t>(frame.offset), static_cast<uint32_t>(frame.bytes())};
  const bool known =
      frame.kind == FrameKind::kContext || frame.kind == FrameKind::kBatch || frame.kind == FrameKind::kNote;
  return known && fields.ok() ? std::optional(record) : std::nullopt;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const SpoolOptions& options, const Acknowledged& acknowledged) {
  std::unique_ptr<Spool> spool(new Spool(options));
  const MutexLock lock(spool->mutex_);
  LOCKSTEP_RETURN_IF_ERROR(spool->Recover(acknowledged));
  return spool;
}

std::string Spool::PathOf(uint32_t segment) const {
  return fmt::format("{}/{:08}{}", options_.folder, segment, kEnding);
}

absl::Status Spool::Recover(const Acknowledged& acknowledged) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(options_.folder));
  std::vector<SpoolRecord> records;
  std::map<uint32_t, int64_t> sizes;
  for (const std::string& name : names) {
    if (const auto number = NumberOf(name)) {
      LOCKSTEP_ASSIGN_OR_RETURN(sizes[*number], ReadSegment(*number, records));
      active_ = *number;
    }
  }
  ++active_;  // nothing is ever written behind what an earlier agent left
  index_ = SpoolIndex(records, acknowledged, damage_.lost);
  for (const auto& [number, size] : sizes) {
    index_.AddBytes(number, size);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Spool::ReadSegment(uint32_t number, std::vector<SpoolRecord>& records) {
  LOCKSTEP_ASSIGN_OR_RETURN(const DurableFile file, DurableFile::OpenExisting(PathOf(number)));
  // A file larger than any that was written is somebody else's: what is beyond counts as damage.
  const int64_t limit = options_.segment_bytes + kMaxFramePayloadBytes + kFrameHeaderBytes;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, file.ReadAt(0, std::min(file.size(), limit)));
  FrameScan scan = ScanFrames(bytes, number);
  if (file.size() > limit) {
    scan.damage.push_back({limit, file.size() - limit});
  }
  for (const Frame& frame : scan.frames) {
    if (const auto record = RecordOf(frame, number)) {
      records.push_back(*record);
    } else {
      scan.damage.push_back({frame.offset, frame.bytes()});
    }
  }
  for (const FrameDamage& damage : scan.damage) {
    ++damage_.places;
    damage_.bytes += damage.bytes;
  }
  if (!scan.damage.empty()) {
    LogWarning("{}: damaged in {} places, first at byte {}", file.path(), scan.damage.size(), scan.damage[0].offset);
  }
  return file.size();
}

// --- producers ---

bool Spool::Wants(const Hash128& source_id, int64_t sequence) const {
  const MutexLock lock(mutex_);
  return index_.Wants(FrameKind::kBatch, source_id, sequence);
}

absl::Status Spool::Put(FrameKind kind, const Hash128& id, int64_t sequence, std::string_view body) {
  const MutexLock lock(mutex_);
  while (failure_.ok() && index_.Wants(kind, id, sequence)) {
    const absl::Status written = Write(kind, id, sequence, body);
    TellIfFull(written);
    if (written.ok()) {
      return AwaitDurable();
    }
    if (!absl::IsResourceExhausted(written)) {
      failure_ = written;
      Changed();
      break;
    }
    ++waiting_;
    Changed();  // the sender may free something
    changed_.WaitFor(mutex_, kNsPerS);
    --waiting_;
  }
  return failure_;
}

void Spool::TellIfFull(const absl::Status& written) {
  const int64_t now_ns = options_.clock->MonotonicNs();
  if (absl::IsResourceExhausted(written)) {
    if (full_.Met(now_ns)) {
      LogWarning("{}; no further traces are read until there is room", std::string(written.message()));
    }
  } else if (const auto lasted_ns = full_.Over(now_ns)) {
    LogInfo("{}: there is room again after {} s", options_.folder, *lasted_ns / kNsPerS);
  }
}

absl::Status Spool::Write(FrameKind kind, const Hash128& id, int64_t sequence, std::string_view body) {
  const std::string payload = PayloadOf(id, sequence, body);
  const int64_t bytes = kFrameHeaderBytes + static_cast<int64_t>(payload.size());
  if (index_.total_bytes() > 0 && index_.total_bytes() + bytes > options_.max_bytes) {
    return absl::ResourceExhaustedError(fmt::format("the spool {} holds {} MiB, --spool-bytes allows {} MiB",
                                                    options_.folder, index_.total_bytes() >> 20,
                                                    options_.max_bytes >> 20));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const RecordPlace place, AppendFrame(kind, payload));
  index_.Put({kind, id, sequence, place});
  ++written_;
  return absl::OkStatus();
}

absl::StatusOr<RecordPlace> Spool::AppendFrame(FrameKind kind, std::string_view payload) {
  if (index_.BytesOf(active_) >= options_.segment_bytes) {
    LOCKSTEP_RETURN_IF_ERROR(Rotate());
  }
  if (active_file_ == nullptr) {
    LOCKSTEP_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Open(PathOf(active_)));
    LOCKSTEP_RETURN_IF_ERROR(SyncFolder(options_.folder));
    active_file_ = std::make_shared<DurableFile>(std::move(file));
  }
  const int64_t offset = active_file_->size();
  const std::string frame = EncodeFrame(kind, active_, offset, payload);
  LOCKSTEP_RETURN_IF_ERROR(active_file_->Append(frame));
  index_.AddBytes(active_, static_cast<int64_t>(frame.size()));
  return RecordPlace{active_, static_cast<uint32_t>(offset), static_cast<uint32_t>(frame.size())};
}

// What is behind is synced: a sync covers the active segment alone.
absl::Status Spool::Rotate() {
  if (active_file_ != nullptr) {
    LOCKSTEP_RETURN_IF_ERROR(active_file_->Sync());
    synced_ = written_;
    active_file_ = nullptr;
    ++active_;
  }
  return absl::OkStatus();
}

// One of those who wait syncs for all that have written meanwhile.
absl::Status Spool::AwaitDurable() {
  const uint64_t mine = written_;
  Changed();
  while (failure_.ok() && synced_ < mine) {
    if (syncing_) {
      changed_.Wait(mutex_);
      continue;
    }
    syncing_ = true;
    const uint64_t upto = written_;
    const std::shared_ptr<const DurableFile> file = active_file_;
    mutex_.Unlock();
    const absl::Status synced = file->Sync();
    mutex_.Lock();
    syncing_ = false;
    if (synced.ok()) {
      synced_ = std::max(synced_, upto);
    } else {
      failure_ = synced;
    }
    Changed();
  }
  return synced_ >= mine ? absl::OkStatus() : failure_;
}

void Spool::Close() {
  const MutexLock lock(mutex_);
  if (failure_.ok()) {
    failure_ = absl::CancelledError("stopped before all files were read");
  }
  Changed();
}

// --- the sender ---

std::vector<Hash128> Spool::Sendable(size_t limit) const {
  const MutexLock lock(mutex_);
  return index_.Sendable(limit);
}

std::vector<std::pair<uint64_t, Hash128>> Spool::NotesAfter(uint64_t after) const {
  const MutexLock lock(mutex_);
  return index_.NotesAfter(after);
}

std::pair<int64_t, int64_t> Spool::Range(const Hash128& source_id) const {
  const MutexLock lock(mutex_);
  return index_.Range(source_id);
}

bool Spool::Holds(const Hash128& id, int64_t batches) const {
  const MutexLock lock(mutex_);
  return index_.Holds(id, batches);
}

absl::StatusOr<std::string> Spool::Read(FrameKind kind, const Hash128& id, int64_t sequence) const {
  std::optional<RecordPlace> place;
  {
    const MutexLock lock(mutex_);
    place = kind == FrameKind::kContext ? index_.Context(id)
            : kind == FrameKind::kNote  ? index_.Note(id)
                                        : index_.Batch(id, sequence);
    if (!place) {
      return absl::NotFoundError(fmt::format("{}: no record {} of {}", options_.folder, sequence, id.Hex()));
    }
  }
  const absl::StatusOr<DurableFile> opened = DurableFile::OpenExisting(PathOf(place->segment));
  if (!opened.ok()) {
    return absl::DataLossError(std::string(opened.status().message()));
  }
  const DurableFile& file = *opened;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, file.ReadAt(place->offset, place->bytes));
  const std::optional<Frame> frame = DecodeFrame(bytes, place->segment, place->offset);
  const auto record = frame ? RecordOf(*frame, place->segment) : std::nullopt;
  if (!record || record->kind != kind || record->id != id || record->sequence != sequence) {
    return absl::DataLossError(
        fmt::format("{}: record {} of {} at byte {} is damaged", file.path(), sequence, id.Hex(), place->offset));
  }
  FieldReader fields(frame->payload);
  fields.Id();
  fields.Number();
  return std::string(fields.rest());
}

void Spool::Acknowledge(const Hash128& source_id, int64_t sequence) {
  const MutexLock lock(mutex_);
  index_.Acknowledge(source_id, sequence);
  Changed();
}

void Spool::Release(const Hash128& id) {
  const MutexLock lock(mutex_);
  index_.Release(id);
  Changed();
}

void Spool::Rewind(const Hash128& source_id, int64_t last_sequence) {
  const MutexLock lock(mutex_);
  index_.Rewind(source_id, last_sequence);
  Changed();
}

absl::Status Spool::Collect(const std::function<absl::Status()>& before_delete, bool thoroughly) {
  std::vector<uint32_t> dead;
  {
    const MutexLock lock(mutex_);
    LOCKSTEP_RETURN_IF_ERROR(MakeRoom(thoroughly));
    dead = index_.Dead(active_);
  }
  if (dead.empty()) {
    return absl::OkStatus();
  }
  LOCKSTEP_RETURN_IF_ERROR(before_delete());
  for (const uint32_t segment : dead) {
    LOCKSTEP_RETURN_IF_ERROR(RemoveFile(PathOf(segment)));
  }
  LOCKSTEP_RETURN_IF_ERROR(SyncFolder(options_.folder));
  const MutexLock lock(mutex_);
  for (const uint32_t segment : dead) {
    index_.RemoveSegment(segment);
  }
  Changed();
  return absl::OkStatus();
}

absl::Status Spool::MakeRoom(bool thoroughly) {
  const bool tight = waiting_ > 0 || index_.total_bytes() > options_.max_bytes / 2;
  const int64_t bytes = index_.BytesOf(active_);
  const int64_t live = index_.LiveBytesOf(active_);
  const bool all_dead = live == 0 && (thoroughly || bytes >= options_.segment_bytes / kWorthClosing);
  if (bytes > 0 && (all_dead || (tight && live <= bytes / 2))) {
    LOCKSTEP_RETURN_IF_ERROR(Rotate());
  }
  if (!tight) {
    return absl::OkStatus();
  }
  const std::optional<uint32_t> victim = index_.MostlyDead(active_);
  const absl::Status moved = victim ? MoveForward(*victim) : absl::OkStatus();
  return absl::IsResourceExhausted(moved) ? absl::OkStatus() : moved;  // without room nothing can move
}

absl::Status Spool::MoveForward(uint32_t segment) {
  const absl::StatusOr<DurableFile> from = DurableFile::OpenExisting(PathOf(segment));
  if (!from.ok()) {
    return absl::OkStatus();  // the sender finds out
  }
  for (const SpoolRecord& record : index_.LiveIn(segment)) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, from->ReadAt(record.place.offset, record.place.bytes));
    const std::optional<Frame> frame = DecodeFrame(bytes, segment, record.place.offset);
    if (!frame) {
      return absl::OkStatus();  // it stays where it is; the sender finds out
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const RecordPlace place, AppendFrame(record.kind, frame->payload));
    index_.Move(record, place);
  }
  return active_file_ == nullptr ? absl::OkStatus() : active_file_->Sync();
}

SpoolState Spool::State() const {
  const MutexLock lock(mutex_);
  return {.unsent = index_.unsent(), .bytes = index_.total_bytes()};
}

uint64_t Spool::News() const {
  const MutexLock lock(mutex_);
  return news_;
}

void Spool::AwaitNews(uint64_t seen, int64_t timeout_ns) const {
  const MutexLock lock(mutex_);
  if (news_ == seen) {
    changed_.WaitFor(mutex_, timeout_ns);
  }
}

void Spool::Wake() {
  const MutexLock lock(mutex_);
  Changed();
}

void Spool::Changed() {
  ++news_;
  changed_.NotifyAll();
}

}  // namespace lockstep
