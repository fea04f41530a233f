#include "agent/spool/spool_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/uplink/retry_hint.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/log.h"

namespace lockstep {
namespace {

// More than can wait in an uplink's window, so that one that has something to give is among them.
constexpr size_t kSourcesAtATime = 64;
// Given to the uplink and not known to be stored.
constexpr size_t kNotesAtATime = 64;
// In one offer; the aggregator takes as many.
constexpr size_t kMostOffered = 1000;
// Sources and notes that are done with and still known, so that a copy of a file taken soon after it costs nothing.
constexpr size_t kSettledKept = 10'000;

// The aggregator's limit, not our disk's.
bool IsPutOff(const absl::Status& status) { return absl::IsResourceExhausted(status) && RetryAfterNs(status) > 0; }

// Not to be had from the spool, now or later; any other error of a reading is the disk's alone.
bool IsGone(const absl::Status& read) { return absl::IsDataLoss(read) || absl::IsNotFound(read); }

}  // namespace

// --- producers ---

absl::Status SpoolOutlet::BeginSource(const SourceContext& context) {
  // What another version of the agent began, and of which nothing was sent yet, is begun anew: its batches and ours
  // would not fit together.
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string before, ReadContext(context.source_id));
  if (!before.empty()) {
    const absl::StatusOr<SourceContext> old = codec_.decode_context(before);
    if (old.ok() && old->condense_version != context.condense_version && spool_.Range(context.source_id).first == 0) {
      spool_.Rewind(context.source_id, -1);
    }
  }
  return spool_.Put(FrameKind::kContext, context.source_id, 0, codec_.encode_context(context));
}

// "" = none that is of any use. Waits while the disk does not let it be read.
absl::StatusOr<std::string> SpoolOutlet::ReadContext(const Hash128& source_id) {
  while (true) {
    absl::StatusOr<std::string> context = spool_.Read(FrameKind::kContext, source_id, 0);
    if (context.ok()) {
      return context;
    }
    if (absl::IsNotFound(context.status()) || absl::IsDataLoss(context.status())) {
      return std::string();
    }
    LOCKSTEP_RETURN_IF_ERROR(spool_.usable());
    spool_.AwaitNews(spool_.News(), kNsPerS);
  }
}

bool SpoolOutlet::Wants(const Hash128& source_id, int64_t sequence) { return spool_.Wants(source_id, sequence); }

absl::Status SpoolOutlet::Push(OutgoingBatch batch) {
  return spool_.Put(FrameKind::kBatch, batch.source_id, batch.sequence, batch.body);
}

absl::Status SpoolOutlet::AddNote(FileNote note) {
  return spool_.Put(FrameKind::kNote, IdOf(note), 0, codec_.encode_note(note));
}

Hash128 SpoolOutlet::IdOf(const FileNote& note) const {
  return FileNoteId(codec_.decode_note(codec_.encode_note(note)).value_or(note));
}

// --- what the uplink tells, on its threads ---

SpoolSender::SpoolSender(Spool& spool, Ledger& ledger, const SpoolCodec& codec, Redo redo)
    : spool_(spool), ledger_(ledger), codec_(codec), redo_(std::move(redo)) {}

SpoolSender::~SpoolSender() {
  if (thread_.joinable()) {
    const absl::Status ignored = Stop();  // a caller that wants to know has stopped it before
  }
}

void SpoolSender::OnAcknowledged(const Hash128& source_id, int64_t sequence, bool complete) {
  {
    const MutexLock lock(mutex_);
    int64_t& known = heard_.back().acknowledged[source_id];
    known = complete || known == kAllAcknowledged ? kAllAcknowledged : sequence;
  }
  spool_.Wake();
}

void SpoolSender::OnNoteStored(const Hash128& id) {
  {
    const MutexLock lock(mutex_);
    heard_.back().notes.push_back(id);
  }
  spool_.Wake();
}

void SpoolSender::OnRefused(const Hash128& source_id) {
  {
    const MutexLock lock(mutex_);
    ++refused_;
    heard_.back().acknowledged[source_id] = kAllAcknowledged;
  }
  spool_.Wake();
}

