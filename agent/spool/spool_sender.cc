#include "agent/spool/spool_sender.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "platform/log.h"

namespace lockstep {
namespace {

// More than can wait in an uplink's window, so that one that has something to give is among them.
constexpr size_t kSourcesAtATime = 64;

}  // namespace

// --- producers ---

absl::Status SpoolOutlet::BeginSource(const SourceContext& context) {
  // What another version of the agent began, and of which nothing was sent yet, is begun anew: its batches and ours
  // would not fit together.
  const absl::StatusOr<std::string> before = spool_.Read(FrameKind::kContext, context.source_id, 0);
  const absl::StatusOr<SourceContext> old = before.ok() ? codec_.decode_context(*before) : before.status();
  if (old.ok() && old->condense_version != context.condense_version && spool_.Range(context.source_id).first == 0) {
    spool_.Rewind(context.source_id, -1);
  }
  return spool_.Put(FrameKind::kContext, context.source_id, 0, codec_.encode_context(context));
}

bool SpoolOutlet::Wants(const Hash128& source_id, int64_t sequence) { return spool_.Wants(source_id, sequence); }

absl::Status SpoolOutlet::Push(OutgoingBatch batch) {
  return spool_.Put(FrameKind::kBatch, batch.source_id, batch.sequence, batch.body);
}

absl::Status SpoolOutlet::AddNote(FileNote note) {
  return spool_.Put(FrameKind::kNote, IdOf(note), 0, codec_.encode_note(note));
}

Hash128 SpoolOutlet::IdOf(const FileNote& note) const {
  return HashBuilder().Add("note").Add(codec_.encode_note(note)).Finish();
}

// --- what the uplink tells, on its threads ---

SpoolSender::SpoolSender(Spool& spool, Ledger& ledger, const SpoolCodec& codec,
                         std::function<void(const std::vector<std::string>&)> redo)
    : spool_(spool), ledger_(ledger), codec_(codec), redo_(std::move(redo)) {}

SpoolSender::~SpoolSender() {
  if (thread_.joinable()) {
    const absl::Status ignored = Stop();  // a caller that wants to know has stopped it before
  }
}

void SpoolSender::OnAcknowledged(const Hash128& source_id, int64_t sequence, bool complete) {
  {
    const MutexLock lock(mutex_);
    int64_t& known = heard_.acknowledged[source_id];
    known = complete || known == kAllAcknowledged ? kAllAcknowledged : sequence;
  }
  spool_.Wake();
}

void SpoolSender::OnNotesStored(int64_t count) {
  {
    const MutexLock lock(mutex_);
    heard_.notes += count;
  }
  spool_.Wake();
}

void SpoolSender::OnRefused(const Hash128& source_id) {
  {
    const MutexLock lock(mutex_);
    ++refused_;
    heard_.acknowledged[source_id] = kAllAcknowledged;
  }
  spool_.Wake();
}

int64_t SpoolSender::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

bool SpoolSender::stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

// --- the thread ---

void SpoolSender::Start(UplinkClient& uplink) {
  uplink_ = &uplink;
  thread_ = std::thread([this] { Run(); });
}

void SpoolSender::Run() {
  absl::Status status;
  while (status.ok() && !stopping()) {
    const uint64_t seen = spool_.News();
    bool gave = false;
    status = RunOnce(gave);
    if (status.ok() && !gave && !stopping()) {
      spool_.AwaitNews(seen, kNsPerS);
    }
  }
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    failure_ = status;
  }
  spool_.Wake();
}

absl::Status SpoolSender::RunOnce(bool& gave) {
  LOCKSTEP_RETURN_IF_ERROR(uplink_->failure());
  LOCKSTEP_RETURN_IF_ERROR(TakeHeard());
  LOCKSTEP_ASSIGN_OR_RETURN(gave, GiveNotes());
  for (const Hash128& source_id : spool_.Sendable(kSourcesAtATime)) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool some, GiveSource(source_id));
    gave = gave || some;
  }
  return Collect(/*thoroughly=*/false);
}

