// `lockstep serve`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddServeCommand(CLI::App& verb);

}  // namespace lockstep
