// Kernels that the user knows to be the same: lines "old name = new name" or "/regular expression/ = new name".
//
// Empty lines and lines that begin with # are skipped. The separator is " = ", with a space on both sides, the only one
// of its line; a name that contains one is put in double quotes. A name is a whole name as the trace has it, or a
// base name without template list and arguments. A regular expression (ECMAScript without back references) is searched
// for in the old name. Several lines may name the same new kernel. Pure; a map is immutable and thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/name_pattern.h"

namespace lockstep::compare {

struct KernelMapLine {
  size_t line = 0;                     // in the text, from 1
  std::string before;                  // "" = by pattern
  std::optional<NamePattern> pattern;  // of old names
  std::string after;
};

class KernelMap {
 public:
  KernelMap() = default;

  // `origin` names the text in errors. kInvalidArgument with the number of the line: no separator or several, an empty
  // name, a pattern that is none or too long, an old name that two lines give different new names, too many lines.
  static absl::StatusOr<KernelMap> Parse(std::string_view text, std::string_view origin);

  [[nodiscard]] const std::vector<KernelMapLine>& lines() const { return lines_; }

 private:
  std::vector<KernelMapLine> lines_;
};

// Whether the line speaks of this old kernel. kInvalidArgument: its pattern is too complex for the name.
[[nodiscard]] absl::StatusOr<bool> SpeaksOfOld(const KernelMapLine& line, std::string_view name);
[[nodiscard]] bool SpeaksOfNew(const KernelMapLine& line, std::string_view name);

}  // namespace lockstep::compare
