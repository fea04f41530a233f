// One stream of a client that repeats, reverses and skips, as an agent with a bad memory would; and what the contract
// of the wire says the aggregator must answer.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "agent/uplink/transport.h"
#include "tests/faults/replay/recorded_files.h"

namespace lockstep {

struct ReplayCounts {
  int64_t streams = 0;
  int64_t repeated = 0;  // batches sent that were stored before
  int64_t new_batches = 0;
  int64_t holes = 0;      // batches sent that do not follow on what is stored
  int64_t abandoned = 0;  // streams cancelled while answers were on their way
};

class ReplaySession {
 public:
  // With `stored_only` nothing is sent that an agent still owes: only what is stored, and what is far ahead of it.
  ReplaySession(const RecordedFiles& files, std::string run, bool stored_only, std::mt19937_64& random,
                ReplayCounts& counts)
      : files_(files), run_(std::move(run)), stored_only_(stored_only), random_(random), counts_(counts) {}

  // kDataLoss: the aggregator answered against the contract. Everything else is how the stream ended.
  absl::Status Run(UplinkTransport& transport);
  // Everything of all sources was told to be stored, on this stream.
  [[nodiscard]] bool all_complete() const;

 private:
  struct Known {
    int64_t stored = -1;
    bool complete = false;
  };

  absl::Status Open();
  absl::Status Announce(const RecordedSource& source);
  absl::Status SendSome(const RecordedSource& source);
  absl::Status Repeat(const RecordedSource& source, int64_t sequence);
  absl::Status GoOn(const RecordedSource& source);
  absl::Status LeaveHole(const RecordedSource& source);
  absl::Status SendNotes();
  // Sends the batch and reads its acknowledgement.
  absl::Status Exchange(const RecordedSource& source, int64_t sequence);
  template <typename Event>
  absl::StatusOr<Event> Expect(const char* what);
  int64_t Draw(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random_); }

  const RecordedFiles& files_;
  const std::string run_;
  const bool stored_only_;
  std::mt19937_64& random_;
  ReplayCounts& counts_;
  std::unique_ptr<UplinkStream> stream_;
  std::map<Hash128, Known> known_;
  bool drained_ = false;
};

}  // namespace lockstep
