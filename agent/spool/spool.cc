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

std::string NameOf(uint32_t number) { return fmt::format("{:08}{}", number, kEnding); }

// "00000012.spool" -> 12; null for whatever is not written just so.
std::optional<uint32_t> NumberOf(std::string_view name) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && name == NameOf(number) ? std::optional(number) : std::nullopt;
}

std::string PayloadOf(const Hash128& id, int64_t sequence, std::string_view body) {
  return FieldWriter().Id(id).Signed(sequence).Raw(body).Finish();
}

// Of a rewind: a copy of it that was moved voids what the first one did, and nothing behind it.
std::string BodyOf(const SpoolPosition& before) {
  return FieldWriter().Number(before.segment, 4).Number(before.offset, 4).Finish();
}

// Null for a kind that this release does not write.
std::optional<SpoolRecord> RecordOf(const Frame& frame, uint32_t segment) {
  FieldReader fields(frame.payload);
  SpoolRecord record{.kind = frame.kind, .id = fields.Id(), .sequence = fields.Signed(), .place = {}};
  record.place = {segment, static_cast<uint32_t>(frame.offset), static_cast<uint32_t>(frame.bytes())};
  if (frame.kind == FrameKind::kRewind) {
    record.before.segment = static_cast<uint32_t>(fields.Number(4));
    record.before.offset = static_cast<uint32_t>(fields.Number(4));
  }
  const bool known = frame.kind == FrameKind::kContext || frame.kind == FrameKind::kBatch ||
                     frame.kind == FrameKind::kNote || frame.kind == FrameKind::kRewind;
  return known && fields.ok() ? std::optional(record) : std::nullopt;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const SpoolOptions& options, const Acknowledged& acknowledged) {
  LOCKSTEP_ASSIGN_OR_RETURN(FolderIdentity folder, FolderIdentity::Of(options.folder));
  std::unique_ptr<Spool> spool(new Spool(options, std::move(folder)));
  const MutexLock lock(spool->mutex_);
  LOCKSTEP_RETURN_IF_ERROR(spool->Recover(acknowledged));
  return spool;
}

std::string Spool::PathOf(uint32_t segment) const { return options_.folder + "/" + NameOf(segment); }