void SpoolSender::OnWelcome(uint64_t store_start) {
  {
    const MutexLock lock(mutex_);
    if (store_start == 0) {
      checked_ = true;
    } else if (store_start != store_start_) {
      checked_ = false;
      heard_.emplace_back().another_store = true;
    }
    store_start_ = store_start;
  }
  spool_.Wake();
}

void SpoolSender::OnLacking(const std::vector<Hash128>& ids, size_t open) {
  {
    const MutexLock lock(mutex_);
    Heard& heard = heard_.back();
    heard.lacking.insert(heard.lacking.end(), ids.begin(), ids.end());
    heard.open_offers = open;
  }
  spool_.Wake();
}

int64_t SpoolSender::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

absl::Status SpoolSender::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

// --- the thread ---

void SpoolSender::Start(UplinkClient& uplink) {
  uplink_ = &uplink;
  thread_ = std::thread([this] { Run(); });
}

void SpoolSender::Run() {
  absl::Status end;
  while (!stopping() && (end = End()).ok()) {
    const uint64_t seen = spool_.News();
    bool gave = false;
    const absl::Status status = RunOnce(gave);
    Tell(status);
    if (!status.ok() && End().ok()) {
      WaitUnlessStopped(stop_.get_token(), kNsPerS);  // whatever happens meanwhile
    } else if (status.ok() && !gave && !stopping()) {
      spool_.AwaitNews(seen, kNsPerS);
    }
  }
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    failure_ = end;
  }
  spool_.Wake();
}

absl::Status SpoolSender::End() {
  LOCKSTEP_RETURN_IF_ERROR(uplink_->failure());
  return spool_.failure();
}

void SpoolSender::Tell(const absl::Status& status) {
  const int64_t now_ns = SystemClock().MonotonicNs();
  if (!status.ok() && End().ok()) {
    if (trouble_.Met(now_ns)) {
      LogWarning("the spool: {}; trying again", std::string(status.message()));
    }
  } else if (const auto lasted_ns = trouble_.Over(now_ns)) {
    LogInfo("the spool can be used again after {} s", *lasted_ns / kNsPerS);
  }
}

// After an error all of it is done again, from where it was.
absl::Status SpoolSender::RunOnce(bool& gave) {
  TakeHeard();
  ResumeWhatIsDue();
  LOCKSTEP_ASSIGN_OR_RETURN(gave, GiveNotes());
  for (const Hash128& source_id : spool_.Sendable(kSourcesAtATime)) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool some, GiveSource(source_id));
    gave = gave || some;
  }
  return Collect(/*thoroughly=*/false);
}

void SpoolSender::TakeHeard() {
  std::vector<Heard> stores(1);
  {
    const MutexLock lock(mutex_);
    std::swap(stores, heard_);
  }
  bool checked = false;
  for (const Heard& heard : stores) {
    GiveAgain(heard.lacking);
    // Before what this store has acknowledged itself counts as given: of that it need not be asked.
    checked = heard.another_store ? !OfferWhatWasGiven() : heard.open_offers == 0;
    TakeStored(heard, /*is_now=*/&heard == &stores.back());
  }
  if (checked) {
    HaveChecked();
  }
}

void SpoolSender::TakeStored(const Heard& heard, bool is_now) {
  for (const auto& [source_id, sequence] : heard.acknowledged) {
    if (sequence == kAllAcknowledged) {
      LetGo(source_id);
    } else if (is_now) {  // another one may have less of it, and tells
      // The ledger first: what is neither acknowledged there nor kept in the spool is lost.
      ledger_.Acknowledge(source_id, sequence);
      spool_.Acknowledge(source_id, sequence);
    }
  }
  for (const Hash128& id : heard.notes) {
    LetGo(id);
    notes_given_.erase(id);
  }
}

// The store is known to have what it was given, unless it was opened anew meanwhile. A drain waits for this.
void SpoolSender::HaveChecked() {
  {
    const MutexLock lock(mutex_);
    if (checked_ || heard_.size() > 1) {
      return;
    }
    checked_ = true;
  }
  spool_.Wake();
}