absl::Status SpoolSender::TakeHeard() {
  Heard heard;
  {
    const MutexLock lock(mutex_);
    std::swap(heard, heard_);
  }
  for (const auto& [source_id, sequence] : heard.acknowledged) {
    if (sequence == kAllAcknowledged) {
      LOCKSTEP_RETURN_IF_ERROR(LetGo(source_id));
    } else {
      // The ledger first: what is neither acknowledged there nor kept in the spool is lost.
      LOCKSTEP_RETURN_IF_ERROR(ledger_.Acknowledge(source_id, sequence));
      spool_.Acknowledge(source_id, sequence);
    }
  }
  for (; heard.notes > 0 && !notes_given_.empty(); --heard.notes) {
    LOCKSTEP_RETURN_IF_ERROR(LetGo(notes_given_.front()));
    notes_given_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status SpoolSender::LetGo(const Hash128& id) {
  LOCKSTEP_RETURN_IF_ERROR(ledger_.Acknowledge(id, kAllAcknowledged));
  spool_.Release(id);
  uplink_->Forget(id);
  announced_.erase(id);
  return absl::OkStatus();
}

absl::Status SpoolSender::Collect(bool thoroughly) {
  return spool_.Collect([this] { return ledger_.Sync(); }, thoroughly);
}

absl::StatusOr<bool> SpoolSender::GiveNotes() {
  const auto notes = spool_.NotesAfter(last_note_);
  for (const auto& [order, id] : notes) {
    last_note_ = order;
    const absl::StatusOr<std::string> body = spool_.Read(FrameKind::kNote, id, 0);
    absl::StatusOr<FileNote> note = body.ok() ? codec_.decode_note(*body) : body.status();
    if (!note.ok()) {
      spool_.Release(id);
      LOCKSTEP_RETURN_IF_ERROR(CondenseAgain(id, std::string(note.status().message())));
      continue;
    }
    LOCKSTEP_RETURN_IF_ERROR(uplink_->AddNote(*std::move(note)));
    notes_given_.push_back(id);
  }
  return !notes.empty();
}

absl::StatusOr<bool> SpoolSender::GiveSource(const Hash128& source_id) {
  if (!announced_.contains(source_id)) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool announced, Announce(source_id));
    if (!announced) {
      return true;
    }
  }
  bool gave = false;
  while (!stopping()) {
    const std::optional<int64_t> wanted = uplink_->NextWanted(source_id);
    const auto [first, next] = spool_.Range(source_id);
    if (first == next || (wanted && *wanted >= next)) {
      return gave;
    }
    if (!wanted) {  // complete or refused, perhaps before it was taken again
      LOCKSTEP_RETURN_IF_ERROR(LetGo(source_id));
      return true;
    }
    if (*wanted < first) {
      LOCKSTEP_RETURN_IF_ERROR(Redo(source_id, *wanted, "the aggregator does not have what is no longer in the spool"));
      return true;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const bool some, GiveBatch(source_id, *wanted));
    if (!some) {
      return true;
    }
    gave = true;
    LOCKSTEP_RETURN_IF_ERROR(TakeHeard());
  }
  return gave;
}

// False: there is nothing to announce, or the context cannot be used.
absl::StatusOr<bool> SpoolSender::Announce(const Hash128& source_id) {
  const absl::StatusOr<std::string> body = spool_.Read(FrameKind::kContext, source_id, 0);
  if (const auto [first, next] = spool_.Range(source_id); first == next) {
    return false;  // acknowledged meanwhile
  }
  const absl::StatusOr<SourceContext> context = body.ok() ? codec_.decode_context(*body) : body.status();
  if (!context.ok()) {
    LOCKSTEP_RETURN_IF_ERROR(Redo(source_id, spool_.Range(source_id).first, std::string(context.status().message())));
    return false;
  }
  LOCKSTEP_RETURN_IF_ERROR(uplink_->BeginSource(*context));
  announced_.insert(source_id);
  return true;
}

// False: it is damaged.
absl::StatusOr<bool> SpoolSender::GiveBatch(const Hash128& source_id, int64_t sequence) {
  absl::StatusOr<std::string> body = spool_.Read(FrameKind::kBatch, source_id, sequence);
  if (absl::IsNotFound(body.status())) {
    return true;  // acknowledged or released meanwhile
  }
  if (!body.ok()) {
    LOCKSTEP_RETURN_IF_ERROR(Redo(source_id, sequence, std::string(body.status().message())));
    return false;
  }
  OutgoingBatch batch{.source_id = source_id, .sequence = sequence, .body = *std::move(body)};
  batch.content_hash = HashOf(batch.body);
  const absl::Status pushed = uplink_->Push(std::move(batch));
  if (absl::IsInvalidArgument(pushed) && uplink_->failure().ok()) {
    LogError("{}", std::string(pushed.message()));
    OnRefused(source_id);
    return false;
  }
  LOCKSTEP_RETURN_IF_ERROR(pushed);
  return true;
}

// The files that gave it are condensed again; the spool begins behind what was given to the uplink.
absl::Status SpoolSender::Redo(const Hash128& source_id, int64_t wanted, std::string_view why) {
  spool_.Rewind(source_id, wanted - 1);
  announced_.erase(source_id);
  LOCKSTEP_RETURN_IF_ERROR(ledger_.Acknowledge(source_id, wanted - 1));
  return CondenseAgain(source_id, why);
}

absl::Status SpoolSender::CondenseAgain(const Hash128& id, std::string_view why) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ledger_.Forget(id));
  for (const std::string& path : paths) {
    LogWarning("{} is condensed again: {}", path, why);
  }
  if (paths.empty()) {
    LogWarning("source {} is not whole ({}), and its file is not known or still in work", id.Hex(), why);
  }
  redo_(paths);
  return absl::OkStatus();
}

// --- the end ---

absl::Status SpoolSender::Drain(int64_t within_ns) {
  const int64_t end_ns = SystemClock().MonotonicNs() + within_ns;
  while (true) {
    const uint64_t seen = spool_.News();
    {
      const MutexLock lock(mutex_);
      if (ended_) {
        return failure_;
      }
    }
    if (spool_.State().unsent == 0) {
      return absl::OkStatus();
    }
    const int64_t left_ns = end_ns - SystemClock().MonotonicNs();
    if (left_ns <= 0) {
      return absl::DeadlineExceededError("the aggregator did not take everything in time");
    }
    spool_.AwaitNews(seen, left_ns);
  }
}

absl::Status SpoolSender::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  spool_.Wake();
  thread_.join();
  LOCKSTEP_RETURN_IF_ERROR(TakeHeard());
  LOCKSTEP_RETURN_IF_ERROR(Collect(/*thoroughly=*/true));
  return ledger_.Sync();
}

}  // namespace lockstep
