#include "agent/spool/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "agent/spool/fields.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "platform/clock.h"
#include "platform/log.h"

namespace lockstep {
namespace {

// The number that stands in the ledger's frames where segments have theirs.
constexpr uint64_t kFileNumber = ~uint64_t{0};

// An id and a number of batches.
constexpr size_t kSourceBytes = 24;

// What a frame says. Values on disk: append only.
enum class Change : uint8_t { kRun = 1, kFile = 2, kState = 3, kAcknowledged = 4, kGone = 5, kSegments = 6 };

// A file of this much more than twice what is needed is written anew.
constexpr int64_t kSlackBytes = int64_t{1} << 20;
// Room set aside, so that acknowledgements can be written, and segments deleted, when the disk has filled up.
constexpr int64_t kReserveBytes = int64_t{256} << 10;

FieldWriter Begin(Change change) {
  FieldWriter fields;
  fields.Number(static_cast<uint8_t>(change), 1);
  return fields;
}

std::string RunChange(std::string_view run) { return Begin(Change::kRun).Text(run).Finish(); }

std::string FileChange(const FileKey& key, const Hash128& fingerprint) {
  return Begin(Change::kFile)
      .Text(key.path)
      .Signed(key.size_bytes)
      .Signed(key.modified_ns)
      .Number(key.inode)
      .Id(fingerprint)
      .Finish();
}

std::string StateChange(const std::string& path, FileState state, std::string_view reason,
                        const std::vector<SpooledSource>& sources) {
  FieldWriter fields = Begin(Change::kState);
  fields.Text(path).Number(static_cast<uint8_t>(state), 1).Text(reason);
  for (const SpooledSource& source : sources) {
    fields.Id(source.id).Signed(source.batches);
  }
  return fields.Finish();
}

std::string AcknowledgedChange(const Hash128& id, int64_t sequence) {
  return Begin(Change::kAcknowledged).Id(id).Signed(sequence).Finish();
}

std::string SegmentsChange(uint32_t last) { return Begin(Change::kSegments).Number(last, 4).Finish(); }

std::string GoneChange(const std::string& path) { return Begin(Change::kGone).Text(path).Finish(); }

}  // namespace

std::unique_ptr<Ledger> Ledger::InMemory() {
  return std::unique_ptr<Ledger>(new Ledger([](const std::string&) { return true; }));
}

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(const std::string& path, const std::string& run,
                                                     const std::function<bool(const std::string&)>& exists) {
  std::unique_ptr<Ledger> ledger(new Ledger(exists));
  const MutexLock lock(ledger->mutex_);
  LOCKSTEP_RETURN_IF_ERROR(ledger->Load(path, run));
  return ledger;
}

absl::Status Ledger::Load(const std::string& path, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(folder_, FolderIdentity::Of(std::filesystem::path(path).parent_path().string()));
  LOCKSTEP_ASSIGN_OR_RETURN(file_, DurableFile::Open(path));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, file_->ReadAt(0, file_->size()));
  const FrameScan scan = ScanFrames(bytes, kFileNumber);
  for (const FrameDamage& damage : scan.damage) {
    damaged_bytes_ += damage.bytes;
  }
  if (damaged_bytes_ > 0) {
    LogWarning("{}: {} bytes cannot be read, first at byte {}: files may be condensed again", path, damaged_bytes_,
               scan.damage[0].offset);
  }
  for (const Frame& frame : scan.frames) {
    Apply(frame.payload);
  }
  const std::string run_before = run_;
  LOCKSTEP_RETURN_IF_ERROR(BeginRun(run));
  std::erase_if(acknowledged_, [this](const auto& what) LOCKSTEP_REQUIRES(mutex_) {
    return files_of_.contains(what.first) && !IsNeeded(what.first);
  });
  const bool same_run = run_before == run;
  const absl::Status rewritten = Rewrite();
  if (absl::IsResourceExhausted(rewritten) && same_run) {
    LogWarning("{}: going on with the ledger as it is", std::string(rewritten.message()));
    behind_ = false;  // nothing is missing in it, and what it has set aside may be enough until segments go
    return absl::OkStatus();
  }
  return rewritten;
}

