// Which rank of the new side is compared with which of the base side, and which became worse. Ranks are paired by GPU
// where at least 90 % of the GPUs are the same (compare.md A4.5), else by host and place on it, else by rank number. Of
// different numbers of ranks nothing is paired; how well the job scales is reported instead. Pure, thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/compare/sides.h"

namespace lockstep::compare {

enum class PairBy : uint8_t { kAuto, kHost, kRank, kNone };

[[nodiscard]] report::RankPairing PairRanks(const Sides& sides, PairBy by);

}  // namespace lockstep::compare
