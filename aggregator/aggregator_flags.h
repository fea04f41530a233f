// The flags of lockstep-aggregator, parsed and checked.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "aggregator/grpc/server.h"
#include "aggregator/store/memory/store_limits.h"

namespace lockstep {

struct AggregatorFlags {
  std::string listen = "127.0.0.1:7700";
  std::string store;
  ServerTls tls;
  std::string tokens;   // "" = everybody may do everything
  std::string metrics;  // HOST:PORT; "" = none
  std::string web;      // HOST:PORT of the live pages; "" = none
  std::vector<std::string> web_names;
  std::string log_level = "info";
  std::string log_format = "text";
  int64_t drain_timeout_s = 10;
  IngestLimits limits;
  StoreLimits store_limits{.max_runs = 10'000, .max_sources = 65'536, .max_names = 1'000'000, .max_files = 1'000'000};
  bool insecure = false;
  bool on_demand = false;
  bool dump = false;
};

// The flags, or the exit code when the program is already done (help, version, wrong usage; the message has been
// printed).
[[nodiscard]] std::variant<AggregatorFlags, int> ParseAggregatorFlags(int argc, const char* const* argv);

}  // namespace lockstep