absl::Status Ledger::BeginRun(const std::string& run) {
  if (!run_.empty() && run_ != run) {
    const bool idle = std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) {
      return entry.second.state == FileState::kDelivered || entry.second.state == FileState::kFailed;
    });
    if (!idle) {
      return absl::FailedPreconditionError(
          fmt::format("{} holds files of run '{}' that are not delivered: let an agent finish that run, or give run "
                      "'{}' a folder of its own",
                      std::filesystem::path(file_->path()).parent_path().string(), run_, run));
    }
    entries_.clear();
    files_of_.clear();
    acknowledged_.clear();
  }
  run_ = run;
  return absl::OkStatus();
}

void Ledger::Apply(std::string_view change) {
  FieldReader fields(change);
  switch (static_cast<Change>(fields.Number(1))) {
    case Change::kRun:
      run_ = fields.Text();
      return;
    case Change::kFile:
      ApplyFile(fields);
      return;
    case Change::kState:
      ApplyState(fields);
      return;
    case Change::kAcknowledged: {
      const Hash128 id = fields.Id();
      acknowledged_[id] = fields.Signed();
      return;
    }
    case Change::kGone:
      if (const auto found = entries_.find(std::string(fields.Text())); found != entries_.end()) {
        Unlink(found->second);
        entries_.erase(found);
      }
      return;
    case Change::kSegments:
      last_segment_ = std::max(last_segment_, static_cast<uint32_t>(fields.Number(4)));
      return;
  }
}

void Ledger::ApplyFile(FieldReader& fields) {
  Entry entry{.key = {.path = std::string(fields.Text()),
                      .size_bytes = fields.Signed(),
                      .modified_ns = fields.Signed(),
                      .inode = fields.Number()},
              .fingerprint = fields.Id(),
              .by_this_process = false};
  Entry& place = entries_[entry.key.path];
  Unlink(place);
  place = std::move(entry);
}

void Ledger::ApplyState(FieldReader& fields) {
  const auto found = entries_.find(std::string(fields.Text()));
  const auto state = static_cast<FileState>(fields.Number(1));
  const std::string reason(fields.Text());
  if (found == entries_.end() || !fields.ok() || state > FileState::kFailed) {
    return;
  }
  Entry& entry = found->second;
  DropSources(entry);
  entry.state = state;
  entry.reason = reason;
  while (fields.rest().size() >= kSourceBytes) {
    entry.sources.push_back({.id = fields.Id(), .batches = fields.Signed()});
    files_of_.emplace(entry.sources.back().id, entry.key.path);
  }
}

// Of a delivered or failed file there is little left to know: that it is lost if the aggregator loses it. So it is
// known as long as there is room.
void Ledger::DropWhatIsGone() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const FileState state = entry->second.state;
    const bool settled = state == FileState::kDelivered || state == FileState::kFailed;
    if (settled && !exists_(entry->first)) {
      DropSources(entry->second);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

std::string Ledger::Compacted() const {
  std::string text;
  const auto add = [&text](const std::string& change) {
    text += EncodeFrame(FrameKind::kLedger, kFileNumber, static_cast<int64_t>(text.size()), change);
  };
  add(RunChange(run_));
  add(SegmentsChange(last_segment_));
  for (const auto& [path, entry] : entries_) {
    add(FileChange(entry.key, entry.fingerprint));
    if (entry.state != FileState::kInWork) {
      add(StateChange(path, entry.state, entry.reason, entry.sources));
    }
  }
  for (const auto& [id, sequence] : acknowledged_) {
    add(AcknowledgedChange(id, sequence));
  }
  return text;
}

absl::Status Ledger::Rewrite() {
  LOCKSTEP_RETURN_IF_ERROR(folder_->Check());
  const std::string path = file_->path();
  std::string text = Compacted();
  if (static_cast<int64_t>(text.size()) > kSlackBytes) {
    DropWhatIsGone();
    text = Compacted();
  }
  const absl::Status replaced = ReplaceFile(path, text);
  // Whichever of the two stands there now.
  absl::StatusOr<DurableFile> file = DurableFile::Open(path);
  if (!file.ok()) {
    behind_ = true;
    return file.status();
  }
  file_ = *std::move(file);
  reserved_until_ = 0;
  if (replaced.ok()) {
    behind_ = false;
    compacted_bytes_ = static_cast<int64_t>(text.size());
  }
  return replaced;
}

void Ledger::Write(std::string_view change) {
  if (!file_ || behind_) {
    return;
  }
  if (file_->size() + kReserveBytes / 2 > reserved_until_) {
    file_->Reserve(kReserveBytes);
    reserved_until_ = file_->size() + kReserveBytes;
  }
  const absl::Status written = file_->Append(EncodeFrame(FrameKind::kLedger, kFileNumber, file_->size(), change));
  behind_ = !written.ok();
  Tell(written);
}

void Ledger::Tell(const absl::Status& written) {
  const int64_t now_ns = SystemClock().MonotonicNs();
  if (!written.ok()) {
    if (trouble_.Met(now_ns)) {
      LogWarning("{}: an agent started again may condense files again", std::string(written.message()));
    }
  } else if (!behind_) {
    trouble_.Over(now_ns);
  }
}

void Ledger::WriteState(Entry& entry, FileState state, std::string_view reason) {
  entry.state = state;
  entry.reason = reason;
  Write(StateChange(entry.key.path, state, reason, entry.sources));
}

bool Ledger::IsNews(const FileKey& key, const std::function<Hash128()>& fingerprint) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(key.path);
  if (found == entries_.end()) {
    return true;
  }
  const Entry& entry = found->second;
  if (entry.state == FileState::kFailed || (entry.state == FileState::kInWork && !entry.by_this_process)) {
    return true;
  }
  FileKey same_inode = key;
  same_inode.inode = entry.key.inode;
  return same_inode != entry.key || (key != entry.key && fingerprint() != entry.fingerprint);
}

