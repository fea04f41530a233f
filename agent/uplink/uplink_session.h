// What an agent owes its aggregator and what to say next: a state machine without threads, sockets or time.
//
// The state outlives streams. After a lost stream everything not acknowledged is said again on the next one; the
// aggregator ignores what it has. Thread rule: one thread at a time (UplinkClient holds a mutex).
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/uplink/ack_window.h"
#include "agent/uplink/messages.h"

namespace lockstep {

// Learns what is durable, as it becomes known. Called inside OnEvent: must be quick and must not call back.
class UplinkObserver {
 public:
  virtual ~UplinkObserver() = default;
  // Everything of the source up to `sequence` (-1: nothing), and with `complete` all there ever is.
  virtual void OnAcknowledged(const Hash128& source_id, int64_t sequence, bool complete) = 0;
  // The note with this id (FileNoteId).
  virtual void OnNoteStored(const Hash128& id) = 0;
  virtual void OnRefused(const Hash128& source_id) = 0;
  // On each stream. Another number than before (0: offers are not understood): the store was opened anew, perhaps from
  // an older copy; what is offered after a welcome is asked of that store.
  virtual void OnWelcome(uint64_t /*store_start*/) {}
  // These of what was offered are not there. `open`: offers that are not answered yet.
  virtual void OnLacking(const std::vector<Hash128>& /*ids*/, size_t /*open*/) {}
};

struct UplinkSessionOptions {
  UplinkHello hello;
  size_t window_batches = 16;  // the aggregator may ask for less
  int64_t window_bytes = int64_t{8} << 20;
  // The giver can give a source again from any batch on: an aggregator that has less than it acknowledged is given the
  // rest again, instead of failing.
  bool can_begin_anew = false;
  UplinkObserver* observer = nullptr;  // outlives the session; may be null
};

// A source that the aggregator will not take, or not now; the other sources go on.
struct RefusedUplinkSource {
  Hash128 source_id;
  std::string path;
  std::string reason;
  std::string detail;
};

class UplinkSession {
 public:
  explicit UplinkSession(UplinkSessionOptions options);

  // --- what the agent gives ---
  // Announces a source; again for a known one only if another file gives it that tells its rank better.
  void AddSource(const SourceContext& context);
  // True once the aggregator has said where to go on with this source (or refused it, or put it off).
  [[nodiscard]] bool SourceReady(const Hash128& source_id) const;
  // kResourceExhausted with a retry hint while a source is put off because of a limit: what was given of it and not
  // acknowledged is forgotten. Announcing it again tries again.
  [[nodiscard]] absl::Status PutOff(const Hash128& source_id) const;
  // Whether this batch is still to be given: it is the next one, and the source is not refused or put off. A batch that
  // the aggregator already has, or that was already given, is not wanted.
  [[nodiscard]] bool Wants(const Hash128& source_id, int64_t sequence) const;
  // The batch that Wants wants; null when none is (any more), or nothing is known of the source yet.
  [[nodiscard]] std::optional<int64_t> NextWanted(const Hash128& source_id) const;
  // Nothing will be given of this source any more: a complete or refused one leaves little behind.
  void Forget(const Hash128& source_id);
  // As Forget, and it leaves nothing behind: the source may be announced again.
  void Settle(const Hash128& source_id);
  [[nodiscard]] bool HasRoom() const { return window_.HasRoom(); }
  // Takes a wanted batch. kInvalidArgument when it is larger than what the aggregator takes.
  absl::Status AddBatch(OutgoingBatchPtr batch);
  void AddNote(FileNote note);
  void AddOffer(UplinkOffer offer) { offers_.push_back(std::move(offer)); }
  // Nothing more will be given: say so, after everything else.
  void RequestDrain(bool finish_run);
  [[nodiscard]] bool drained() const { return drained_; }
  [[nodiscard]] const std::vector<RefusedUplinkSource>& refused() const { return refused_; }
  // Sources that are put off now.
  [[nodiscard]] std::vector<RefusedUplinkSource> put_off() const;
  // Notes that are: said again on the next stream.
  [[nodiscard]] size_t notes_put_off() const { return notes_put_off_.size(); }
  [[nodiscard]] int64_t acknowledged_batches() const { return acknowledged_batches_; }

  // --- the stream ---
  void OnConnected();
  // What to write now; null = wait for an event or for the agent. Each message is given once a stream.
  [[nodiscard]] std::optional<UplinkMessage> NextMessage();
  // An error means that this aggregator cannot be worked with (also after a reconnect).
  absl::Status OnEvent(const UplinkEvent& event);
  void OnDisconnected();

 private:
  struct Source {
    SourceContext context;
    int64_t acknowledged = -1;
    int64_t given = -1;  // highest sequence taken from the agent (or known to the aggregator)
    bool known = false;  // the aggregator answered at least once
    bool complete = false;
    bool refused = false;
    bool announced = false;  // on this stream
    bool welcomed = false;   // on this stream
    std::optional<RefusalEvent> put_off;
  };

  absl::Status On(const WelcomeEvent& event);
  absl::Status On(const SourceWelcomeEvent& event);
  absl::Status On(const AckEvent& event);
  absl::Status On(const FilesStoredEvent& event);
  absl::Status On(const LackingEvent& event);
  absl::Status On(const DrainedEvent& event);
  absl::Status On(const RefusalEvent& event);
  absl::StatusOr<Source*> Find(const Hash128& source_id, const char* what);
  void Acknowledge(Source& source, int64_t sequence, bool complete);
  void PutOff(Source& source, const RefusalEvent& event);
  std::optional<UplinkMessage> NextSource();
  std::optional<UplinkMessage> NextBatch();
  std::optional<UplinkMessage> NextEnding();

  UplinkSessionOptions options_;
  AckWindow window_;
  std::map<Hash128, Source> sources_;
  std::vector<Hash128> to_announce_;  // on this stream
  std::deque<FileNote> notes_;        // not known to be stored
  std::deque<FileNote> notes_put_off_;
  std::deque<UplinkOffer> offers_;  // not answered
  std::vector<RefusedUplinkSource> refused_;
  int64_t max_message_bytes_ = 0;
  int64_t acknowledged_batches_ = 0;
  bool drain_requested_ = false;
  bool finish_requested_ = false;
  bool drained_ = false;
  bool ever_welcomed_ = false;
  // Of the present stream.
  bool hello_sent_ = false;
  bool welcomed_ = false;
  size_t notes_sent_ = 0;     // of notes_
  int64_t notes_stored_ = 0;  // on this stream
  size_t offers_sent_ = 0;    // of offers_
  bool finish_sent_ = false;
  bool drain_sent_ = false;
};

}  // namespace lockstep
