#include "analysis/model/run_data.h"

#include <array>

namespace lockstep {

std::string_view Name(RunState state) {
  static constexpr std::array kNames = std::to_array<std::string_view>({"open", "complete", "analysed"});
  const auto index = static_cast<size_t>(state);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

}  // namespace lockstep
