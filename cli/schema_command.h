// `lockstep schema`.
#pragma once

#include <functional>

#include "cli/command.h"

namespace lockstep {

std::function<int()> AddSchemaCommand(CLI::App& verb);

}  // namespace lockstep
