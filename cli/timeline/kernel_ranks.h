// Of which ranks the kernels are worth showing, the most telling first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/timeline/run_events.h"
#include "cli/timeline/timeline_options.h"

namespace lockstep {

// Who is named, by rank, with what is said of it ("makes others wait: ..."); the first one is the worst.
struct NamedRanks {
  std::vector<int32_t> ranks;
  std::map<int32_t, std::string> labels;
};

// So many ranks are shown with all their kernels if nothing else is asked for; of more only the named ones and a few
// peers of each.
inline constexpr size_t kFewRanks = 16;
inline constexpr size_t kPeersOfNamed = 3;

// Places of exported ranks. Where nobody is named the first ranks stand for all.
[[nodiscard]] std::vector<uint32_t> KernelRanks(const RunEvents& events, const NamedRanks& named, KernelsWanted wanted);

// How many of them fit, each with so many events; at least one.
[[nodiscard]] size_t FittingRanks(const std::vector<uint32_t>& places, const std::vector<int64_t>& events_of_place,
                                  int64_t most_events);

}  // namespace lockstep
