// lockstep baseline: names for runs that later ones are compared with.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddBaselineCommand(CLI::App& verb);

}  // namespace lockstep
