// `lockstep show`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddShowCommand(CLI::App& verb);

}  // namespace lockstep
