// The lockstep-agent program behind its main: flags, one pass over files or a watch, exit codes.
#pragma once

namespace lockstep {

// 0 done, 1 wrong usage, 2 nothing usable or the aggregator cannot be used, 128 + signal when interrupted.
int RunAgentCommand(int argc, const char* const* argv);

}  // namespace lockstep
