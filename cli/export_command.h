// `lockstep export`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddExportCommand(CLI::App& verb);

}  // namespace lockstep
