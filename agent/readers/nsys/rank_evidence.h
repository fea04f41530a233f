// Which rank the processes of a file are, from what the file itself says: MPI_RANKS, NCCL's init payloads, and the
// environment (only in a file that traced one process).
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <vector>

#include "agent/readers/nsys/nccl_payload.h"
#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

// Communicators as the processes made them.
class CommunicatorLog {
 public:
  // A payload that names a communicator's size and the caller's rank in it; others are ignored. `is_init`: the call
  // makes the communicator (old payloads carry no id, so each such call counts as one of its own).
  void Add(uint32_t process, const NcclFields& fields, bool is_init);
  // Puts the communicators into the processes' groups and, where one is larger than all others, a rank claim.
  void Publish(ReadSession& session) const;

 private:
  struct Communicator {
    uint64_t hash = 0;
    int32_t size = -1;
    int32_t rank = -1;  // -1: several ranks of it live in this process
  };
  std::map<uint32_t, std::vector<Communicator>> by_process_;
};

// Adds the claims of MPI_RANKS and of the environment. Call once all tables with processes have been read.
absl::Status ReadRankClaims(ReadSession& session, const CommunicatorLog& communicators);

}  // namespace lockstep::nsys
