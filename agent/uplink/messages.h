// What an agent and an aggregator say to each other, without protobuf: the values behind lockstep.v1 Ingest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/run_data.h"
#include "analysis/model/source.h"
#include "analysis/model/source_extent.h"

namespace lockstep {

inline constexpr uint32_t kUplinkProtocolVersion = 1;

struct UplinkHello {
  std::string run;
  std::string agent;  // host name, for logs
  std::string agent_version;
  int32_t expected_ranks = -1;  // -1 = not said
  bool replace = false;
};

// A serialised batch with its identity.
struct OutgoingBatch {
  Hash128 source_id;
  int64_t sequence = 0;
  Hash128 content_hash;  // of the body
  std::string body;
};

// What was given before, on any stream: is it still there?
struct UplinkOffer {
  std::vector<SourceExtent> extents;
};

struct FinishRun {};
struct DrainRequest {};

// Shared: the window keeps a batch until it is acknowledged while the stream writes it.
using OutgoingBatchPtr = std::shared_ptr<const OutgoingBatch>;
using UplinkMessage =
    std::variant<UplinkHello, SourceContext, OutgoingBatchPtr, FileNote, UplinkOffer, FinishRun, DrainRequest>;

struct WelcomeEvent {
  uint32_t protocol_version = 0;
  int64_t max_message_bytes = 0;
  int64_t window_batches = 0;
  uint64_t store_start = 0;  // another one when the store was opened anew; 0 = offers are not understood
};
// Batches up to last_sequence are durable; -1 = none.
struct SourceWelcomeEvent {
  Hash128 source_id;
  int64_t last_sequence = -1;
  bool complete = false;
};
struct AckEvent {
  Hash128 source_id;
  int64_t sequence = -1;
  bool complete = false;
};
// So many of the notes said on this stream are durable.
struct FilesStoredEvent {
  int64_t count = 0;
  int64_t retry_after_ms = 0;  // > 0: the oldest one that is not answered is not stored, because of a limit
  std::string detail{};
};
// What of the oldest offer that is not answered is not there any more.
struct LackingEvent {
  std::vector<Hash128> ids;
};
struct DrainedEvent {};
struct RefusalEvent {
  Hash128 source_id;
  int64_t sequence = -1;
  std::string reason;
  std::string detail;
  int64_t retry_after_ms = 0;  // > 0: not now, because of a limit; 0: never
};
using UplinkEvent = std::variant<WelcomeEvent, SourceWelcomeEvent, AckEvent, FilesStoredEvent, LackingEvent,
                                 DrainedEvent, RefusalEvent>;

}  // namespace lockstep