absl::Status Spool::Recover(const Acknowledged& acknowledged) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(options_.folder));
  std::vector<SpoolRecord> records;
  std::map<uint32_t, int64_t> sizes;
  for (const std::string& name : names) {
    if (const auto number = NumberOf(name)) {
      LOCKSTEP_ASSIGN_OR_RETURN(sizes[*number], ReadSegment(*number, records));
      active_ = std::max(active_, *number);
    }
  }
  // The names, too: an agent may have been killed between making a segment and this.
  LOCKSTEP_RETURN_IF_ERROR(SyncFolder(options_.folder));
  active_ = std::max(active_ + 1, options_.first_segment);  // nothing is ever written behind what an earlier agent left
  index_ = SpoolIndex(records, acknowledged, damage_.lost);
  for (const auto& [number, size] : sizes) {
    index_.AddBytes(number, size);
  }
  index_.DropIdleRewinds();
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Spool::ReadSegment(uint32_t number, std::vector<SpoolRecord>& records) {
  LOCKSTEP_ASSIGN_OR_RETURN(const DurableFile file, DurableFile::OpenExisting(PathOf(number)));
  // What a killed agent wrote may be in the system's memory alone; what is found here counts as taken.
  LOCKSTEP_RETURN_IF_ERROR(options_.sync(file));
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

absl::Status Spool::Usable() const {
  if (failure_.ok() && closed_) {
    return absl::CancelledError("stopped before all files were read");
  }
  return failure_;
}

absl::Status Spool::Put(FrameKind kind, const Hash128& id, int64_t sequence, std::string_view body) {
  const MutexLock lock(mutex_);
  while (true) {
    LOCKSTEP_RETURN_IF_ERROR(Usable());
    if (!index_.Wants(kind, id, sequence)) {
      return SyncUpTo(written_);  // another producer may have written it just now
    }
    if (index_.BytesOf(active_) >= options_.segment_bytes) {
      LOCKSTEP_RETURN_IF_ERROR(Rotate());
      continue;
    }
    const bool rewinds = kind == FrameKind::kContext && index_.NeedsRewind(id);
    const absl::Status written = rewinds ? WriteRewind(id) : Write(kind, id, sequence, body);
    TellIfStuck(written);
    if (!written.ok()) {
      AwaitRoom();
      continue;
    }
    Changed();
    const absl::Status synced = SyncUpTo(written_);
    if (!rewinds || !synced.ok()) {
      return synced;
    }
    index_.RewindIsSafe(id);
  }
}

// The sender may free something; a disk that is full or a folder that is away is tried again a second later.
void Spool::AwaitRoom() {
  ++waiting_;
  Changed();
  if (failure_.ok() && !closed_) {
    room_.WaitFor(mutex_, kNsPerS);
  }
  --waiting_;
}

void Spool::TellIfStuck(const absl::Status& written) {
  const int64_t now_ns = options_.clock->MonotonicNs();
  if (!written.ok()) {
    if (stuck_.Met(now_ns)) {
      LogWarning("{}; no further traces are read until that is over", std::string(written.message()));
    }
  } else if (const auto lasted_ns = stuck_.Over(now_ns)) {
    LogInfo("{}: there is room again after {} s", options_.folder, *lasted_ns / kNsPerS);
  }
}

absl::Status Spool::Write(FrameKind kind, const Hash128& id, int64_t sequence, std::string_view body) {
  const std::string payload = PayloadOf(id, sequence, body);
  LOCKSTEP_RETURN_IF_ERROR(RoomFor(static_cast<int64_t>(payload.size())));
  LOCKSTEP_ASSIGN_OR_RETURN(const RecordPlace place, AppendFrame(kind, payload));
  index_.Put({kind, id, sequence, place});
  return absl::OkStatus();
}

// Voids what of the source stands before the rewind itself.
absl::Status Spool::WriteRewind(const Hash128& id) {
  if (active_file_ == nullptr) {
    LOCKSTEP_RETURN_IF_ERROR(OpenActive());
  }
  const SpoolPosition here = {active_, static_cast<uint32_t>(active_file_->size())};
  const std::string payload = PayloadOf(id, 0, BodyOf(here));
  LOCKSTEP_RETURN_IF_ERROR(RoomFor(static_cast<int64_t>(payload.size())));
  LOCKSTEP_ASSIGN_OR_RETURN(const RecordPlace place, AppendFrame(FrameKind::kRewind, payload));
  index_.Put({FrameKind::kRewind, id, 0, place, here});
  return absl::OkStatus();
}

absl::Status Spool::RoomFor(int64_t payload_bytes) const {
  const int64_t bytes = kFrameHeaderBytes + payload_bytes;
  if (index_.total_bytes() > 0 && index_.total_bytes() + bytes > options_.max_bytes) {
    return absl::ResourceExhaustedError(fmt::format("the spool {} holds {} MiB, --spool-bytes allows {} MiB",
                                                    options_.folder, index_.total_bytes() >> 20,
                                                    options_.max_bytes >> 20));
  }
  return absl::OkStatus();
}

absl::StatusOr<RecordPlace> Spool::AppendFrame(FrameKind kind, std::string_view payload) {
  if (active_file_ == nullptr) {
    LOCKSTEP_RETURN_IF_ERROR(OpenActive());
  }
  const int64_t offset = active_file_->size();
  const std::string frame = EncodeFrame(kind, active_, offset, payload);
  const absl::Status appended = active_file_->Append(frame);
  if (!appended.ok() && !absl::IsResourceExhausted(appended)) {
    Distrust(appended);
  }
  LOCKSTEP_RETURN_IF_ERROR(appended);
  index_.AddBytes(active_, static_cast<int64_t>(frame.size()));
  ++written_;
  return RecordPlace{active_, static_cast<uint32_t>(offset), static_cast<uint32_t>(frame.size())};
}

// Leaves nothing behind when it fails; then the same again may succeed.
absl::Status Spool::OpenActive() {
  LOCKSTEP_RETURN_IF_ERROR(folder_.Check());
  LOCKSTEP_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Open(PathOf(active_)));
  if (const absl::Status named = SyncFolder(options_.folder); !named.ok()) {
    const absl::Status ignored = RemoveFile(PathOf(active_));  // an empty one that stays is found at the next start
    ++active_;                                                 // a name that may not be durable is not used again
    return named;
  }
  active_file_ = std::make_shared<DurableFile>(std::move(file));
  synced_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status Spool::Rotate() {
  const uint32_t closing = active_;
  LOCKSTEP_RETURN_IF_ERROR(SyncUpTo(written_));
  if (active_ == closing && active_file_ != nullptr && synced_ == written_) {
    active_file_ = nullptr;
    ++active_;
  }
  return absl::OkStatus();
}

// One of those who wait syncs for all that have written meanwhile. Never two at a time: the system tells a file's
// failure only once.
absl::Status Spool::SyncUpTo(uint64_t record) {
  while (failure_.ok() && synced_ < record) {
    if (syncing_) {
      changed_.Wait(mutex_);
      continue;
    }
    syncing_ = true;
    const uint64_t upto = written_;
    const std::shared_ptr<const DurableFile> file = active_file_;
    const int64_t bytes = file->size();
    mutex_.Unlock();
    const absl::Status synced = options_.sync(*file);
    mutex_.Lock();
    syncing_ = false;
    if (!failure_.ok()) {
      break;  // a write has failed meanwhile, and what was not safe before was cut off
    }
    if (synced.ok()) {
      synced_ = upto;
      synced_bytes_ = bytes;
    } else {
      Distrust(synced);
    }
    Changed();
  }
  return synced_ >= record ? absl::OkStatus() : failure_;
}

// After a failed write or sync nobody knows what of it is on the disk, and the system does not say so twice: what looks
// well in memory may be gone tomorrow. So it is cut off, and this spool is at its end.
void Spool::Distrust(const absl::Status& failure) {
  if (!failure_.ok()) {
    return;
  }
  failure_ = failure;
  LogError("{}: the disk cannot be trusted; what was not yet safe is condensed again by the next agent",
           std::string(failure.message()));
  if (const absl::Status cut = active_file_->Truncate(synced_bytes_); !cut.ok()) {
    LogError("{}", std::string(cut.message()));
  }
  Changed();
  room_.NotifyAll();
}

absl::Status Spool::usable() const {
  const MutexLock lock(mutex_);
  return Usable();
}

absl::Status Spool::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

void Spool::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  Changed();
  room_.NotifyAll();
}

