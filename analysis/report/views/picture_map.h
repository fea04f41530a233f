// The map rank × column of the view pictures: what each rank caused and how late it came, as tiles of codes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/skew/lateness_map.h"
#include "analysis/report/rows/pictures.h"

namespace lockstep {

struct MapInput {
  CausedWaitGrid& caused;  // brought to columns of the same width as those of lateness, and the other way round
  LatenessMap& lateness;
  const std::vector<size_t>& rows;     // index of the rank in the maps, by row
  const std::vector<int32_t>& ranks;   // its number
  const std::vector<int64_t>& blame;   // by row: decides which rows are also shown in full detail
  bool only_lateness_columns = false;  // the part of the run that was asked for has no others
  int64_t run_start_ns = 0;            // aligned
};

struct PictureMap {
  report::PictureColumns columns;
  std::vector<report::PictureLayer> layers;  // empty without columns
};

[[nodiscard]] PictureMap MapOf(const MapInput& input);

// One character a code: its code point is 32 more, or 288 more where that would be a quote, a backslash, or no
// printable ASCII character. UTF-8.
[[nodiscard]] std::string TextOfCodes(const std::vector<uint8_t>& codes);

}  // namespace lockstep
