// The verbs of `lockstep`, and the program behind its main.
#pragma once

#include <span>

#include "cli/command.h"

namespace lockstep {

[[nodiscard]] std::span<const Command> Commands();

int RunLockstep(int argc, const char* const* argv);

}  // namespace lockstep
