// What a trace file is condensed to, counted.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>

namespace lockstep {

struct Condensed {
  int64_t kernels = 0;
  int64_t drops = 0;
  int64_t batches = 0;
  int64_t wire_bytes = 0;                         // if asked for
  std::map<std::string, int64_t> bytes_by_table;  // each encoded alone: together more or less what wire_bytes are
};

// Reads and condenses the file; `encodes`: also as it goes over the wire. Errors: the file is not used whole, or `tmp`
// has no room to sort.
[[nodiscard]] absl::StatusOr<Condensed> Condense(const std::string& path, const std::string& tmp, bool encodes = false);

}  // namespace lockstep