// The store was opened anew: it may be an older copy, or another one. False: nothing was given before.
bool SpoolSender::OfferWhatWasGiven() {
  std::vector<UplinkOffer> offers;
  for (const SourceExtent& extent : ledger_.Given()) {
    if (offers.empty() || offers.back().extents.size() == kMostOffered) {
      offers.emplace_back();
    }
    offers.back().extents.push_back(extent);
  }
  const bool some = !offers.empty();
  uplink_->Offer(std::move(offers));
  return some;
}

void SpoolSender::GiveAgain(const std::vector<Hash128>& lacking) {
  std::set<std::string> paths;
  for (const Hash128& id : lacking) {
    for (const std::string& path : ledger_.TakeBack(id)) {
      paths.insert(path);
    }
    spool_.TakeBack(id);
    uplink_->Settle(id);
    announced_.erase(id);
  }
  if (!paths.empty()) {
    redo_({paths.begin(), paths.end()}, "the aggregator has lost what it gave");
  }
}

// It stays where it is, and those behind it go on.
void SpoolSender::Park(const Hash128& source_id, const absl::Status& why) {
  const int64_t now_ns = SystemClock().MonotonicNs();
  // Not all at once, and not all agents at once: their sources differ.
  const int64_t wait_ns = Spread(RetryAfterNs(why), static_cast<double>(source_id.low % 1024) / 1024);
  parked_until_ns_[source_id] = now_ns + wait_ns;
  announced_.erase(source_id);
  spool_.Park(source_id);
  if (limited_.Met(now_ns)) {
    LogWarning("source {}, and {} more: {}; it waits in the spool and is offered again in {} s, the others go on",
               source_id.Hex(), parked_until_ns_.size() - 1, std::string(why.message()), wait_ns / kNsPerS);
  }
  const MutexLock lock(mutex_);
  put_off_ = why;
}

void SpoolSender::ResumeWhatIsDue() {
  const int64_t now_ns = SystemClock().MonotonicNs();
  for (auto parked = parked_until_ns_.begin(); parked != parked_until_ns_.end();) {
    if (parked->second > now_ns) {
      ++parked;
      continue;
    }
    spool_.Resume(parked->first);
    parked = parked_until_ns_.erase(parked);
  }
}

absl::Status SpoolSender::PutOff() const {
  const SpoolState state = spool_.State();
  const auto notes = static_cast<int64_t>(uplink_->notes_put_off());
  const MutexLock lock(mutex_);
  if (state.unsent == 0 || state.unsent > state.parked + notes) {
    return absl::OkStatus();
  }
  return put_off_.ok() ? absl::ResourceExhaustedError("the aggregator takes no more notes about files") : put_off_;
}

void SpoolSender::LetGo(const Hash128& id) {
  ledger_.Acknowledge(id, kAllAcknowledged);
  spool_.Release(id);
  uplink_->Forget(id);
  announced_.erase(id);
  settled_.push_back(id);
  if (settled_.size() > kSettledKept) {
    const Hash128 oldest = settled_.front();
    settled_.pop_front();
    ledger_.Settle(oldest);
    spool_.Settle(oldest);
    uplink_->Settle(oldest);
  }
}

absl::Status SpoolSender::Collect(bool thoroughly) {
  return spool_.Collect(
      [this](uint32_t last) {
        ledger_.UsedSegments(last);
        return ledger_.Sync();
      },
      thoroughly);
}

absl::StatusOr<bool> SpoolSender::GiveNotes() {
  const auto notes = spool_.NotesAfter(last_note_, kNotesAtATime - std::min(kNotesAtATime, notes_given_.size()));
  for (const auto& [order, id] : notes) {
    const absl::StatusOr<std::string> body = spool_.Read(FrameKind::kNote, id, 0);
    absl::StatusOr<FileNote> note = body.ok() ? codec_.decode_note(*body) : body.status();
    if (!body.ok() && !IsGone(body.status())) {
      return body.status();
    }
    last_note_ = order;
    if (!note.ok()) {
      spool_.Release(id);
      CondenseAgain(id, std::string(note.status().message()));
      continue;
    }
    LOCKSTEP_RETURN_IF_ERROR(uplink_->AddNote(*std::move(note)));
    notes_given_.insert(id);
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
    if (const absl::Status put_off = uplink_->PutOff(source_id); !put_off.ok()) {
      Park(source_id, put_off);
      return true;
    }
    if (!wanted) {  // complete or refused, perhaps before it was taken again
      LetGo(source_id);
      return true;
    }
    if (*wanted < first) {
      BeginAgain(source_id, *wanted, "the aggregator does not have what is no longer in the spool");
      return true;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const bool some, GiveBatch(source_id, *wanted));
    if (!some) {
      return true;
    }
    gave = true;
    TakeHeard();
    if (!announced_.contains(source_id)) {
      return true;  // let go, or begun again
    }
  }
  return gave;
}

