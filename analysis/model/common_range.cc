#include "analysis/model/common_range.h"

#include "analysis/base/ascii.h"

namespace lockstep {

std::string WithoutNumbers(std::string_view range) {
  std::string out;
  for (const char c : range.substr(0, kMostReadOfRange)) {
    if (!IsAsciiDigit(c)) out += c;
    if (IsAsciiDigit(c) && !out.ends_with('#')) out += '#';
  }
  return out;
}

uint32_t CommonRange::Get() const {
  for (const Count& count : counts_) {
    if (count.launches > 0 && static_cast<double>(count.launches) >= kShare * static_cast<double>(launches_)) {
      return count.range;
    }
  }
  return kNoId;
}

}  // namespace lockstep
