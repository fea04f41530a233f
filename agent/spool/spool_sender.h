// Sends what is in the spool, on a thread of its own: the oldest source first, from where the aggregator stands. What
// is acknowledged leaves the spool and is written into the ledger. In memory there is only the uplink's window.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/spool/ledger.h"
#include "agent/spool/spool.h"
#include "agent/uplink/uplink_client.h"
#include "platform/mutex.h"
#include "platform/outage.h"

namespace lockstep {

// The forms in which contexts and notes stand in the spool.
struct SpoolCodec {
  std::function<std::string(const SourceContext&)> encode_context;
  std::function<absl::StatusOr<SourceContext>(std::string_view)> decode_context;
  std::function<std::string(const FileNote&)> encode_note;
  std::function<absl::StatusOr<FileNote>(std::string_view)> decode_note;
};

// The producers' side: what is pushed is durable when the call returns.
class SpoolOutlet : public Outlet {
 public:
  // Both outlive this.
  SpoolOutlet(Spool& spool, const SpoolCodec& codec) : spool_(spool), codec_(codec) {}
  absl::Status BeginSource(const SourceContext& context) override;
  [[nodiscard]] bool Wants(const Hash128& source_id, int64_t sequence) override;
  absl::Status Push(OutgoingBatch batch) override;
  absl::Status AddNote(FileNote note) override;
  // By its content as it will arrive: the same note again is the same record.
  [[nodiscard]] Hash128 IdOf(const FileNote& note) const;

 private:
  absl::StatusOr<std::string> ReadContext(const Hash128& source_id);
  Spool& spool_;
  const SpoolCodec& codec_;
};

class SpoolSender : public UplinkObserver {
 public:
  // Is given files that have to be condensed again, and why, on the sender's thread; tells of those that are gone.
  using Redo = std::function<void(const std::vector<std::string>& paths, std::string_view why)>;
  // All outlive this.
  SpoolSender(Spool& spool, Ledger& ledger, const SpoolCodec& codec, Redo redo);
  ~SpoolSender() override;
  SpoolSender(const SpoolSender&) = delete;
  SpoolSender& operator=(const SpoolSender&) = delete;

  // Once. The uplink was made with this as its observer and can_begin_anew.
  void Start(UplinkClient& uplink);
  // Waits until everything that is in the spool is acknowledged, and the aggregator was found to have what was given to
  // it before; at most for `within_ns` (kDeadlineExceeded).
  absl::Status Drain(int64_t within_ns);
  // Why the thread has ended by itself: what the uplink said, or that the spool's disk cannot be trusted. Every other
  // trouble with the disk it outlasts.
  [[nodiscard]] absl::Status failure() const LOCKSTEP_EXCLUDES(mutex_);
  // What keeps everything that is left from being delivered, if a limit of the aggregator does; it is asked again and
  // again.
  [[nodiscard]] absl::Status PutOff() const LOCKSTEP_EXCLUDES(mutex_);
  // Ends the thread, after the uplink was told to stop or has drained, and writes down what is acknowledged.
  absl::Status Stop();
  [[nodiscard]] int64_t refused() const LOCKSTEP_EXCLUDES(mutex_);

  void OnAcknowledged(const Hash128& source_id, int64_t sequence, bool complete) override LOCKSTEP_EXCLUDES(mutex_);
  void OnNoteStored(const Hash128& id) override LOCKSTEP_EXCLUDES(mutex_);
  void OnRefused(const Hash128& source_id) override LOCKSTEP_EXCLUDES(mutex_);
  void OnWelcome(uint64_t store_start) override LOCKSTEP_EXCLUDES(mutex_);
  void OnLacking(const std::vector<Hash128>& ids, size_t open) override LOCKSTEP_EXCLUDES(mutex_);

 private:
  // What the uplink told since it was looked at, of one store.
  struct Heard {
    bool another_store = false;  // than before; the rest was heard after its welcome
    Acknowledged acknowledged;
    std::vector<Hash128> notes;
    std::vector<Hash128> lacking;
    std::optional<size_t> open_offers;
  };

  void Run();
  absl::Status RunOnce(bool& gave);
  // Why there is no use in going on.
  [[nodiscard]] absl::Status End();
  void Tell(const absl::Status& status);
  void TakeHeard() LOCKSTEP_EXCLUDES(mutex_);
  void TakeStored(const Heard& heard, bool is_now);
  absl::Status Collect(bool thoroughly);
  absl::StatusOr<bool> GiveNotes();
  absl::StatusOr<bool> GiveSource(const Hash128& source_id);
  absl::StatusOr<bool> Announce(const Hash128& source_id);
  absl::StatusOr<bool> GiveBatch(const Hash128& source_id, int64_t sequence);
  void Park(const Hash128& source_id, const absl::Status& why) LOCKSTEP_EXCLUDES(mutex_);
  void ResumeWhatIsDue() LOCKSTEP_EXCLUDES(mutex_);
  void LetGo(const Hash128& id);
  void HaveChecked() LOCKSTEP_EXCLUDES(mutex_);
  bool OfferWhatWasGiven();
  void GiveAgain(const std::vector<Hash128>& lacking);
  void BeginAgain(const Hash128& source_id, int64_t wanted, std::string_view why);
  void CondenseAgain(const Hash128& id, std::string_view why);
  [[nodiscard]] bool stopping() const { return stop_.stop_requested(); }

  Spool& spool_;
  Ledger& ledger_;
  const SpoolCodec& codec_;
  const Redo redo_;
  UplinkClient* uplink_ = nullptr;
  std::stop_source stop_;

  // Of the thread alone.
  std::set<Hash128> announced_;
  std::set<Hash128> notes_given_;  // not known to be stored
  uint64_t last_note_ = 0;         // given, by its order in the spool
  std::deque<Hash128> settled_;    // let go, and still known
  Outage trouble_;                 // with the disk
  std::map<Hash128, int64_t> parked_until_ns_;
  Outage limited_;  // by the aggregator

  mutable Mutex mutex_;
  std::vector<Heard> heard_ LOCKSTEP_GUARDED_BY(mutex_) = std::vector<Heard>(1);  // a store each
  uint64_t store_start_ LOCKSTEP_GUARDED_BY(mutex_) = 0;                          // of the last welcome
  bool checked_ LOCKSTEP_GUARDED_BY(mutex_) = false;  // that store was asked for what it should have
  bool ended_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  int64_t refused_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ LOCKSTEP_GUARDED_BY(mutex_);
  absl::Status put_off_ LOCKSTEP_GUARDED_BY(mutex_);  // the last reason; OK = nothing is parked
  std::thread thread_;
};

}  // namespace lockstep
