// The least that any reader of a Chrome trace must do: every window inflated, every event walked with simdjson, name,
// category and times read, all arguments read. What lockstep's own reader is measured against.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

namespace lockstep {

struct JsonWalk {
  int64_t bytes = 0;  // of JSON, after inflating
  int64_t events = 0;
  int64_t kernels = 0;    // of category "kernel"
  uint64_t checksum = 0;  // of what was read, so that nothing is optimised away
};

// Windows of 1 MiB cut between events, as a bounded reader must. Only for whole files whose events begin with "ph".
absl::StatusOr<JsonWalk> WalkJson(const std::string& path);

}  // namespace lockstep