// False: there is nothing to announce, or the context cannot be used.
absl::StatusOr<bool> SpoolSender::Announce(const Hash128& source_id) {
  const absl::StatusOr<std::string> body = spool_.Read(FrameKind::kContext, source_id, 0);
  if (const auto [first, next] = spool_.Range(source_id); first == next) {
    return false;  // acknowledged meanwhile
  }
  if (!body.ok() && !IsGone(body.status())) {
    return body.status();
  }
  const absl::StatusOr<SourceContext> context = body.ok() ? codec_.decode_context(*body) : body.status();
  if (!context.ok()) {
    BeginAgain(source_id, spool_.Range(source_id).first, std::string(context.status().message()));
    return false;
  }
  const absl::Status begun = uplink_->BeginSource(*context);
  if (IsPutOff(begun)) {
    Park(source_id, begun);
    return false;
  }
  LOCKSTEP_RETURN_IF_ERROR(begun);
  announced_.insert(source_id);
  return true;
}

// False: it is damaged.
absl::StatusOr<bool> SpoolSender::GiveBatch(const Hash128& source_id, int64_t sequence) {
  absl::StatusOr<std::string> body = spool_.Read(FrameKind::kBatch, source_id, sequence);
  if (absl::IsNotFound(body.status())) {
    return true;  // acknowledged or released meanwhile
  }
  if (absl::IsDataLoss(body.status())) {
    BeginAgain(source_id, sequence, std::string(body.status().message()));
    return false;
  }
  LOCKSTEP_RETURN_IF_ERROR(body.status());
  OutgoingBatch batch{.source_id = source_id, .sequence = sequence, .body = *std::move(body)};
  batch.content_hash = HashOf(batch.body);
  const absl::Status pushed = uplink_->Push(std::move(batch));
  if (absl::IsInvalidArgument(pushed) && uplink_->failure().ok()) {
    LogError("{}", std::string(pushed.message()));
    OnRefused(source_id);
    return false;
  }
  if (IsPutOff(pushed)) {
    Park(source_id, pushed);
    return false;
  }
  LOCKSTEP_RETURN_IF_ERROR(pushed);
  return true;
}

// The files that gave it are condensed again; the spool begins behind what was given to the uplink.
void SpoolSender::BeginAgain(const Hash128& source_id, int64_t wanted, std::string_view why) {
  spool_.Rewind(source_id, wanted - 1);
  announced_.erase(source_id);
  ledger_.Acknowledge(source_id, wanted - 1);
  CondenseAgain(source_id, why);
}

void SpoolSender::CondenseAgain(const Hash128& id, std::string_view why) {
  const std::vector<std::string> paths = ledger_.Forget(id);
  if (paths.empty()) {
    LogWarning("source {} is not whole ({}), and its file is not known or still in work", id.Hex(), why);
  }
  redo_(paths, why);
}

// --- the end ---

absl::Status SpoolSender::Drain(int64_t within_ns) {
  const int64_t end_ns = SystemClock().MonotonicNs() + within_ns;
  while (true) {
    const uint64_t seen = spool_.News();
    bool checked = false;
    {
      const MutexLock lock(mutex_);
      if (ended_) {
        return failure_;
      }
      checked = checked_;
    }
    if (checked && spool_.State().unsent == 0) {
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
  stop_.request_stop();
  spool_.Wake();
  thread_.join();
  TakeHeard();
  LOCKSTEP_RETURN_IF_ERROR(Collect(/*thoroughly=*/true));
  return ledger_.Sync();
}

}  // namespace lockstep
