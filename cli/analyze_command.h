// `lockstep analyze`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddAnalyzeCommand(CLI::App& verb);

}  // namespace lockstep
