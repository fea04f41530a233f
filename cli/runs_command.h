// `lockstep runs`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddRunsCommand(CLI::App& verb);

}  // namespace lockstep
