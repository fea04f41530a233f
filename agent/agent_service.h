// The agent that takes files one by one as they come: from watched folders or the command line, through a spool (or,
// without one, through memory) to the aggregator. See agent/spool/README.md for what survives what.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/condense_and_send.h"
#include "agent/spool/spool_depth.h"
#include "agent/uplink/uplink_client.h"

namespace lockstep {

struct AgentServiceOptions {
  std::vector<std::string> paths;  // files and folders to take once ...
  std::vector<std::string> watch;  // ... or folders to watch until the stop
  std::string pattern;             // names of the files to take from watched folders
  std::string spool;               // folder; "" = none
  int64_t spool_bytes = 0;
  int64_t drain_ns = 0;  // after a stop, for what was taken
  bool finish = false;
  SpoolDepth* depth = nullptr;  // is told the spool; may be null, outlives the service
  CondenseAndSendOptions send;
  UplinkClientOptions uplink;  // observer and can_begin_anew are set here
};

// Until everything is delivered, or the stop. After a stop what is in the spool may stay there: that is no error, and
// is logged. kNotFound when PATHs give nothing usable, kCancelled when stopped before all PATHs were read.
absl::Status RunAgentService(const AgentServiceOptions& options, std::unique_ptr<UplinkTransport> transport,
                             const std::stop_token& stop);

}  // namespace lockstep
