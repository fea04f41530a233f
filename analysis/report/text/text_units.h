// Numbers for people. A column of a table shares one unit, chosen by its values; a figure in a sentence has its own.
// Nothing is "-". Pure and thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/text/cell.h"

namespace lockstep {

enum class CellKind : uint8_t {
  kText,      // strings, scalars, lists of scalars joined by commas; shortened in the middle when there is no room
  kKernel,    // names of kernels: shortened so that the function's name stays
  kName,      // names of ranges and API calls
  kPath,      // files: shortened so that the file's name stays
  kNumber,    // ranks, steps, indices: as they are
  kCount,     // with thousands separators
  kTime,      // ns in the document; ns, us, ms or s in the column
  kInstant,   // ns since the run's start; ms with all digits down to the microsecond
  kPercent,   // ratios
  kBytes,     // B, kB, MB, GB (decimal)
  kBandwidth  // GB/s
};

struct FormattedColumn {
  std::string unit;  // "" = none
  std::vector<std::string> cells;
};

// Values of another type than the kind's are "-".
[[nodiscard]] FormattedColumn FormatColumn(CellKind kind, const std::vector<Cell>& values);

// "7.62 ms", three digits; "-" for what is no number.
[[nodiscard]] std::string FormatTime(const Cell& ns);
// "7.62 ms after the run's start", "899 us before the run's start", "the run's start"; "-" for what is no number.
[[nodiscard]] std::string FormatSinceStart(const Cell& ns);
// "12.3 %".
[[nodiscard]] std::string FormatPercent(const Cell& ratio);
// "4.19 MB".
[[nodiscard]] std::string FormatBytes(const Cell& bytes);
// "1,219".
[[nodiscard]] std::string FormatCount(const Cell& count);

// "steps", or where blocks of time stand for them, their length: "blocks of 1.19 ms".
[[nodiscard]] std::string StepsWord(const Cell& block_ns);

// "2022-10-05 12:00:00.123456 UTC"; "" for years no trace has.
[[nodiscard]] std::string FormatUtc(int64_t unix_ns);
// The same from a document's string of digits; "" for no such string.
[[nodiscard]] std::string FormatUtc(const Json& unix_ns);

}  // namespace lockstep
