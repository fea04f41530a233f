// The flags of lockstep-agent, parsed and checked.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "agent/connection_flags.h"

namespace lockstep {

struct AgentFlags {
  std::string aggregator;  // HOST:PORT
  std::string run;
  std::vector<std::string> paths;
  std::vector<std::string> watch;  // empty = no
  std::string pattern;
  std::string spool;  // "" = none
  std::string host = "auto";
  std::string rank_map;
  std::string step_range;
  std::vector<std::string> context;  // KEY=VALUE
  std::string tmp;
  std::string redact_key;  // file; "" = names leave as they are
  bool redact = false;
  std::string metrics;  // HOST:PORT; "" = none
  std::string log_level = "info";
  std::string log_format = "text";
  int32_t expect_ranks = -1;
  int64_t jobs = 0;
  int64_t connect_timeout_s = 60;
  int64_t drain_timeout_s = 30;
  uint64_t spool_bytes = uint64_t{4} << 30;
  uint64_t memory_bytes = uint64_t{24} << 20;
  int32_t nice = 0;
  bool finish = false;
  bool replace = false;
  ConnectionFlags connection;
};

// The flags, or the exit code when the program is already done (help, version, wrong usage; the message has been
// printed).
[[nodiscard]] std::variant<AgentFlags, int> ParseAgentFlags(int argc, const char* const* argv);

}  // namespace lockstep
