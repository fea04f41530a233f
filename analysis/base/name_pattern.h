// A regular expression that people give to choose names: ECMAScript syntax without back references. It is matched in
// polynomial time and without a recursion for each character, whatever the pattern; of long names only the beginning
// is looked at. Immutable; thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <regex>
#include <string>
#include <string_view>

namespace lockstep {

class NamePattern {
 public:
  // `origin` names the pattern in errors: the option, or the line of a file. kInvalidArgument: the pattern is no
  // regular expression, or longer than kMaxPatternLength.
  static constexpr size_t kMaxPatternLength = 1'000;
  static absl::StatusOr<NamePattern> Make(std::string_view pattern, std::string_view origin);

  // Whether the pattern is found anywhere in the name. kInvalidArgument: the pattern is too complex for the name.
  [[nodiscard]] absl::StatusOr<bool> IsIn(std::string_view name) const;

 private:
  NamePattern(std::regex pattern, std::string_view origin) : pattern_(std::move(pattern)), origin_(origin) {}

  std::regex pattern_;
  std::string origin_;
};

}  // namespace lockstep
