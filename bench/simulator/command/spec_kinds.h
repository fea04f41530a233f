// What --cause, --defect, --clock and --noise take, with the text that --help shows of each.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep {

struct SpecKind {
  std::string_view kind;
  std::string_view keys;  // separated by blanks
  std::string_view what;  // it does; defaults in parentheses
};
[[nodiscard]] std::span<const SpecKind> CauseKinds();
[[nodiscard]] std::span<const SpecKind> DefectKinds();

// Lists of all kinds and keys, for the footer of --help.
[[nodiscard]] std::string HelpOfSpecs(int width);

}  // namespace lockstep
