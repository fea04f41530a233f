// A verb of `lockstep`: one file each, listed in command_table.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace lockstep {

// What scripts rely on (interface: exit codes).
enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 1,
  kExitNoInput = 2,     // no usable input, or a service that cannot be reached
  kExitGate = 3,        // --strict and a quality gate failed
  kExitRegression = 4,  // a --gate of a comparison failed
};

// Adds its flags to `verb` and returns what to run once they are parsed. The flags live in the returned function.
using AddCommand = std::function<int()> (*)(CLI::App& verb);

struct Command {
  const char* name;
  const char* summary;
  AddCommand add;
};

}  // namespace lockstep
