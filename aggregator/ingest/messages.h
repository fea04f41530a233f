// What arrives at and leaves an ingest session, without protobuf: the values behind lockstep.v1 Ingest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/run_data.h"
#include "analysis/model/source.h"
#include "analysis/model/source_extent.h"

namespace lockstep {

inline constexpr uint32_t kIngestProtocolVersion = 1;

struct IngestHello {
  uint32_t protocol_version = 0;
  std::string run;
  std::string agent;
  std::string agent_version;
  int32_t expected_ranks = -1;  // -1 = not said
  bool replace = false;
  bool parks = false;  // it understands that one source has to wait
};

// Views: valid during the call.
struct IngestBatch {
  Hash128 source_id;
  int64_t sequence = 0;
  Hash128 content_hash;
  std::string_view body;
};

// What the agent has given before.
struct IngestOffer {
  std::vector<SourceExtent> extents;
};

struct IngestFinish {};
struct IngestDrain {};
using IngestMessage =
    std::variant<IngestHello, SourceContext, IngestBatch, FileNote, IngestOffer, IngestFinish, IngestDrain>;

struct IngestWelcome {
  uint32_t protocol_version = kIngestProtocolVersion;
  uint32_t max_message_bytes = 0;
  uint32_t window_batches = 0;
  uint64_t store_start = 0;
};
struct IngestSourceWelcome {
  Hash128 source_id;
  int64_t last_sequence = -1;
  bool complete = false;
};
struct IngestAck {
  Hash128 source_id;
  int64_t sequence = -1;
  bool complete = false;
};
// File notes of this stream that are durable.
struct IngestFilesStored {
  int64_t count = 0;
  int64_t retry_after_ms = 0;  // > 0: this one is not, because of a limit
  std::string detail{};
};
// What of an offer is not there (any more).
struct IngestLacking {
  std::vector<Hash128> ids;
};
struct IngestDrained {};
struct IngestRefusal {
  Hash128 source_id;
  int64_t sequence = -1;
  std::string reason;
  std::string detail;
  int64_t retry_after_ms = 0;  // > 0: not now, because of a limit; 0: never
};
// monostate: nothing to answer.
using IngestReply = std::variant<std::monostate, IngestWelcome, IngestSourceWelcome, IngestAck, IngestFilesStored,
                                 IngestLacking, IngestDrained, IngestRefusal>;

}  // namespace lockstep
