// The lockstep-aggregator program behind its main: flags, a store, a server, until SIGTERM or SIGINT.
#pragma once

namespace lockstep {

// 0 ended as asked, 1 wrong usage, 2 the store or the address cannot be used.
int RunAggregatorCommand(int argc, const char* const* argv);

}  // namespace lockstep
