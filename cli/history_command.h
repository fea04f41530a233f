// `lockstep history`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddHistoryCommand(CLI::App& verb);

}  // namespace lockstep
