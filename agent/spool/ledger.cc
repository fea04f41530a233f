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
enum class Change : uint8_t { kRun = 1, kFile = 2, kState = 3, kAcknowledged = 4, kGone = 5 };

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

std::string GoneChange(const std::string& path) { return Begin(Change::kGone).Text(path).Finish(); }

}  // namespace

std::unique_ptr<Ledger> Ledger::InMemory() { return std::unique_ptr<Ledger>(new Ledger()); }

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(const std::string& path, const std::string& run,
                                                     const std::function<bool(const std::string&)>& exists) {
  std::unique_ptr<Ledger> ledger(new Ledger());
  const MutexLock lock(ledger->mutex_);
  LOCKSTEP_RETURN_IF_ERROR(ledger->Load(path, run, exists));
  return ledger;
}

absl::Status Ledger::Load(const std::string& path, const std::string& run,
                          const std::function<bool(const std::string&)>& exists) {
  LOCKSTEP_ASSIGN_OR_RETURN(const DurableFile old, DurableFile::Open(path));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, old.ReadAt(0, old.size()));
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
  if (!run_.empty() && run_ != run) {
    const bool idle = std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) {
      return entry.second.state == FileState::kDelivered || entry.second.state == FileState::kFailed;
    });
    if (!idle) {
      return absl::FailedPreconditionError(
          fmt::format("{} holds files of run '{}' that are not delivered: let an agent finish that run, or give run "
                      "'{}' a folder of its own",
                      std::filesystem::path(path).parent_path().string(), run_, run));
    }
    entries_.clear();
    acknowledged_.clear();
  }
  run_ = run;
  std::erase_if(entries_,
                [&](const auto& entry) { return entry.second.state == FileState::kDelivered && !exists(entry.first); });
  LOCKSTEP_RETURN_IF_ERROR(ReplaceFile(path, Compacted()));
  LOCKSTEP_ASSIGN_OR_RETURN(file_, DurableFile::Open(path));
  return absl::OkStatus();
}

void Ledger::Apply(std::string_view change) {
  FieldReader fields(change);
  switch (static_cast<Change>(fields.Number(1))) {
    case Change::kRun:
      run_ = fields.Text();
      return;
    case Change::kFile: {
      Entry entry{.key = {.path = std::string(fields.Text()),
                          .size_bytes = fields.Signed(),
                          .modified_ns = fields.Signed(),
                          .inode = fields.Number()},
                  .fingerprint = fields.Id(),
                  .by_this_process = false};
      entries_.insert_or_assign(entry.key.path, entry);
      return;
    }
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
  }
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

std::string Ledger::Compacted() const {
  std::string text;
  const auto add = [&text](const std::string& change) {
    text += EncodeFrame(FrameKind::kLedger, kFileNumber, static_cast<int64_t>(text.size()), change);
  };
  add(RunChange(run_));
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

// A full disk is no failure: an entry that is missing later costs work, no data.
absl::Status Ledger::Write(std::string_view change) {
  if (!file_) {
    return absl::OkStatus();
  }
  const absl::Status written = file_->Append(EncodeFrame(FrameKind::kLedger, kFileNumber, file_->size(), change));
  const int64_t now_ns = SystemClock().MonotonicNs();
  if (!absl::IsResourceExhausted(written)) {
    full_.Over(now_ns);
    return written;
  }
  if (full_.Met(now_ns)) {
    LogWarning("{}: an agent started again may condense files again", std::string(written.message()));
  }
  return absl::OkStatus();
}

absl::Status Ledger::WriteState(Entry& entry, FileState state, std::string_view reason) {
  entry.state = state;
  entry.reason = reason;
  return Write(StateChange(entry.key.path, state, reason, entry.sources));
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

absl::Status Ledger::Take(const FileKey& key, const Hash128& fingerprint) {
  const MutexLock lock(mutex_);
  Entry& entry = entries_[key.path];
  Unlink(entry);
  entry = {.key = key, .fingerprint = fingerprint};
  return Write(FileChange(key, fingerprint));
}

absl::Status Ledger::Spooled(const std::string& path, std::vector<SpooledSource> sources) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(path);
  LOCKSTEP_CHECK(found != entries_.end());
  Entry& entry = found->second;
  entry.sources = std::move(sources);
  for (const SpooledSource& source : entry.sources) {
    files_of_.emplace(source.id, path);
  }
  LOCKSTEP_RETURN_IF_ERROR(WriteState(entry, FileState::kSpooled, ""));
  if (IsDelivered(entry)) {
    LOCKSTEP_RETURN_IF_ERROR(Deliver(entry));
  }
  return file_ ? file_->Sync() : absl::OkStatus();
}

absl::Status Ledger::Failed(const std::string& path, std::string_view reason) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(path);
  LOCKSTEP_CHECK(found != entries_.end());
  return WriteState(found->second, FileState::kFailed, reason);
}

absl::Status Ledger::Acknowledge(const Hash128& source_id, int64_t sequence) {
  const MutexLock lock(mutex_);
  acknowledged_[source_id] = sequence;
  LOCKSTEP_RETURN_IF_ERROR(Write(AcknowledgedChange(source_id, sequence)));
  return Settle(source_id);
}

// A file whose last source this was is delivered.
absl::Status Ledger::Settle(const Hash128& source_id) {
  std::vector<std::string> paths;
  const auto [begin, end] = files_of_.equal_range(source_id);
  for (auto file = begin; file != end; ++file) {
    if (IsDelivered(entries_.at(file->second))) {
      paths.push_back(file->second);
    }
  }
  for (const std::string& path : paths) {
    LOCKSTEP_RETURN_IF_ERROR(Deliver(entries_.at(path)));
  }
  return absl::OkStatus();
}

bool Ledger::IsDelivered(const Entry& entry) const {
  for (const SpooledSource& source : entry.sources) {
    if (!IsAcknowledged(source)) {
      return false;
    }
  }
  return true;
}

bool Ledger::IsAcknowledged(const SpooledSource& source) const {
  const auto found = acknowledged_.find(source.id);
  return found != acknowledged_.end() && found->second >= source.batches - 1;
}

// What is acknowledged stays known to this process, so that the same sources taken again are delivered at once.
absl::Status Ledger::Deliver(Entry& entry) {
  Unlink(entry);
  entry.sources.clear();
  return WriteState(entry, FileState::kDelivered, "");
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

absl::Status Ledger::Erase(const std::string& path) {
  Unlink(entries_.at(path));
  entries_.erase(path);
  return Write(GoneChange(path));
}

absl::Status Ledger::Sync() {
  const MutexLock lock(mutex_);
  return file_ ? file_->Sync() : absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Ledger::Forget(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  std::vector<std::string> paths;
  const auto [begin, end] = files_of_.equal_range(source_id);
  for (auto file = begin; file != end; ++file) {
    paths.push_back(file->second);
  }
  for (const std::string& path : paths) {
    LOCKSTEP_RETURN_IF_ERROR(Erase(path));
  }
  return paths;
}

absl::StatusOr<std::vector<std::string>> Ledger::ForgetUnless(
    const std::function<bool(const Hash128&, int64_t)>& kept) {
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
    LOCKSTEP_RETURN_IF_ERROR(Erase(path));
  }
  return paths;
}

absl::Status Ledger::Gone(const std::string& path) {
  const MutexLock lock(mutex_);
  return entries_.contains(path) ? Erase(path) : absl::OkStatus();
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
