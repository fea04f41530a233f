// The few environment variables of the traced program that lockstep needs: which rank it was, and whether device
// ordinals are the machine's. Everything else in an environment may be a secret and is not looked at.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

inline constexpr std::string_view kVisibleDevices = "CUDA_VISIBLE_DEVICES";

// KEY=value or KEY="value"; other keys than the needed ones are ignored.
void NoteEnvironmentEntry(std::string_view entry, ReadFacts& facts);
// A whole environment, entries separated by semicolons: for files without single rows.
void NoteEnvironmentList(std::string_view list, ReadFacts& facts);

struct EnvironmentRank {
  int32_t rank = -1;
  std::optional<int32_t> world_size;
};
// Nothing when no key says so or two processes' environments contradict each other.
[[nodiscard]] std::optional<EnvironmentRank> RankFromEnvironment(const ReadFacts& facts);

// CUDA's ordinals count the machine's GPUs from 0: the variable is unset or lists them so.
[[nodiscard]] bool HasNaturalDeviceOrder(const ReadFacts& facts);

}  // namespace lockstep::nsys