void Ledger::Take(const FileKey& key, const Hash128& fingerprint) {
  const MutexLock lock(mutex_);
  Entry& entry = entries_[key.path];
  Unlink(entry);
  entry = {.key = key, .fingerprint = fingerprint};
  Write(FileChange(key, fingerprint));
}

void Ledger::Spooled(const std::string& path, std::vector<SpooledSource> sources) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(path);
  LOCKSTEP_CHECK(found != entries_.end());
  Entry& entry = found->second;
  Unlink(entry);
  entry.sources = std::move(sources);
  for (const SpooledSource& source : entry.sources) {
    files_of_.emplace(source.id, path);
  }
  WriteState(entry, FileState::kSpooled, "");
  if (IsDelivered(entry)) {
    Deliver(entry);
  }
  static_cast<void>(SyncNow());  // it has told, and is asked again before anything is deleted
}

void Ledger::Failed(const std::string& path, std::string_view reason) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(path);
  LOCKSTEP_CHECK(found != entries_.end());
  WriteState(found->second, FileState::kFailed, reason);
}

void Ledger::Acknowledge(const Hash128& source_id, int64_t sequence) {
  const MutexLock lock(mutex_);
  acknowledged_[source_id] = sequence;
  Write(AcknowledgedChange(source_id, sequence));
  DeliverFilesOf(source_id);
}

// Those whose last source this was.
void Ledger::DeliverFilesOf(const Hash128& source_id) {
  const auto [begin, end] = files_of_.equal_range(source_id);
  for (auto file = begin; file != end; ++file) {
    Entry& entry = entries_.at(file->second);
    if (entry.state == FileState::kSpooled && IsDelivered(entry)) {
      Deliver(entry);
    }
  }
}

bool Ledger::IsDelivered(const Entry& entry) const {
  return std::all_of(entry.sources.begin(), entry.sources.end(),
                     [this](const SpooledSource& source) LOCKSTEP_REQUIRES(mutex_) { return IsAcknowledged(source); });
}

bool Ledger::IsAcknowledged(const SpooledSource& source) const {
  const auto found = acknowledged_.find(source.id);
  return found != acknowledged_.end() && found->second >= source.batches - 1;
}

// What is acknowledged stays known until it is settled, so that the same sources taken again are delivered at once.
void Ledger::Deliver(Entry& entry) { WriteState(entry, FileState::kDelivered, ""); }

void Ledger::Settle(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  if (!IsNeeded(source_id)) {
    acknowledged_.erase(source_id);  // of which the next file written anew will know nothing
  }
}

bool Ledger::IsNeeded(const Hash128& source_id) const {
  const auto [begin, end] = files_of_.equal_range(source_id);
  return std::any_of(begin, end, [this](const auto& file) LOCKSTEP_REQUIRES(mutex_) {
    return entries_.at(file.second).state == FileState::kSpooled;
  });
}

