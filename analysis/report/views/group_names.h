// What people call a process group.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/metrics/match/match.h"
#include "analysis/report/views/values.h"

namespace lockstep {

// Its description, else its name; nothing where the traces have neither.
[[nodiscard]] inline std::optional<std::string> NameOfGroup(const Communicator& communicator) {
  return TextIfAny(communicator.desc.empty() ? communicator.name : communicator.desc);
}

// Of the communicator with this id; nothing where the run has none.
[[nodiscard]] inline std::optional<std::string> NameOfGroup(const RunMatch& match, std::string_view id) {
  for (const Communicator& communicator : match.communicators) {
    if (communicator.id == id) return NameOfGroup(communicator);
  }
  return std::nullopt;
}

// Its name, else its id.
[[nodiscard]] inline std::string NameOrId(const Communicator& communicator) {
  return NameOfGroup(communicator).value_or(communicator.id);
}

}  // namespace lockstep
