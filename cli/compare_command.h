// `lockstep compare`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddCompareCommand(CLI::App& verb);

}  // namespace lockstep
