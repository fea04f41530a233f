// One agent's stream as the aggregator understands it: checks the order of messages, the hashes and the sequences,
// writes through a JobStore, and says what to answer. No socket, no thread, no protobuf.
//
// Each message gets at most one reply. What concerns one source is a refusal and the stream goes on: for good, or until
// later if a limit of the run is reached. An error ends the stream: kInvalidArgument (the agent breaks the protocol),
// kResourceExhausted (a limit: the agent waits and tries again), or what the store said (disk full, ...).
// Thread rule: a session belongs to one thread at a time; many sessions share one store and one RunOpener.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "aggregator/ingest/admission.h"
#include "aggregator/ingest/ingest_limits.h"
#include "aggregator/ingest/ingest_metrics.h"
#include "aggregator/ingest/messages.h"
#include "aggregator/ingest/run_opener.h"
#include "aggregator/store/job_store.h"

namespace lockstep {

struct IngestEnvironment {
  JobStore& store;
  RunOpener& opener;
  IngestLimits limits;
  // What all streams share; null: nobody else is there. Outlives the sessions.
  Admission* admission = nullptr;
  // Counts; may be null. Outlives the sessions.
  IngestMetrics* metrics = nullptr;
  // Decodes the body of a batch (a stranger's bytes).
  std::function<absl::StatusOr<ReceivedBatch>(std::string_view)> decode;
  // Called with the run when a stream has drained; may be empty. Its failure does not concern the agent.
  std::function<void(const std::string&)> on_drained;
  // Another number each time the store is opened, so that agents ask then whether what they gave is still there: the
  // file may be an older copy. 0 = they need not.
  uint64_t store_start = 0;
};

class IngestSession {
 public:
  // The environment must outlive the session.
  explicit IngestSession(const IngestEnvironment& environment) : environment_(environment) {}
  ~IngestSession();
  IngestSession(const IngestSession&) = delete;
  IngestSession& operator=(const IngestSession&) = delete;

  absl::StatusOr<IngestReply> On(const IngestMessage& message);
  [[nodiscard]] const std::string& run() const { return run_; }
  [[nodiscard]] const std::string& agent() const { return agent_; }

 private:
  struct Source {
    int64_t seen = -1;  // latest batch; tells repetitions apart for the figures, proves nothing
    bool refused = false;
    bool parked = false;  // until it is announced again
  };

  absl::StatusOr<IngestReply> Handle(const IngestHello& hello);
  absl::StatusOr<IngestReply> Handle(const SourceContext& context);
  absl::StatusOr<IngestReply> Handle(const IngestBatch& batch);
  absl::StatusOr<IngestReply> Handle(const FileNote& note);
  absl::StatusOr<IngestReply> Handle(const IngestOffer& offer);
  absl::StatusOr<IngestReply> Handle(const IngestFinish& finish);
  absl::StatusOr<IngestReply> Handle(const IngestDrain& drain);
  absl::StatusOr<IngestReply> Take(const IngestBatch& envelope, Source& source);
  absl::StatusOr<IngestReply> Store(const IngestBatch& envelope, const ReceivedBatch& received, Source& source);
  IngestReply Refuse(const IngestBatch& envelope, Source& source, std::string_view reason, std::string detail);
  // A limit that concerns one source or note only, told to an agent that keeps it and tries again.
  [[nodiscard]] bool MayPark(const absl::Status& status) const;
  IngestReply Park(const Hash128& source_id, int64_t sequence, const absl::Status& limit);

  const IngestEnvironment& environment_;
  std::string run_;
  std::string agent_;
  bool welcomed_ = false;
  bool replaces_ = false;
  bool parks_ = false;
  int64_t files_stored_ = 0;
  std::map<Hash128, Source> sources_;
};

}  // namespace lockstep