// With what is acknowledged of them, unless another file needs that.
void Ledger::DropSources(Entry& entry) {
  Unlink(entry);
  for (const SpooledSource& source : entry.sources) {
    if (!files_of_.contains(source.id)) {
      acknowledged_.erase(source.id);
    }
  }
  entry.sources.clear();
}

void Ledger::Unlink(const Entry& entry) {
  for (const SpooledSource& source : entry.sources) {
    auto [begin, end] = files_of_.equal_range(source.id);
    while (begin != end) {
      begin = begin->second == entry.key.path ? files_of_.erase(begin) : std::next(begin);
    }
  }
}

void Ledger::Erase(const std::string& path) {
  Unlink(entries_.at(path));
  entries_.erase(path);
  Write(GoneChange(path));
}

void Ledger::UsedSegments(uint32_t last) {
  const MutexLock lock(mutex_);
  if (last > last_segment_) {
    last_segment_ = last;
    Write(SegmentsChange(last));
  }
}

absl::Status Ledger::Sync() {
  const MutexLock lock(mutex_);
  return SyncNow();
}

absl::Status Ledger::SyncNow() {
  if (!file_) {
    return absl::OkStatus();
  }
  absl::Status status;
  if (!behind_) {
    status = file_->Sync();
    behind_ = !status.ok();  // a sync that failed is never asked again of the same file: it may tell nothing then
  }
  if (behind_ || file_->size() > 2 * compacted_bytes_ + kSlackBytes) {
    const absl::Status rewritten = Rewrite();
    status = behind_ ? rewritten : absl::OkStatus();  // one that is too large does no harm
  }
  Tell(status);
  return status;
}

std::vector<std::string> Ledger::Forget(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  std::vector<std::string> paths;
  const auto [begin, end] = files_of_.equal_range(source_id);
  for (auto file = begin; file != end; ++file) {
    paths.push_back(file->second);
  }
  for (const std::string& path : paths) {
    Erase(path);
  }
  return paths;
}

std::vector<std::string> Ledger::TakeBack(const Hash128& source_id) {
  {
    const MutexLock lock(mutex_);
    acknowledged_.erase(source_id);
    Write(AcknowledgedChange(source_id, -1));
  }
  return Forget(source_id);
}

std::vector<SourceExtent> Ledger::Given() const {
  const MutexLock lock(mutex_);
  std::map<Hash128, int64_t> given;
  for (const auto& [id, sequence] : acknowledged_) {
    if (sequence == kAllAcknowledged) {
      given[id] = 0;
    }
  }
  for (const auto& [path, entry] : entries_) {
    for (const SpooledSource& source : entry.sources) {
      if (entry.state == FileState::kDelivered || IsAcknowledged(source)) {
        given[source.id] = source.batches;
      }
    }
  }
  std::vector<SourceExtent> extents;
  for (const auto& [id, batches] : given) {
    extents.push_back({.id = id, .batches = batches});
  }
  return extents;
}

std::vector<std::string> Ledger::ForgetUnless(const std::function<bool(const Hash128&, int64_t)>& kept) {
  const MutexLock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, entry] : entries_) {
    bool whole = true;
    for (const SpooledSource& source : entry.sources) {
      whole = whole && (IsAcknowledged(source) || kept(source.id, source.batches));
    }
    if (entry.state == FileState::kSpooled && !whole) {
      paths.push_back(path);
    }
  }
  for (const std::string& path : paths) {
    Erase(path);
  }
  return paths;
}

void Ledger::Gone(const std::string& path) {
  const MutexLock lock(mutex_);
  if (entries_.contains(path)) {
    Erase(path);
  }
}

uint32_t Ledger::last_segment() const {
  const MutexLock lock(mutex_);
  return last_segment_;
}

int64_t Ledger::file_bytes() const {
  const MutexLock lock(mutex_);
  return file_ ? file_->size() : 0;
}

Acknowledged Ledger::acknowledged() const {
  const MutexLock lock(mutex_);
  return acknowledged_;
}

std::optional<FileState> Ledger::StateOf(const std::string& path) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(path);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.state);
}

std::vector<std::string> Ledger::FailedFiles() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, entry] : entries_) {
    if (entry.state == FileState::kFailed) {
      paths.push_back(path);
    }
  }
  return paths;
}

std::vector<std::string> Ledger::LeftInWork() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, entry] : entries_) {
    if (entry.state == FileState::kInWork && !entry.by_this_process) {
      paths.push_back(path);
    }
  }
  return paths;
}

}  // namespace lockstep