// --- the sender ---

std::vector<Hash128> Spool::Sendable(size_t limit) const {
  const MutexLock lock(mutex_);
  return index_.Sendable(limit);
}

std::vector<std::pair<uint64_t, Hash128>> Spool::NotesAfter(uint64_t after, size_t limit) const {
  const MutexLock lock(mutex_);
  return index_.NotesAfter(after, limit);
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
  if (absl::IsNotFound(opened.status())) {
    LOCKSTEP_RETURN_IF_ERROR(folder_.Check());
    return absl::DataLossError(std::string(opened.status().message()));
  }
  LOCKSTEP_RETURN_IF_ERROR(opened.status());
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

void Spool::TakeBack(const Hash128& id) {
  const MutexLock lock(mutex_);
  index_.TakeBack(id);
  Changed();
}

void Spool::Park(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  index_.Park(source_id);
}

void Spool::Resume(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  index_.Resume(source_id);
  Changed();
}

void Spool::Settle(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  index_.Settle(source_id);
}

absl::Status Spool::Collect(const BeforeDelete& before_delete, bool thoroughly) {
  // A segment that is gone may have been the last for which another one was needed.
  bool deleted = true;
  while (deleted) {
    LOCKSTEP_ASSIGN_OR_RETURN(deleted, DeleteDead(before_delete, thoroughly));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Spool::DeleteDead(const BeforeDelete& before_delete, bool thoroughly) {
  std::vector<uint32_t> dead;
  {
    const MutexLock lock(mutex_);
    LOCKSTEP_RETURN_IF_ERROR(failure_);
    LOCKSTEP_RETURN_IF_ERROR(MakeRoom(thoroughly));
    dead = index_.Dead(active_);
    if (dead.empty()) {
      return false;
    }
    LOCKSTEP_RETURN_IF_ERROR(SyncUpTo(written_));  // what was moved out of them, too
  }
  LOCKSTEP_RETURN_IF_ERROR(before_delete(dead.back()));
  LOCKSTEP_RETURN_IF_ERROR(folder_.Check());
  for (const uint32_t segment : dead) {
    LOCKSTEP_RETURN_IF_ERROR(RemoveFile(PathOf(segment)));
  }
  LOCKSTEP_RETURN_IF_ERROR(SyncFolder(options_.folder));
  const MutexLock lock(mutex_);
  for (const uint32_t segment : dead) {
    index_.RemoveSegment(segment);
  }
  Changed();
  room_.NotifyAll();
  return true;
}

absl::Status Spool::MakeRoom(bool thoroughly) {
  const bool tight = waiting_ > 0 || index_.total_bytes() > options_.max_bytes / 2;
  const int64_t bytes = index_.BytesOf(active_);
  const int64_t live = index_.LiveBytesOf(active_);
  const bool all_dead = live == 0 && (thoroughly || bytes >= options_.segment_bytes / kWorthClosing);
  if (bytes > 0 && (all_dead || bytes >= options_.segment_bytes || (tight && live <= bytes / 2))) {
    LOCKSTEP_RETURN_IF_ERROR(Rotate());
  }
  if (!tight) {
    return absl::OkStatus();
  }
  const std::optional<uint32_t> victim = index_.MostlyDead(active_);
  const absl::Status moved = victim ? MoveForward(*victim) : absl::OkStatus();
  return absl::IsResourceExhausted(moved) ? absl::OkStatus() : moved;  // without room nothing can move
}

// Holds the lock throughout, so that what is live stays so; the copies are synced before the originals go.
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
  return absl::OkStatus();
}

SpoolState Spool::State() const {
  const MutexLock lock(mutex_);
  return {.unsent = index_.unsent(), .notes = index_.notes(), .parked = index_.parked(), .bytes = index_.total_bytes()};
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
