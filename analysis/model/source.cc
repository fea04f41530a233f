#include "analysis/model/source.h"

#include <array>

namespace lockstep {

std::string_view Name(RankSource source) {
  static constexpr std::array kNames = std::to_array<std::string_view>(
      {"rank_map", "metadata", "mpi", "nccl_init", "environment", "file_name", "assumed"});
  const auto index = static_cast<size_t>(source);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

std::string_view Name(HostSource source) {
  static constexpr std::array kNames =
      std::to_array<std::string_view>({"rank_map", "trace", "file_name", "option", "assumed", "unknown"});
  const auto index = static_cast<size_t>(source);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

std::string_view Name(StepSource source) {
  static constexpr std::array kNames =
      std::to_array<std::string_view>({"", "profiler_step", "range", "detected", "engine"});
  const auto index = static_cast<size_t>(source);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

}  // namespace lockstep
